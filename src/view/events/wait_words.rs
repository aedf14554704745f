//! Waits in words: who began to wait for whom, and how that ended. The event of the end names only the call.

use std::collections::BTreeMap;

use super::Topic;
use super::said::Said;
use super::speaker::Speaker;
use crate::bus::event::Event;
use crate::domain::ids::{CallId, MessageId, RequestId, SessionId};
use crate::domain::messaging::Audience;
use crate::domain::name::Name;
use crate::domain::text::visible_letters::quoted;
use crate::domain::time::Tick;
use crate::view::rows::commitments::SHORT_WORDS;
use crate::view::span;

/// A wait ends this much before its time if the clock of the call and that of the log differ.
const EARLY_MS: u64 = 1_000;

/// The waits that go on.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenWaits {
    calls: BTreeMap<(SessionId, CallId), OpenWait>,
}

/// A wait that goes on.
#[derive(Clone, Debug)]
struct OpenWait {
    /// The member that is named in it, or the one that was asked.
    from: Option<String>,
    request: Option<String>,
    /// The message whose answer it wants.
    reply_to: Option<String>,
    /// What it waits for.
    what: String,
    since: Tick,
    timeout_ms: u64,
}

impl OpenWaits {
    /// Returns what an event says about waits. The delivery of a message says so besides what it says of the message.
    pub(super) fn said(
        &mut self,
        event: &Event,
        now: Tick,
        speaker: &mut Speaker<'_>,
    ) -> Option<Said> {
        match event {
            Event::WaitStarted { session, call, from, request, reply_to, timeout_ms } => {
                let asked = speaker.state.only_source(from.as_ref(), reply_to.as_ref());
                let wait = OpenWait {
                    from: asked.map(ToString::to_string),
                    what: what(from.as_ref(), request.as_ref(), reply_to.as_ref(), speaker),
                    request: request.as_ref().map(ToString::to_string),
                    reply_to: reply_to.as_ref().map(ToString::to_string),
                    since: now,
                    timeout_ms: *timeout_ms,
                };
                let words = format!("{} waits for {}", speaker.named(*session), wait.what);
                let said = about(words, *session, &wait, speaker);
                self.calls.insert((*session, *call), wait);
                Some(said)
            }
            Event::MessageHanded { session, call, .. } => {
                self.end((*session, *call), now, "has it", speaker)
            }
            Event::WaitEnded { session, call } => {
                let wait = self.calls.get(&(*session, *call))?;
                let is_over = ms(wait.since, now).saturating_add(EARLY_MS) >= wait.timeout_ms;
                let how = if is_over { "timed out" } else { "gave up" };
                self.end((*session, *call), now, how, speaker)
            }
            Event::AgentCrashed { session, .. } | Event::MemberLeft { session, .. } => {
                self.calls.retain(|(of, _), _| of != session);
                None
            }
            _ => None,
        }
    }

    fn end(
        &mut self,
        call: (SessionId, CallId),
        now: Tick,
        how: &str,
        speaker: &Speaker<'_>,
    ) -> Option<Said> {
        let wait = self.calls.remove(&call)?;
        let time = span(i64::try_from(ms(wait.since, now)).unwrap_or(i64::MAX));
        let who = speaker.named(call.0);
        let words = format!("{who} waited {time} for {}: {how}", wait.what);
        Some(about(words, call.0, &wait, speaker))
    }
}

/// Says what a wait is for: a member, or the answer to a question, which is quoted as far as the state has it.
fn what(
    from: Option<&Name>,
    request: Option<&RequestId>,
    reply_to: Option<&MessageId>,
    speaker: &mut Speaker<'_>,
) -> String {
    let state = speaker.state;
    if let Some(from) = from {
        return from.to_string();
    }
    let mut quoted_text = |body| {
        let words = speaker.texts.first_words(body, SHORT_WORDS)?;
        Some(quoted(&words, SHORT_WORDS))
    };
    if let Some(id) = request {
        let words = state.request(id).and_then(|request| quoted_text(request.body));
        let words = words.map(|words| format!(" {words}")).unwrap_or_default();
        return format!("an answer to {id}{words}");
    }
    let Some(id) = reply_to else { return "a message".to_owned() };
    let question = state.message(id);
    let words = question.and_then(|question| quoted_text(question.body));
    let words = words.unwrap_or_else(|| id.to_string());
    match question.map(|question| &question.audience) {
        None => format!("an answer to {words}"),
        Some(Audience::One(name)) => format!("{name}'s answer to {words}"),
        Some(whom) => format!("an answer of {whom} to {words}"),
    }
}

fn about(words: String, session: SessionId, wait: &OpenWait, speaker: &Speaker<'_>) -> Said {
    let members = speaker.name(session).into_iter().chain(wait.from.clone());
    Said::new(Topic::Wait, words)
        .about(members)
        .with_ids(wait.request.clone().or_else(|| wait.reply_to.clone()))
}

/// Returns the milliseconds between two ticks; those of different boots cannot be compared.
fn ms(from: Tick, to: Tick) -> u64 {
    if from.boot == to.boot { to.ms.saturating_sub(from.ms) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::event::MessageSent;
    use crate::bus::state::{BodyRef, State};
    use crate::bus::storage::LogPosition;
    use crate::view::Texts;
    use crate::view::tests::{entry, joined};

    struct Question;

    impl Texts for Question {
        fn text(&mut self, _: BodyRef) -> Option<String> {
            Some("may I merge?".to_owned())
        }
    }

    #[test]
    fn a_wait_for_an_answer_names_who_was_asked_what() {
        let mut state = State::default();
        joined(&mut state, 1, "ann");
        joined(&mut state, 2, "ben");
        let name = |text: &str| Name::parse(text).unwrap();
        let id = MessageId::from_bits(1);
        let to_ben = Audience::One(name("ben"));
        let asked = Event::MessageSent(MessageSent {
            to: vec![name("ben")].into(),
            ..MessageSent::plain(id.clone(), name("ann"), to_ben, "may I merge?")
        });
        state.apply(&entry(3, asked), &[0], LogPosition::default());
        let begins = |reply_to: MessageId| Event::WaitStarted {
            session: SessionId(uuid::Uuid::from_u64_pair(0, 1)),
            call: CallId(uuid::Uuid::from_u64_pair(2, 1)),
            from: None,
            request: None,
            reply_to: Some(reply_to),
            timeout_ms: 120_000,
        };
        let said = |event: &Event| {
            let mut speaker = Speaker { state: &state, texts: &mut Question, is_lost: &|_| false };
            let said = OpenWaits::default().said(event, Tick { boot: 1, ms: 0 }, &mut speaker);
            let said = said.unwrap();
            (said.words, said.members.join(" "))
        };
        let (words, about) = said(&begins(id));
        assert_eq!(words, "ann waits for ben's answer to \"may I merge?\"");
        assert_eq!(about, "ann ben");
        let gone = MessageId::from_bits(9);
        assert_eq!(said(&begins(gone.clone())).0, format!("ann waits for an answer to {gone}"));
    }
}
