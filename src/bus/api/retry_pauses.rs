//! When to repeat an operation that the bus failed: ever more rarely, for as long as a delivery may stay in flight.

use std::time::Duration;

use tokio::time::Instant;

use crate::domain::wait_times;
use crate::sys::backoff::Backoff;

/// The pauses before the retries.
const PAUSES: Backoff = Backoff::new(wait_times::RETRY, wait_times::LONGEST_RETRY);

/// The retries of one operation.
pub(crate) struct Retries {
    until: Instant,
    pauses: Backoff,
}

impl Retries {
    /// Begins before the first retry.
    pub(crate) fn begin() -> Self {
        Self {
            until: Instant::now() + Duration::from_millis(wait_times::HANDED_MS),
            pauses: PAUSES,
        }
    }

    /// Waits for the next retry. Returns false when the time is over.
    pub(crate) async fn next(&mut self) -> bool {
        if Instant::now() >= self.until {
            return false;
        }
        tokio::time::sleep(self.pauses.next_pause()).await;
        true
    }
}
