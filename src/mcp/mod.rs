//! The MCP servers over stdio: one file per tool, without logic of their own.
//!
//! [`Server`] speaks both lifecycles of the protocol and guards every call: a panic, a deadline and a cancellation all end in an answer
//! or in requeued messages. A [`Tool`] only translates between JSON and the bus. The list of tools is a table:
//! [`tools::endpoint_tools::tools`] has those of every member.
//!
//! This module never opens a file and never prints. A [`LazyMembership`] decides which member it serves.
//!
//! [`Server`]: crate::mcp::Server
//! [`Tool`]: crate::mcp::Tool
//! [`tools::endpoint_tools::tools`]: crate::mcp::tools::endpoint_tools::tools
//! [`LazyMembership`]: crate::mcp::LazyMembership

pub(crate) mod agent_identity;
mod interrupted_wait;
mod error;
pub(crate) mod blocking_read;
pub(crate) mod orchestrator_team;
pub(crate) mod shapes;
mod tool;
mod lazy_membership;
mod decision_form;
mod question_form;
mod ask_consent;
mod ask_user;
mod caller;
mod server;
pub mod client;

pub use self::caller::{Caller, Progress};
pub use self::error::ToolError;
pub use self::lazy_membership::LazyMembership;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use self::server::first_message::opens;
pub use self::server::serve_stdio::{ServerEnd, serve, serve_stdio};
pub use self::server::{About, Pushing, Server};
pub use self::shapes::message_shape::MessageView;
pub use self::tool::{AnyTool, CallTimeout, Effect, InboxMode, Tool};

#[cfg(test)]
mod tests;
pub mod tools;
