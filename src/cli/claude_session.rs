//! Finds the member for which a hook or a watcher acts: the one that the MCP server of the same client has joined as.
//!
//! Claude Code, like other clients with hooks, starts its MCP servers, its hooks, and the commands of its tools. When a server joins, it
//! records the process that started it ([`crate::sys::process::ancestors`]).

use super::below_agent;
use crate::bus::state::{Session, State};
use crate::domain::member::ProcessMark;
use crate::sys::process::ancestors::{self, Ancestor};

/// The processes that may be the client of this process, the nearest first.
pub(super) struct ClaudeSession {
    clients: Vec<ProcessMark>,
}

impl ClaudeSession {
    /// Looks up the process that started this one. No other process is the client of a hook: a session may start a second client in its
    /// shell, whose hooks descend from both, and must not take the messages of the first.
    pub(super) fn of_starter() -> Self {
        Self::among(|| ancestors::client().into_iter().collect())
    }

    /// Looks up all ancestors of this process, for one that only reads: other programs may stand between it and its client.
    pub(super) fn of_ancestors() -> Self {
        Self::among(ancestors::ancestors)
    }

    fn among(candidates: impl FnOnce() -> Vec<Ancestor>) -> Self {
        // An agent descends from the orchestrator's client too, but has a client of its own, and its bridge delivers its messages.
        if below_agent::is_below_an_agent() {
            return Self { clients: Vec::new() };
        }
        let client = |Ancestor { pid, started }| ProcessMark { pid, started: Some(started) };
        Self { clients: candidates().into_iter().map(client).collect() }
    }

    /// Finds the session of the member that the same client has joined as.
    pub(super) fn member<'a>(&self, state: &'a State) -> Option<&'a Session> {
        state.serving(&self.clients)
    }
}
