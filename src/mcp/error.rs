//! The errors of tools, as sentences that a model can act on and that contain no path.

use std::sync::Arc;

use super::interrupted_wait::InterruptedWait;
use crate::bus::BusError;
use crate::bus::rules::Refusal;
use crate::domain::ids::IdError;
use crate::domain::name::NameError;
use crate::team::Consent;

/// An error that a model gets instead of a result.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ToolError {
    /// The bus refused, or failed.
    #[error("{}", .0.message_for_model())]
    Bus(#[from] BusError),
    /// The arguments are invalid.
    #[error("{0}")]
    Arguments(String),
    /// The arguments passed their check, but could not be parsed.
    #[error("`{tool}` cannot read these arguments: compare them with its input schema")]
    UnreadArguments { tool: &'static str },
    /// No member can be served here: the identity does not match, or there is no bus.
    #[error("{0}")]
    Unavailable(String),
    /// A setting of the project's own file needs the user's consent first.
    #[error("{_0}")]
    Unagreed(Arc<Consent>),
    /// The wait ended because the user has to be asked; the server asks, and the client repeats the call.
    #[error("the user has to answer a question first: call again")]
    UserIsAsked(Box<InterruptedWait>),
    /// The tool panicked.
    #[error("`{tool}` hit a bug in the bridge: try once more, then continue without it")]
    Panicked { tool: &'static str },
    /// The tool took too long.
    #[error(
        "`{tool}` got no answer from the bus within {seconds} s, so it may or may not have taken \
            effect. Check before you repeat it"
    )]
    TooSlow {
        tool: &'static str,
        /// How long the server waited.
        seconds: u64,
    },
    /// The client cancelled the call, or has gone.
    #[error("`{tool}` was cancelled; any messages it had received are unread again")]
    Cancelled { tool: &'static str },
}

impl From<Refusal> for ToolError {
    fn from(refusal: Refusal) -> Self {
        Self::Bus(refusal.into())
    }
}

impl From<IdError> for ToolError {
    fn from(error: IdError) -> Self {
        Refusal::from(error).into()
    }
}

impl From<NameError> for ToolError {
    fn from(error: NameError) -> Self {
        Refusal::from(error).into()
    }
}
