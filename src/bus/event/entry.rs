//! An entry of the log: what one append puts into it.

use super::Event;
use crate::domain::ids::{CommandId, SessionId};
use crate::domain::time::Tick;

/// What one append puts into the log: one command's events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The seq of the first event; the k-th has `seq + k`.
    pub seq: u64,
    /// When, for people: milliseconds since 1970.
    pub ts: i64,
    /// When, for deadlines.
    pub tick: Tick,
    /// The command.
    pub id: CommandId,
    /// The session that commanded it; none for what was merely due.
    pub by: Option<SessionId>,
    /// What happened.
    pub events: Vec<Event>,
}

impl Entry {
    /// Returns the seq of the entry that follows.
    pub fn next_seq(&self) -> u64 {
        self.seq.saturating_add(self.events.len() as u64)
    }
}
