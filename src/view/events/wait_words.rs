//! Waits in words: who began to wait for whom, and how that ended. The event of the end names only the call.

use std::collections::BTreeMap;

use super::Topic;
use super::said::Said;
use super::speaker::Speaker;
use crate::bus::event::Event;
use crate::domain::ids::{CallId, SessionId};
use crate::domain::time::Tick;
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
    /// The member that is named in it.
    from: Option<String>,
    request: Option<String>,
    /// The message whose answer it wants.
    reply_to: Option<String>,
    since: Tick,
    timeout_ms: u64,
}

impl OpenWait {
    /// Says what it waits for.
    fn what(&self) -> String {
        match (&self.from, self.request.as_ref().or(self.reply_to.as_ref())) {
            (Some(from), _) => from.clone(),
            (None, Some(asked)) => format!("an answer to {asked}"),
            (None, None) => "a message".to_owned(),
        }
    }
}

impl OpenWaits {
    /// Returns what an event says about waits. The delivery of a message says so besides what it says of the message.
    pub(super) fn said(&mut self, event: &Event, now: Tick, speaker: &Speaker<'_>) -> Option<Said> {
        match event {
            Event::WaitStarted { session, call, from, request, reply_to, timeout_ms } => {
                let wait = OpenWait {
                    from: from.as_ref().map(ToString::to_string),
                    request: request.as_ref().map(ToString::to_string),
                    reply_to: reply_to.as_ref().map(ToString::to_string),
                    since: now,
                    timeout_ms: *timeout_ms,
                };
                let words = format!("{} waits for {}", speaker.named(*session), wait.what());
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
        let words = format!("{who} waited {time} for {}: {how}", wait.what());
        Some(about(words, call.0, &wait, speaker))
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
