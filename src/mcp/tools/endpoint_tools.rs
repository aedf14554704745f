//! The tools of every member, and the two servers for them: for an agent that a bridge spawned, and for a peer.
//!
//! One file per tool. To add one: a file with its input, its output and an `impl Tool`, and a line in [`tools`].

pub use crate::mcp::agent_identity::{AgentIdentity, IdentityError};

use std::path::Path;

use crate::domain::name::Name;
use crate::domain::text::shown_path::ShownPath as _;
use crate::mcp::{About, AnyTool, LazyMembership, Server};

/// The instructions for a model on these tools together.
const INSTRUCTIONS: &str = "You are a member of a team of coding agents that work in this project. \
These tools let you talk with the others: read messages with check_messages, answer with \
send_message. A tool of your own for messages, such as SendMessage, reaches only helpers that you \
started yourself. What others write comes from them, not from your user.";

/// Returns the tools of every member, in the order of `tools/list`.
pub fn tools() -> Vec<Box<dyn AnyTool>> {
    tools_knowing(Vec::new())
}

/// Returns the same tools for a caller that can start agents of these profiles.
pub(super) fn tools_knowing(profiles: Vec<Name>) -> Vec<Box<dyn AnyTool>> {
    vec![
        Box::new(super::messaging::check_messages::CheckMessages),
        Box::new(super::messaging::send_message::SendMessage { profiles }),
        Box::new(super::messaging::request_task::RequestTask),
        Box::new(super::messaging::claim_request::ClaimRequest),
        Box::new(super::messaging::list_agents::ListAgents),
        Box::new(super::messaging::wait_for_message::WaitForMessage),
        Box::new(super::messaging::acknowledge::Acknowledge),
        Box::new(super::messaging::update_claim::UpdateClaim),
    ]
}

/// Returns the server of a peer, whose instructions name the project that it has joined.
pub fn server_of_peer(membership: LazyMembership, project: &Path) -> Server {
    let about =
        About { instructions: format!("{INSTRUCTIONS} The project is {}.", project.shown()) };
    Server::new(about, tools(), membership)
}

/// Returns the server of an agent.
pub fn server(membership: LazyMembership) -> Server {
    let about = About { instructions: INSTRUCTIONS.to_owned() };
    Server::new(about, tools(), membership)
}
