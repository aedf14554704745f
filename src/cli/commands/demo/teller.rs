//! The lines of the demo while it runs.

use std::time::Instant;

use crate::cli::output;

/// Prints each event with the time since the beginning.
pub(super) struct Teller {
    pub(super) began: Instant,
}

impl Teller {
    pub(super) fn tell(&self, what: &str) {
        output::say(&format!("{:>6.2} s  {what}", self.began.elapsed().as_secs_f64()));
    }
}
