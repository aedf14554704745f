//! Steer: the bridge puts unread messages into a running turn, if the agent offers that.

use std::time::Duration;

use tokio::time::Instant;

use crate::bus::LoadedMessage;
use crate::delivery::capabilities::SteerWhen;
use crate::delivery::message_frame::{about_authors, frame};
use crate::delivery::pending_mail::{PendingMail, RunningTurn};
use crate::delivery::recipient::Reader;
use crate::domain::wait_times;
use crate::sys::backoff::Backoff;

/// The pauses between attempts while the agent says that it has no turn.
const ATTEMPTS: Backoff = Backoff::new(wait_times::STEER_AGAIN, wait_times::LONGEST_STEER_AGAIN);

/// What the model is asked to do with the messages.
fn request(messages: &[LoadedMessage], reader: Reader<'_>) -> String {
    let tool = reader.tool("send_message");
    format!(
        "These arrived while you work. Answer with {tool} if needed, then continue with your \
         task.{}",
        about_authors(messages)
    )
}

/// Returns when to steer pending mail into the turn; `None` while it must wait.
pub(crate) fn due(mail: &PendingMail, when: SteerWhen, turn: &RunningTurn) -> Option<Instant> {
    mail.newest?;
    let waits = turn.asking || (when == SteerWhen::BetweenCalls && turn.calls);
    if turn.steering || (waits && mail.urgent.is_none()) {
        return None;
    }
    Some(turn.not_before.map_or(turn.now, |at| at.max(turn.now)))
}

/// Returns the pause after a number of failed attempts.
pub fn pause(failed: u32) -> Duration {
    ATTEMPTS.pause_after(failed)
}

/// Writes the text that is put into the turn.
pub fn steer_text<'r>(
    messages: &[LoadedMessage],
    reader: impl Into<Reader<'r>>,
    more: usize,
) -> String {
    let reader = reader.into();
    format!("{}\n\n{}", frame(messages, reader, more), request(messages, reader))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_attempts_are_repeated_ever_more_rarely() {
        let pauses: Vec<_> =
            [1, 2, 3, 6, 7, u32::MAX].iter().map(|failed| pause(*failed).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 32, 32, 32]);
    }
}
