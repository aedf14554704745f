//! One agent connection over given pipes, in the Agent Client Protocol (ACP).
//!
//! [`connect`] takes an agent's stdout and stdin and returns a [`Connection`] (requests to the agent) and its [`AgentEvents`] (messages
//! that the agent sends by itself). The module guarantees:
//!
//! - Nothing an agent writes ends the connection, makes it panic or fills the memory: lines are bounded, repaired where
//!   possible, else dropped and counted ([`LineCounts`]); reading stops while too many events wait.
//! - Every request ends: by its answer, by its deadline, or at once when the agent is gone. A prompt has no deadline.
//! - When a request returns, all events that the agent sent before its answer already wait in [`AgentEvents`].
//! - An agent's ids, names, stop reasons and errors are bounded, and have their secrets hidden, where they are parsed
//!   ([`ConnectOptions::secrets`]).
//! - A question for permission is always answered; without an answer of the owner, with `cancelled`.
//! - A question for new messages is answered in time: without an answer of the owner, with no messages.
//!
//! It deliberately starts no process, decides no permission and knows no team: it offers the pure functions for that
//! ([`choose`], [`is_our_tool`]). The client offers agents files only where its
//! owner answers for them ([`FileSystem`]), and no terminals; agents have their own.
//!
//! [`connect`]: crate::acp::connect
//! [`Connection`]: crate::acp::Connection
//! [`AgentEvents`]: crate::acp::AgentEvents
//! [`LineCounts`]: crate::acp::LineCounts
//! [`choose`]: crate::acp::choose
//! [`is_our_tool`]: crate::acp::is_our_tool
//! [`FileSystem`]: crate::acp::FileSystem
//! [`ConnectOptions::secrets`]: crate::acp::ConnectOptions::secrets

mod connection;
pub(crate) mod data;
pub(crate) mod incoming;
mod transport;
mod error;
mod line_io;
mod bridge_tool;
mod steer_request;

#[cfg(test)]
mod tests;

pub use self::bridge_tool::{OurTools, is_our_tool};
pub use self::data::agent_info::{AgentInfo, AuthMethod, Feature};
pub use self::data::places_by_call::Places;
pub use self::data::prompt_result::{PromptOutcome, StopReason, TokenUsage};
pub use self::data::session_settings::{
    AcpSessionId, Choice, ConfigOption, McpServerSpec, Models, SessionInfo,
};
pub use self::data::session_update::{Cost, PlanEntry, Update};
pub use self::data::tool_call_update::{Diff, ToolCallUpdate};
pub use self::data::tool_calls::{ToolCall, ToolCalls};
pub use self::data::touched_paths::Touched;
pub use self::incoming::dispatch::AnswerCustom;
pub use self::incoming::drain_request::DrainQuestion;
pub use self::incoming::event_queue::{AgentEvent, AgentEvents};
pub use self::incoming::file_request::{
    FileAccess, FileQuestion, FileRefusal, FileRequest, FileSystem,
};
pub use self::incoming::permission_request::{
    Answer, AnswerKind, OptionKind, PermissionOption, PermissionQuestion, PermissionRequest, choose,
};
pub use self::line_io::LineCounts;
pub use self::steer_request::Steered;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use self::transport::read_all;
pub use self::transport::{ConnectOptions, Deadlines};
pub use connection::{Connection, connect};
pub use error::{AcpError, Ending};
