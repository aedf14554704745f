//! The options of a log in files, and their defaults.

use std::sync::Arc;
use std::time::Duration;

use super::{Listening, Origin};
use crate::bus::storage::OrderedBy;
use crate::domain::time::Now;
use crate::domain::wait_times;
use crate::sys::clock;

/// Long enough for several lines of a megabyte, and short enough to search at once.
const SEGMENT_BYTES: u64 = 4 * 1024 * 1024;

/// Opening a bus reads at least about this many events without a snapshot, which takes a millisecond or two.
const SNAPSHOT_EVENTS: u64 = 2_048;

/// Opening a bus reads at most about half as much of the log as of the snapshot. So a slowly growing log does not rewrite a large
/// state again and again.
const SNAPSHOT_PERCENT: u64 = 50;

/// The options of one use of a log.
#[derive(Clone)]
pub struct Options {
    /// The length at which the next segment begins.
    pub segment_bytes: u64,
    /// The append that passes a multiple of this writes a snapshot, ...
    pub snapshot_events: u64,
    /// ... if the log has grown by this percentage of the last one's length.
    pub snapshot_percent: u64,
    /// How long to wait while another process creates the bus.
    pub patience: Duration,
    /// How to listen for wakeups.
    pub listening: Listening,
    /// Where the time comes from.
    pub clock: Arc<dyn Fn() -> Now + Send + Sync>,
    /// Whether the bus may be on a network file system.
    pub networks: Networks,
    /// Who is to keep the order of a bus that is created.
    pub order: NewOrder,
    /// Whether the bus must prove that it was created in its directory.
    pub origin: Origin,
}

/// Whether a bus may be on a network file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Networks {
    Refused,
    /// The user allows it.
    Allowed,
}

/// Who is to keep the order of a new bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewOrder {
    /// Whoever kept that of the bus which this user last made in the same directory, or else the files.
    AsRecorded,
    Files,
    Server(OrderedBy),
    /// The recorded one, if there is one, or else a team on a server, which is made where it is missing.
    Chosen {
        server: String,
        team: String,
    },
}

impl Default for Options {
    fn default() -> Self {
        Self {
            segment_bytes: SEGMENT_BYTES,
            snapshot_events: SNAPSHOT_EVENTS,
            snapshot_percent: SNAPSHOT_PERCENT,
            patience: wait_times::BUS_BUSY,
            listening: Listening::Notified,
            clock: Arc::new(clock::now),
            networks: Networks::Refused,
            order: NewOrder::AsRecorded,
            origin: Origin::Believed,
        }
    }
}
