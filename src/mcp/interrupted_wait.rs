//! A waiting call that ended early because the client's user has to answer a form first, and what its repetition needs to wait on.
//!
//! The client sends it back as the protocol's request state. Whoever may change it may also call the tools, so it grants nothing.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::ids::{MessageId, TaskId};

/// How often one call is interrupted. Clients give up after ten answers that require input, and the first may come before the call.
const MOST_TIMES: u8 = 8;

/// The rest of a wait.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterruptedWait {
    /// How much longer it would have waited.
    left_ms: u64,
    /// How often the call has been interrupted.
    times: u8,
    #[serde(flatten)]
    pub(super) done: DoneBefore,
}

/// What an interrupted call had done before it waited, and its repetition does not do again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DoneBefore {
    /// The task that it has assigned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) assigned: Option<AssignedTask>,
    /// The message that it has sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sent: Option<MessageId>,
}

impl From<AssignedTask> for DoneBefore {
    fn from(task: AssignedTask) -> Self {
        Self { assigned: Some(task), sent: None }
    }
}

impl From<MessageId> for DoneBefore {
    fn from(sent: MessageId) -> Self {
        Self { assigned: None, sent: Some(sent) }
    }
}

/// A task that an interrupted call has assigned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AssignedTask {
    pub(super) id: TaskId,
    /// What the answer will say about the assignment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
    /// Whether its agent is to go on with an earlier conversation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_resumed: bool,
}

impl InterruptedWait {
    /// Reads the request state of a repeated call; `None` for the state of anything else.
    pub(super) fn parse(state: &str) -> Option<Self> {
        serde_json::from_str(state).ok()
    }

    /// Writes the request state.
    pub(super) fn to_state(&self) -> String {
        serde_json::to_string(self).expect("it is plain data")
    }

    /// Interrupts a wait, for the first time or once more.
    pub(super) fn after(earlier: Option<&Self>, left: Duration, done: DoneBefore) -> Self {
        Self {
            left_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
            times: earlier.map_or(0, |earlier| earlier.times).saturating_add(1),
            done,
        }
    }

    /// Returns how much longer it would have waited.
    pub(super) fn left(&self) -> Duration {
        Duration::from_millis(self.left_ms)
    }

    /// Says whether the call may be interrupted once more.
    pub(super) fn may_be_repeated(&self) -> bool {
        self.times < MOST_TIMES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_state_reads_back_and_anything_else_is_no_state() {
        let task = AssignedTask {
            id: TaskId::from_bits(1),
            note: Some("a note".into()),
            is_resumed: true,
        };
        for done in [task.into(), MessageId::from_bits(2).into(), DoneBefore::default()] {
            let wait = InterruptedWait::after(None, Duration::from_secs(7), done);
            assert_eq!(InterruptedWait::parse(&wait.to_state()), Some(wait.clone()));
            assert_eq!(wait.left(), Duration::from_secs(7));
        }
        for other in
            ["", "abc", "{}", r#"{"left_ms":-1,"times":1}"#, r#"{"left_ms":1,"times":999}"#]
        {
            assert_eq!(InterruptedWait::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_call_is_interrupted_only_as_often_as_clients_repeat_it() {
        let mut wait = InterruptedWait::default();
        let mut times = 0;
        while wait.may_be_repeated() {
            wait = InterruptedWait::after(Some(&wait), Duration::ZERO, DoneBefore::default());
            times += 1;
        }
        assert_eq!(times, MOST_TIMES);
    }
}
