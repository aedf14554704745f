//! A tool as it is implemented: a name, a description, an input, an output, and a function between them.
//!
//! A tool is a value, so it can carry more than the caller's membership.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::mcp::caller::Caller;
use crate::mcp::error::ToolError;

/// Whether unread messages ride along on a tool's results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InboxMode {
    /// As `inbox`.
    RidesAlong,
    /// The tool returns messages itself.
    IsTheAnswer,
}

/// The effect of a call on the team. Clients run read-only calls in parallel, and ask their user before destructive ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It reads or waits.
    Reads,
    /// It adds or changes something, and ends no work.
    Changes,
    /// It ends work that cannot be resumed.
    Ends,
}

/// How long a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallTimeout {
    /// As long as any tool that does not wait.
    Short,
    /// As long as the call waits by design; such a call ends when its client is gone.
    Waits(Duration),
}

/// Shortens a time to the longest one. Returns the seconds, and a note that says so.
pub(in crate::mcp) fn at_most(name: &str, seconds: u64, most: u64) -> (u64, Option<String>) {
    if seconds <= most {
        return (seconds, None);
    }
    (most, Some(format!("{name} was shortened to {most}, the most it can be")))
}

/// A tool, with its types.
pub trait Tool: Send + Sync + 'static {
    /// The arguments. Unknown fields are refused.
    type Input: DeserializeOwned + JsonSchema + Send;
    /// The result.
    type Output: Serialize + JsonSchema + Send;
    const NAME: &'static str;
    /// The description for a model: what, when, what next.
    const DESCRIPTION: &'static str;
    /// The effect of a call on the team.
    const EFFECT: Effect = Effect::Changes;
    /// Whether unread messages ride along.
    const MAIL: InboxMode = InboxMode::RidesAlong;

    /// Returns an argument, and what its description says in addition as long as things stand as they do now. It is asked for with
    /// each `tools/list`.
    fn present_note(&self) -> Option<(&'static str, String)> {
        None
    }

    /// Returns how long a call with this input may take.
    fn patience(&self, _input: &Self::Input) -> CallTimeout {
        CallTimeout::Short
    }

    /// Performs the call. A cancellation drops the future, so it has to be cancel-safe at every await.
    fn run(
        &self,
        caller: &mut Caller,
        input: Self::Input,
    ) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;
}
