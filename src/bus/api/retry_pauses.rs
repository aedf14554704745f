//! When to try again what the bus could not take: ever more seldom, for as long as a delivery would last.

use std::time::Duration;

use tokio::time::Instant;

use crate::domain::wait_times;
use crate::sys::backoff::Backoff;

/// The pauses before further tries.
const PAUSES: Backoff = Backoff::new(wait_times::RETRY, wait_times::LONGEST_RETRY);

/// The further tries of one thing.
pub(crate) struct Again {
    until: Instant,
    pauses: Backoff,
}

impl Again {
    /// Begins with the first further try.
    pub(crate) fn begin() -> Self {
        Self {
            until: Instant::now() + Duration::from_millis(wait_times::HANDED_MS),
            pauses: PAUSES,
        }
    }

    /// Waits for the next try; there is none when its time is over.
    pub(crate) async fn comes(&mut self) -> bool {
        if Instant::now() >= self.until {
            return false;
        }
        tokio::time::sleep(self.pauses.next_pause()).await;
        true
    }
}
