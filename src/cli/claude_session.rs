//! Finds the member for which a hook or a watcher acts: the one that the MCP server of the same client has joined as.
//!
//! Claude Code, like other clients with hooks, starts its MCP servers, its hooks, and the commands of its tools. When a server joins, it records the processes that
//! started it ([`crate::sys::process::ancestors`]). A process that descends from the same client belongs to the same member.

use super::below_agent;
use crate::bus::state::{Session, State};
use crate::domain::member::ProcessMark;
use crate::sys::process::ancestors::{self, Ancestor};

/// The ancestors of this process.
pub(super) struct ClaudeSession {
    clients: Vec<ProcessMark>,
}

impl ClaudeSession {
    /// Looks up the ancestors of this process.
    pub(super) fn look() -> Self {
        // An agent descends from the orchestrator's client too, but has a client of its own, and its bridge delivers its messages.
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
