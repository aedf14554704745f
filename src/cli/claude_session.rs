//! Whom a process speaks for that a client starts beside its server: the member that the server has joined as.
//!
//! Claude Code starts its MCP servers, its hooks, and the commands of its tools. What a server notes at joining is who started it
//! ([`crate::sys::process::ancestors`]); whoever descends from that same process belongs to it.

use super::below_agent;
use crate::bus::state::{Session, State};
use crate::domain::member::ProcessMark;
use crate::sys::process::ancestors::{self, Ancestor};

/// The processes that have started this one.
pub(super) struct ClaudeSession {
    clients: Vec<ProcessMark>,
}

impl ClaudeSession {
    /// Looks who they are.
    pub(super) fn look() -> Self {
        // An agent descends from the client of the orchestrator too, but its own client is another one, and its messages are its
        // bridge's to hand over.
        if below_agent::is_below_an_agent() {
            return Self { clients: Vec::new() };
        }
        let client = |Ancestor { pid, started }| ProcessMark { pid, started: Some(started) };
        Self { clients: ancestors::ancestors().into_iter().map(client).collect() }
    }

    /// Finds the session of the member that the same client has joined as.
    pub(super) fn member<'a>(&self, state: &'a State) -> Option<&'a Session> {
        state.serving(&self.clients)
    }
}
