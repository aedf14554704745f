//! The clock of a team: the server's time at its last answer, plus what has run on this machine since.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::domain::time::Tick;
use crate::sys::clock;

/// Stands for a server that has not answered yet.
const UNKNOWN: i64 = i64::MIN;

/// The difference between the server's time and this machine's own, shared by the connections of a process.
#[derive(Clone, Debug)]
pub(super) struct TeamClock {
    ahead_ms: Arc<AtomicI64>,
}

impl Default for TeamClock {
    fn default() -> Self {
        Self { ahead_ms: Arc::new(AtomicI64::new(UNKNOWN)) }
    }
}

impl TeamClock {
    /// Notes the server's time, in milliseconds since 1970, as of now.
    pub(super) fn note(&self, server_ms: i64) -> Tick {
        let ahead_ms = server_ms.saturating_sub(own_ms());
        self.ahead_ms.store(ahead_ms, Ordering::Release);
        tick(server_ms)
    }

    /// Returns the time; none before the server's first answer.
    pub(super) fn tick(&self) -> Option<Tick> {
        let ahead_ms = Some(self.ahead_ms.load(Ordering::Acquire)).filter(|ms| *ms != UNKNOWN)?;
        Some(tick(own_ms().saturating_add(ahead_ms)))
    }
}

/// Returns the machine's own time, which no setting of its clock moves.
fn own_ms() -> i64 {
    i64::try_from(clock::now().tick.ms).unwrap_or(i64::MAX)
}

/// The boot is the mirror's to say: it stands for the team.
fn tick(ms: i64) -> Tick {
    Tick { boot: 0, ms: u64::try_from(ms).unwrap_or_default() }
}
