//! Limits the requests a second: a page in a circle does not take the machine, and whoever is not known does not keep out who is.

use std::sync::Mutex;
use std::time::Instant;

use crate::domain::limits;
use crate::sys::mutex::lock;

/// A burst after a pause is no flood.
const BURST_SECONDS: f64 = 4.0;

/// The most requests a second, for each kind of caller apart: whoever is not known cannot keep out who is.
pub(in crate::web) struct CallerRates {
    signed_in: RequestRate,
    with_key: RequestRate,
    others: RequestRate,
}

impl Default for CallerRates {
    fn default() -> Self {
        let rate = || RequestRate::new(limits::WEB_REQUESTS_PER_SECOND);
        Self { signed_in: rate(), with_key: rate(), others: rate() }
    }
}

impl CallerRates {
    /// Returns the rate of a request's caller. A key counts that was valid before.
    pub(in crate::web) fn of(&self, is_signed_in: bool, has_known_key: bool) -> &RequestRate {
        if is_signed_in {
            &self.signed_in
        } else if has_known_key {
            &self.with_key
        } else {
            &self.others
        }
    }
}

/// How many requests are allowed now.
#[derive(Debug)]
pub(in crate::web) struct RequestRate {
    per_second: f64,
    left: Mutex<(f64, Instant)>,
}

impl RequestRate {
    /// Allows so many a second, after a burst.
    pub(in crate::web) fn new(per_second: u32) -> Self {
        let per_second = f64::from(per_second);
        Self { per_second, left: Mutex::new((per_second * BURST_SECONDS, Instant::now())) }
    }

    /// Takes one request; false if it comes too fast.
    pub(in crate::web) fn takes(&self, now: Instant) -> bool {
        let mut left = lock(&self.left);
        let gained = now.saturating_duration_since(left.1).as_secs_f64() * self.per_second;
        left.0 = (left.0 + gained).min(self.per_second * BURST_SECONDS);
        left.1 = now;
        let is_allowed = left.0 >= 1.0;
        if is_allowed {
            left.0 -= 1.0;
        }
        is_allowed
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_passes_and_a_flood_does_not() {
        let rate = RequestRate::new(2);
        let now = Instant::now();
        assert_eq!((0..20).filter(|_| rate.takes(now)).count(), 8);
        let later = now + Duration::from_secs(1);
        assert_eq!((0..20).filter(|_| rate.takes(later)).count(), 2);
    }
}
