//! The MCP servers over stdio: one file a tool, no logic of their own.
//!
//! [`Server`] speaks both lifecycles of the protocol and stands guard around every call: a panic, a deadline and a
//! cancellation all end in an answer or in messages given back. A [`Tool`] translates between JSON and the bus, and no more.
//! Which tools there are is a table: [`endpoint::tools`] has those that everyone has.
//!
//! This module never opens a file and never prints; whose calls it answers is the business of a [`Seating`].
//!
//! [`Server`]: crate::mcp::Server
//! [`Tool`]: crate::mcp::Tool
//! [`endpoint::tools`]: crate::mcp::endpoint::tools
//! [`Seating`]: crate::mcp::Seating

mod error;
mod schema;
mod arguments;
mod caller;
mod message;
mod tool;
mod seating;
mod reading;
mod wire;
mod opening;
mod consent;
mod user;
mod server;
mod serve;
pub mod endpoint;
pub mod orchestrator;
pub mod client;

pub use self::caller::{Caller, Progress};
pub use self::error::ToolError;
pub use self::message::MessageView;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use self::opening::opens;
pub use self::seating::Seating;
pub use self::serve::{Ended, serve, serve_stdio};
pub use self::server::{About, Server};
pub use self::tool::{AnyTool, Mail, Patience, Tool};

#[cfg(test)]
mod tests;
