//! When something is tried again that the bus could not take: beside all else, ever more seldom, for as long as a hand-over would last.

use std::time::Duration;

use tokio::time::Instant;

use crate::domain::timeouts;

/// The pause before the first further try. Each one behind it is twice as long, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The further tries of one thing.
pub(crate) struct Again {
    until: Instant,
    pause: Duration,
}

impl Again {
    /// Begins with the first further try.
    pub(crate) fn begin() -> Self {
        Self {
            until: Instant::now() + Duration::from_millis(timeouts::HANDED_MS),
            pause: FIRST_PAUSE,
        }
    }

    /// Waits for the next try; there is none when its time is over.
    pub(crate) async fn comes(&mut self) -> bool {
        if Instant::now() >= self.until {
            return false;
        }
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        true
    }
}
