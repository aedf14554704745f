//! What a person wants done, as the window says it.

use crate::domain::ids::SessionId;
use crate::domain::permission::Decision;

/// Something that a person wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Send {
        to: String,
        text: String,
    },
    /// Ends an agent gracefully.
    Stop {
        member: String,
        session: SessionId,
    },
    Kill {
        member: String,
        /// The session that the person was asked about. Another may have the name by now.
        session: SessionId,
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
