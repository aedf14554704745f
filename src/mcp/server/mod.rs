//! The server: its tools, one call of them from its line to its answer, and the pipes of its client.

mod announce_tools;
mod answer_call;
pub(crate) mod client_pipes;
pub(crate) mod first_message;
mod mcp_requests;
mod push_messages;
pub(crate) mod read_line;
pub(crate) mod serve_stdio;
mod server_handle;

pub use self::server_handle::{About, Pushing, Server};
