//! A tool as it is written: a name, a description, an input, an output, and a function between them.
//!
//! A tool is a value, so that one that needs more than the caller's membership carries it along.

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

/// What a call does to the team: clients let what only reads run side by side, and ask their user before what ends something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It reads or waits.
    Reads,
    /// It adds or changes something, and ends nothing.
    Changes,
    /// It ends work that may not be done again.
    Ends,
}

/// How long a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallTimeout {
    /// As long as any tool that does not wait.
    Short,
    /// So long on purpose; such a call ends when its client goes away.
    Waits(Duration),
}

/// A tool, with its types.
pub trait Tool: Send + Sync + 'static {
    /// What it takes. Unknown fields are refused.
    type Input: DeserializeOwned + JsonSchema + Send;
    /// What it returns.
    type Output: Serialize + JsonSchema + Send;
    /// Its name.
    const NAME: &'static str;
    /// The description for a model: what, when, what next.
    const DESCRIPTION: &'static str;
    /// What a call does to the team.
    const EFFECT: Effect = Effect::Changes;
    /// Whether unread messages ride along.
    const MAIL: InboxMode = InboxMode::RidesAlong;

    /// Returns how long a call with this input may take.
    fn patience(&self, _input: &Self::Input) -> CallTimeout {
        CallTimeout::Short
    }

    /// Does what is asked for. Dropped when the call is cancelled, which it must bear at every await.
    fn run(
        &self,
        caller: &mut Caller,
        input: Self::Input,
    ) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;
}
