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
}

impl Conversation {
    /// A new session of a running agent.
    pub(crate) const NEW: Self = Self { introduced: false, used: false, context: Context::New };

    /// After a prompt. Every first prompt introduces the team.
    pub(crate) const BEGUN: Self = Self { introduced: true, used: true, context: Context::Kept };

    /// Returns the state of the first session of a process.
    pub(crate) fn at_start(resumed: bool, context: Context) -> Self {
        Self { introduced: resumed, used: resumed, context }
    }
}
