//! Pauses between attempts: each is twice as long as the one before, up to a longest one. A schedule does not sleep itself, so that a
//! task, a thread and a process without a runtime can use the same one.

use std::time::Duration;

/// More doublings than any schedule needs to reach its longest pause.
const MOST_DOUBLINGS: u32 = 16;

/// A schedule of pauses, and how many of them have passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    passed: u32,
}

impl Backoff {
    /// Makes a schedule that begins with the first pause.
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, passed: 0 }
    }

    /// Returns the next pause.
    pub fn next_pause(&mut self) -> Duration {
        self.passed = self.passed.saturating_add(1);
        self.pause_after(self.passed)
    }

    /// Begins again with the first pause.
    pub fn reset(&mut self) {
        self.passed = 0;
    }

    /// Returns the pause after a number of attempts, for a caller that counts them itself.
    pub fn pause_after(&self, attempts: u32) -> Duration {
        let doublings = attempts.saturating_sub(1).min(MOST_DOUBLINGS);
        self.first.saturating_mul(1 << doublings).min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_begin_again_after_a_reset() {
        let ms = Duration::from_millis;
        let mut backoff = Backoff::new(ms(1), ms(50));
        let pauses: Vec<_> = (0..8).map(|_| backoff.next_pause()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 50, 50].map(ms));
        backoff.reset();
        assert_eq!(backoff.next_pause(), ms(1));
        assert_eq!(backoff.pause_after(0), ms(1));
        assert_eq!(backoff.pause_after(u32::MAX), ms(50));
    }
}
