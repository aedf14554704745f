//! What an agent's ACP session has had so far, which decides what its next prompt begins with.

use crate::domain::task::result::Context;

/// The state of a session between two turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conversation {
    /// Whether it has had its introduction.
    pub(crate) introduced: bool,
    /// Whether it has had a turn.
    pub(crate) used: bool,
    /// What it contains when the next turn begins.
    pub(crate) context: Context,
    /// The number in the log at which it began; 0 for a resumed one, which is older than this process.
    pub(crate) began_seq: u64,
}

impl Conversation {
    /// A new session of a running agent.
    pub(crate) fn new(began_seq: u64) -> Self {
        Self { introduced: false, used: false, context: Context::New, began_seq }
    }

    /// After a prompt. Every first prompt introduces the team.
    pub(crate) fn begun(self) -> Self {
        Self { introduced: true, used: true, context: Context::Kept, ..self }
    }

    /// Returns the state of the first session of a process.
    pub(crate) fn at_start(resumed: bool, context: Context, began_seq: u64) -> Self {
        let began_seq = if resumed { 0 } else { began_seq };
        Self { introduced: resumed, used: resumed, context, began_seq }
    }
}
