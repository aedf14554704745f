//! The lines of the demo while it runs.

use std::path::Path;
use std::time::{Duration, Instant};

use super::talk;
use crate::cli::{Failure, output};
use crate::sys::clock;

/// Prints each event with the time since the beginning.
pub(super) struct Teller {
    began: Instant,
    /// The same moment as wall time, in milliseconds since 1970.
    began_ms: i64,
}

impl Teller {
    pub(super) fn starting_now() -> Self {
        Self { began: Instant::now(), began_ms: clock::now().wall_ms }
    }

    pub(super) fn tell(&self, what: &str) {
        say(self.began.elapsed(), what);
    }

    /// Prints the talk so far on the bus in a directory, with the times at which it was written.
    pub(super) fn tell_talk(&self, bus_directory: &Path) -> Result<(), Failure> {
        for line in talk::so_far(bus_directory)? {
            let ms = u64::try_from(line.at_ms.saturating_sub(self.began_ms)).unwrap_or_default();
            say(Duration::from_millis(ms), &line.text);
        }
        Ok(())
    }
}

fn say(at: Duration, what: &str) {
    output::say(&format!("{:>6.2} s  {what}", at.as_secs_f64()));
}
