//! Answers that members owed and have not given: after the last reminder nobody waits for them any more.

use std::collections::BTreeMap;

use super::commitments::SHORT_WORDS;
use crate::bus::state::{Message, State};
use crate::domain::ids::MessageId;
use crate::domain::limits;
use crate::domain::messaging::{Audience, MessageKind};
use crate::domain::text::counted::counted;
use crate::domain::text::visible_letters::quoted;
use crate::domain::time::Now;
use crate::domain::wait_times;
use crate::view::{Moment, Texts, span};

/// An answer that was given up not long ago.
pub(in crate::view) struct Unanswered {
    /// Who owed it; none if it was somebody of a group.
    pub(in crate::view) member: Option<String>,
    pub(in crate::view) words: String,
}

/// Returns the answers that were given up not long ago and are still missing, oldest first. The state does not keep them: they are those of
/// messages whose debtor was reminded as often as anybody is, that have no answer, and are no longer waited for.
pub(in crate::view) fn unanswered(
    state: &State,
    now: Now,
    texts: &mut dyn Texts,
) -> Vec<Unanswered> {
    let mut reminders = BTreeMap::<&MessageId, Reminders>::new();
    for message in state.messages().filter(|message| message.kind == MessageKind::Nudge) {
        if let Some(asked) = &message.reply_to {
            let known = reminders.entry(asked).or_default();
            known.count += 1;
            known.last_ms = known.last_ms.max(message.sent_ms);
        }
    }
    reminders.retain(|_, known| known.count >= limits::ANSWER_REMINDERS);
    if reminders.is_empty() {
        return Vec::new();
    }
    for message in state.messages() {
        if let Some(asked) = &message.reply_to
            && reminders.contains_key(asked)
            && state.is_answer(message, asked)
        {
            reminders.remove(asked);
        }
    }
    let given_up = reminders.into_iter();
    let mut given_up: Vec<_> =
        given_up.filter_map(|(id, known)| Some((state.message(id)?, known.last_ms))).collect();
    given_up.sort_by_key(|(message, _)| message.seq);
    let rows = given_up.into_iter();
    rows.filter_map(|(message, last_ms)| row(state, message, (last_ms, now), texts)).collect()
}

/// The reminders of an answer.
#[derive(Default)]
struct Reminders {
    count: u32,
    /// When the last one was sent.
    last_ms: i64,
}

fn row(
    state: &State,
    message: &Message,
    (last_ms, now): (i64, Now),
    texts: &mut dyn Texts,
) -> Option<Unanswered> {
    let asker = message.from.member().filter(|asker| state.live(asker).is_some())?;
    let period_ms = message.more.as_ref()?.response_seconds?.saturating_mul(1_000);
    let given_up = Moment(last_ms.saturating_add_unsigned(period_ms));
    let due_ms = last_ms.saturating_sub_unsigned(
        period_ms.saturating_mul(u64::from(limits::ANSWER_REMINDERS).saturating_sub(1)),
    );
    if state.awaited_answer(&message.id).is_some()
        || message.audience.is_human()
        || given_up.until(Moment(now.wall_ms)) >= wait_times::UNANSWERED_SHOWN_MS
    {
        return None;
    }
    let mut owing = message.deliveries.iter().filter(|(name, delivery)| {
        message.asks(name) && !delivery.ended_unseen() && state.live(name).is_some()
    });
    owing.next()?;
    let (member, who) = match &message.audience {
        Audience::One(name) => (Some(name.to_string()), "has not".to_owned()),
        Audience::All => (None, "nobody has".to_owned()),
        to => (None, format!("nobody of {to} has")),
    };
    let text = texts.first_words(message.body, SHORT_WORDS);
    let text = text.map(|text| format!(" {}", quoted(&text, SHORT_WORDS))).unwrap_or_default();
    let words = format!(
        "{who} answered {asker}{text} ({}): due {} ago, given up after {}",
        message.id,
        span(now.wall_ms.saturating_sub(due_ms)),
        counted(limits::ANSWER_REMINDERS, "reminder")
    );
    Some(Unanswered { member, words })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::event::{Entry, Envelope, Event, MessageSent};
    use crate::bus::storage::LogPosition;
    use crate::domain::name::Name;
    use crate::domain::time::Tick;
    use crate::view::NoTexts;
    use crate::view::tests::{entry, joined};

    const MINUTE_MS: i64 = 60_000;

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    fn sent(number: u64, from: &str, to: &str) -> MessageSent {
        let (id, to_one) = (MessageId::from_bits(number), Audience::One(name(to)));
        MessageSent {
            to: vec![name(to)].into(),
            ..MessageSent::plain(id, name(from), to_one, "may I merge?")
        }
    }

    fn apply(state: &mut State, number: u64, minute: i64, event: Event) {
        let entry = Entry { ts: minute * MINUTE_MS, ..entry(number, event) };
        state.apply(&entry, &[0], LogPosition::default());
    }

    /// Ann has asked ben for an answer within a minute, and ben was reminded three times.
    fn asked() -> State {
        let mut state = State::default();
        joined(&mut state, 1, "ann");
        joined(&mut state, 2, "ben");
        let more = Envelope { response_seconds: Some(60), ..Envelope::default() };
        let question = MessageSent { more: Some(Box::new(more)), ..sent(1, "ann", "ben") };
        apply(&mut state, 3, 0, Event::MessageSent(question));
        for (number, minute) in (4..).zip(1..=3) {
            let nudge = MessageSent {
                kind: MessageKind::Nudge,
                reply_to: Some(MessageId::from_bits(1)),
                ..sent(number, "ann", "ben")
            };
            apply(&mut state, number, minute, Event::MessageSent(nudge));
        }
        state
    }

    fn said(state: &State, wall_ms: i64) -> Vec<(Option<String>, String)> {
        let now = Now { wall_ms, tick: Tick { boot: 1, ms: 1 } };
        let all = unanswered(state, now, &mut NoTexts).into_iter();
        all.map(|one| (one.member, one.words)).collect()
    }

    #[test]
    fn an_answer_that_was_given_up_is_a_problem_for_an_hour() {
        let mut state = asked();
        assert_eq!(said(&state, 5 * MINUTE_MS), [], "it is still waited for");
        apply(&mut state, 7, 4, Event::MessageUnanswered { id: MessageId::from_bits(1) });
        let words = format!(
            "has not answered ann ({}): due 4 min ago, given up after 3 reminders",
            MessageId::from_bits(1)
        );
        assert_eq!(said(&state, 5 * MINUTE_MS), [(Some("ben".to_owned()), words)]);
        assert_eq!(said(&state, 65 * MINUTE_MS), [], "that was long ago");
    }

    #[test]
    fn an_answer_that_came_late_after_all_is_no_problem() {
        let mut state = asked();
        apply(&mut state, 7, 4, Event::MessageUnanswered { id: MessageId::from_bits(1) });
        let asked = Some(MessageId::from_bits(1));
        let answer = MessageSent { reply_to: asked, ..sent(9, "ben", "ann") };
        apply(&mut state, 8, 5, Event::MessageSent(answer));
        assert_eq!(said(&state, 5 * MINUTE_MS), []);
    }
}
