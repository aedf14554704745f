//! The options of a log in files, and their defaults.

use std::sync::Arc;
use std::time::Duration;

use super::{Listening, Origin};
use crate::domain::time::Now;
use crate::domain::wait_times;
use crate::sys::clock;

/// A segment is as long as a megabyte-long line leaves room for several, and short enough to be gone through at once.
const SEGMENT_BYTES: u64 = 4 * 1024 * 1024;

/// Opening a bus reads at least about this many events without a snapshot, which takes a millisecond or two.
const SNAPSHOT_EVENTS: u64 = 2_048;

/// Opening a bus reads at most about half as much of the log as of the snapshot before it. So a large state is not written again
/// and again for a log that grows by little.
const SNAPSHOT_PERCENT: u64 = 50;

/// The options of one use of a log.
#[derive(Clone)]
pub struct Options {
    /// The length at which a segment is followed by the next.
    pub segment_bytes: u64,
    /// The append past a multiple of this writes a snapshot, ...
    pub snapshot_events: u64,
    /// ... when the log has grown by so many percent of the last one's length.
    pub snapshot_percent: u64,
    /// How long the making of a bus by another process is waited for.
    pub patience: Duration,
    /// How bells are listened to.
    pub listening: Listening,
    /// Where the time comes from.
    pub clock: Arc<dyn Fn() -> Now + Send + Sync>,
    /// Whether the bus may be on a network file system.
    pub networks: Networks,
    /// Whether the bus has to prove that it was made where it is.
    pub origin: Origin,
}

/// Whether a bus may be on a network file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Networks {
    /// It is refused there.
    Refused,
    /// The user has decided that it may be there.
    Allowed,
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
            origin: Origin::Believed,
        }
    }
}
