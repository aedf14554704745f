//! What a person wants done with a team, as a window or a page says it.

use super::ids::SessionId;
use super::messaging::Priority;
use super::permission::Decision;

/// Something that a person wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    Send {
        to: String,
        text: String,
        priority: Priority,
        /// The message that it answers, which is in the same thread then.
        reply_to: Option<String>,
    },
    /// Ends an agent gracefully.
    Stop {
        member: String,
        /// The session that the person was asked about. Another may have the name by now.
        session: Option<SessionId>,
    },
    Kill {
        member: String,
        session: Option<SessionId>,
    },
    /// Cancels a task or a workflow.
    Cancel {
        id: String,
    },
    /// Answers a permission question.
    Answer {
        id: String,
        decision: Decision,
    },
    /// Approves or refuses a step of a workflow.
    Approve {
        workflow: String,
        step: String,
        given: bool,
        reason: Option<String>,
    },
}

impl Act {
    /// Says whether it answers a question, which a switch of its own allows.
    pub fn is_answer(&self) -> bool {
        matches!(self, Self::Answer { .. } | Self::Approve { .. })
    }
}
