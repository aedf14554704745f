//! Entries of the log: the proposal of a command, the entry of an append, and positions in the log.

use serde::{Deserialize, Serialize};

use super::Event;
use crate::domain::ids::{CommandId, SessionId};
use crate::domain::time::Tick;

/// A position in the log: the first byte of a line.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(into = "(u64, u64)", from = "(u64, u64)")]
pub struct LogPosition {
    /// The first seq of the segment.
    pub segment: u64,
    /// The offset in the segment, in bytes.
    pub offset: u64,
}

impl From<(u64, u64)> for LogPosition {
    fn from((segment, offset): (u64, u64)) -> Self {
        Self { segment, offset }
    }
}

impl From<LogPosition> for (u64, u64) {
    fn from(position: LogPosition) -> Self {
        (position.segment, position.offset)
    }
}

/// The place of a text: an event of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodyRef {
    /// The beginning of the line.
    pub place: LogPosition,
    /// The index of the event in the line.
    pub index: u16,
    /// The length of the text in bytes.
    pub bytes: u64,
}

/// The events that a command proposes to append.
#[derive(Clone, Debug)]
pub struct Proposal {
    pub id: CommandId,
    /// The session that gave the command; none for due events.
    pub by: Option<SessionId>,
    pub events: Vec<Event>,
}

/// One line of the log: the events of one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The seq of the first event; the k-th has `seq + k`.
    pub seq: u64,
    /// The wall time, for people: milliseconds since 1970.
    pub ts: i64,
    /// The time from which deadlines count.
    pub tick: Tick,
    pub id: CommandId,
    /// The session that gave the command; none for due events.
    pub by: Option<SessionId>,
    /// The events, in their order.
    pub events: Vec<Event>,
}

impl Entry {
    /// Returns the seq of the next entry.
    pub fn next_seq(&self) -> u64 {
        self.seq.saturating_add(self.events.len() as u64)
    }
}
