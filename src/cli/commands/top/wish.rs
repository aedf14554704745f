//! What a person wants done, as the window says it.

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
    },
    Kill {
        member: String,
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
