//! What walks of one bus have found out, for later ones.

use super::waypoints::Waypoints;
use crate::bus::event::LogPosition;
use crate::view::{SpentBy, UsageFold};

/// How many entries a step reads: whoever else asks the bus waits no longer than this takes.
const ENTRIES: usize = 256;

/// How many entries are read after messages of which nobody knows any more whom they reached, for receipts of theirs.
pub(super) const VAGUE_ENTRIES: usize = 16 * ENTRIES;

/// What walks of one bus have found out.
pub(in crate::web::bus_reader) struct Kept {
    /// How many entries a step reads.
    pub(super) entries: usize,
    pub(super) waypoints: Waypoints,
    pub(super) usage: UsageSoFar,
}

impl Default for Kept {
    fn default() -> Self {
        Self { entries: ENTRIES, waypoints: Waypoints::default(), usage: UsageSoFar::default() }
    }
}

/// The sums so far, by each.
#[derive(Default)]
pub(super) struct UsageSoFar(pub(super) Vec<(SpentBy, Sums)>);

/// The sums by one of these.
pub(super) struct Sums {
    /// The oldest part of the log when they began. Once that is gone they begin again.
    pub(super) oldest: LogPosition,
    pub(super) position: LogPosition,
    pub(super) fold: UsageFold,
}
