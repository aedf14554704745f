//! Steer: unread messages put into a running turn by the bridge, where the agent offers that.

use std::time::Duration;

use tokio::time::Instant;

use crate::bus::LoadedMessage;
use crate::delivery::capabilities::SteerWhen;
use crate::delivery::message_frame::frame;
use crate::delivery::policy::{Busy, Mail};
use crate::delivery::recipient::Reader;

/// How long an agent may take to say whether it has taken them. Real ones answer within milliseconds, but for a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// When it is tried again after the agent has said that it has no turn: it is between two, or has not begun the one yet.
const AGAIN: Duration = Duration::from_secs(1);

/// How often that doubles while the agent goes on to say so: half a minute is often enough, as each attempt is written down.
const MOST_DOUBLINGS: u32 = 5;

/// What the model is told about them.
fn request(reader: Reader<'_>) -> String {
    let tool = reader.tool("send_message");
    format!(
        "These arrived while you work. Answer with {tool} if needed, then continue with your task."
    )
}

/// Says when the mail is to be put into the turn: now, at some time, or not as things are.
pub(crate) fn due(mail: &Mail, when: SteerWhen, busy: &Busy) -> Option<Instant> {
    mail.newest?;
    let waits = busy.asking || (when == SteerWhen::BetweenCalls && busy.calls);
    if busy.steering || (waits && mail.urgent.is_none()) {
        return None;
    }
    Some(busy.not_before.map_or(busy.now, |at| at.max(busy.now)))
}

/// Returns how long to wait after so many attempts in vain.
pub fn pause(in_vain: u32) -> Duration {
    AGAIN * 2u32.pow(in_vain.saturating_sub(1).min(MOST_DOUBLINGS))
}

/// Writes what is put into the turn.
pub fn steer_text<'r>(
    letters: &[LoadedMessage],
    reader: impl Into<Reader<'r>>,
    more: usize,
) -> String {
    let reader = reader.into();
    format!("{}\n\n{}", frame(letters, reader, more), request(reader))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_tried_in_vain_is_tried_less_and_less_often() {
        let pauses: Vec<_> =
            [1, 2, 3, 6, 7, u32::MAX].iter().map(|in_vain| pause(*in_vain).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 32, 32, 32]);
    }
}
