//! A replica: the state as one process knows it, and the log position up to which it has been read.
//!
//! A storage engine applies entries to a replica, and uses nothing else of the state.

use std::collections::BTreeSet;

use super::event::{Entry, LogPosition};
use super::state::State;
use crate::domain::ids::TaskId;

/// The milliseconds of a day.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// A state and the position in the log up to which it has been read.
#[derive(Clone, Debug, Default)]
pub struct Replica {
    pub state: State,
    /// Where the next line begins.
    pub place: LogPosition,
    /// The seq of the next event. Zero stands for an empty log; the first event has seq 1.
    pub next_seq: u64,
    /// The lines that were passed over because they are damaged.
    pub damaged_lines: u64,
    /// Whether this version passed over events, or fields of a snapshot, that it does not know; such a replica writes no snapshot.
    pub skipped_events: bool,
}

/// The stored history that the state still needs.
#[derive(Clone, Debug)]
pub(crate) struct StillNeeded {
    /// How long history that nothing needs is kept, in milliseconds.
    pub(crate) kept_ms: i64,
    /// The oldest text that a member may still read.
    pub(crate) oldest_text: Option<LogPosition>,
    /// The tasks that have not ended.
    pub(crate) open_tasks: BTreeSet<TaskId>,
}

impl Replica {
    /// Applies the entry at the replica's position. All its events must be known. The engine moves the position.
    pub(crate) fn apply(&mut self, entry: &Entry) {
        let count = u16::try_from(entry.events.len()).unwrap_or(u16::MAX);
        let indices: Vec<u16> = (0..count).collect();
        self.state.apply(entry, &indices, self.place);
        self.next_seq = entry.next_seq();
    }

    /// Returns the part of the stored history that must stay.
    pub(crate) fn still_needed(&self) -> StillNeeded {
        let open = self.state.tasks.values().filter(|task| !task.status.is_final());
        StillNeeded {
            kept_ms: i64::from(self.state.limits().retention_days) * DAY_MS,
            oldest_text: self.state.oldest_text_alive(),
            open_tasks: open.map(|task| task.id.clone()).collect(),
        }
    }
}
