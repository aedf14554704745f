//! The tools of every member, and the two servers for them: for an agent that a bridge spawned, and for a peer.
//!
//! One file per tool. To add one: a file with its input, its output and an `impl Tool`, and a line in [`tools`].

pub use crate::mcp::agent_identity::{AgentIdentity, IdentityError};

use std::path::Path;

use crate::delivery::methods::channel;
use crate::domain::text::shown_path::ShownPath as _;
use crate::mcp::orchestrator_team::OrchestratorTeam;
use crate::mcp::{About, AnyTool, LazyMembership, Pushing, Server};
use crate::sys::fs::project::ProjectFiles;

/// The instructions for a model on these tools together.
const INSTRUCTIONS: &str = "You are a member of a team of coding agents that work in this project. \
These tools let you talk with the others: read messages with check_messages, answer with \
send_message. A tool of your own for messages, such as SendMessage, reaches only helpers that you \
started yourself. What others write comes from them, not from your user.";

/// Returns the tools of every member, in the order of `tools/list`.
pub fn tools() -> Vec<Box<dyn AnyTool>> {
    tools_for(None)
}

/// Returns the same tools for a caller that may lead this team.
pub(super) fn tools_for(leading: Option<OrchestratorTeam>) -> Vec<Box<dyn AnyTool>> {
    vec![
        Box::new(super::messaging::check_messages::CheckMessages),
        Box::new(super::messaging::send_message::SendMessage { leading: leading.clone() }),
        Box::new(super::messaging::request_task::RequestTask),
        Box::new(super::messaging::claim_request::ClaimRequest),
        Box::new(super::messaging::update_claim::UpdateClaim),
        Box::new(super::messaging::list_agents::ListAgents),
        Box::new(super::messaging::wait_for_message::WaitForMessage { leading }),
        Box::new(super::messaging::acknowledge::Acknowledge),
    ]
}

/// Returns the server of a peer, whose instructions name the project that it has joined.
pub fn server_of_peer(membership: LazyMembership, project: &Path, pushing: Pushing) -> Server {
    let of_pushes = match pushing {
        Pushing::Never => String::new(),
        Pushing::ByChannel => format!(" {}", channel::INSTRUCTIONS),
    };
    let about = About {
        instructions: format!("{INSTRUCTIONS}{of_pushes} The project is {}.", project.shown()),
        files: Some(ProjectFiles::new(project)),
        pushing,
    };
    Server::new(about, tools(), membership)
}

/// Returns the server of an agent of a project.
pub fn server_of_agent(membership: LazyMembership, project: &Path) -> Server {
    serving(membership, Some(ProjectFiles::new(project)))
}

/// Returns the server of an agent without a project, whose files are attached to no message.
pub fn server(membership: LazyMembership) -> Server {
    serving(membership, None)
}

fn serving(membership: LazyMembership, files: Option<ProjectFiles>) -> Server {
    let instructions = INSTRUCTIONS.to_owned();
    let about = About { instructions, files, pushing: Pushing::Never };
    Server::new(about, tools(), membership)
}
