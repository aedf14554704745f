//! The time that has passed according to the log, for deadlines of days.
//!
//! The machine's own time stands still while it sleeps and starts again with each boot, so it cannot count thirty days on a laptop.
//! The wall clock can, but it may be set wrong. So the watch shows the latest wall time of any entry, and accepts a wall clock that
//! is ahead of the machine's own time by only one day at once.

use serde::{Deserialize, Serialize};

use crate::domain::time::{Now, Tick};

/// How far the wall clock may be ahead of the machine's own time: a night's sleep, a day without the machine. The watch accepts
/// a greater difference bit by bit, one day in each hour that the machine runs.
const LEAP_MS: u64 = 24 * 60 * 60 * 1000;

/// How many milliseconds more are accepted with each millisecond of the machine's own time.
const LEAP_RATE: u64 = 24;

/// How much older an entry may be than the one before it in the same boot: its process read the clock before it got the lock.
/// A greater difference means another boot, on systems where boots cannot be distinguished.
const OUT_OF_ORDER_MS: u64 = 60 * 1000;

/// The time of the last entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watch {
    /// The latest accepted wall time, in milliseconds since 1970; zero before the first entry.
    wall_ms: i64,
    /// The machine's own time; none in a state that an older version wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tick: Option<Tick>,
    /// How far the wall clock may be ahead at the next entry.
    leap_ms: u64,
}

impl Watch {
    /// Starts at a wall time that is known from elsewhere.
    pub(super) fn begin(wall_ms: i64) -> Self {
        Self { wall_ms, tick: None, leap_ms: LEAP_MS }
    }

    pub(super) fn has_begun(&self) -> bool {
        self.wall_ms > 0
    }

    /// Returns the latest accepted wall time.
    pub(super) fn wall_ms(&self) -> i64 {
        self.wall_ms
    }

    /// Returns the machine's own time of the last entry, if that was written in this boot.
    pub(super) fn ms_of(&self, boot: u32) -> Option<u64> {
        self.tick.filter(|tick| tick.boot == boot).map(|tick| tick.ms)
    }

    /// Returns the last wall time plus the machine's running time since; leaps of the wall clock do not count.
    pub(super) fn run_on_ms(&self, now: Tick) -> i64 {
        let before = self.ms_of(now.boot);
        let ran_ms = before.map_or(0, |before| now.ms.saturating_sub(before));
        self.wall_ms.saturating_add_unsigned(ran_ms)
    }

    /// Returns the watch after an entry that is written now.
    pub(super) fn after(&self, now: Now) -> Self {
        if !self.has_begun() {
            return Self { wall_ms: now.wall_ms.max(1), tick: Some(now.tick), leap_ms: LEAP_MS };
        }
        let is_later = |before: &u64| now.tick.ms.saturating_add(OUT_OF_ORDER_MS) >= *before;
        let before = self.ms_of(now.tick.boot).filter(is_later);
        // A new boot may come after any time.
        let (ran_ms, may_leap_ms) = match before {
            Some(before) => {
                let ran_ms = now.tick.ms.saturating_sub(before);
                let more = self.leap_ms.saturating_add(ran_ms.saturating_mul(LEAP_RATE));
                (ran_ms, more.min(LEAP_MS))
            }
            None => (0, LEAP_MS),
        };
        let steady = self.wall_ms.saturating_add_unsigned(ran_ms);
        let ahead_ms = u64::try_from(now.wall_ms.saturating_sub(steady)).unwrap_or_default();
        let leap_ms = ahead_ms.min(may_leap_ms);
        let ms = before.map_or(now.tick.ms, |before| now.tick.ms.max(before));
        Self {
            wall_ms: steady.saturating_add_unsigned(leap_ms),
            tick: Some(Tick { ms, ..now.tick }),
            leap_ms: may_leap_ms - leap_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_MS: u64 = 60 * 60 * 1000;
    const DAY_MS: i64 = 24 * 60 * 60 * 1000;
    const BEGIN_MS: i64 = 1_770_000_000_000;

    fn at(wall_ms: i64, boot: u32, ms: u64) -> Now {
        Now { wall_ms, tick: Tick { boot, ms } }
    }

    fn begun() -> Watch {
        Watch::default().after(at(BEGIN_MS, 1, 0))
    }

    #[test]
    fn days_are_counted_over_boots_and_sleep() {
        let mut watch = begun();
        for day in 1..=40 {
            // A boot a day on odd days, a sleep on the others.
            let boot = (day + 1) / 2;
            let ms = u64::try_from(day).unwrap() * HOUR_MS;
            watch = watch.after(at(BEGIN_MS + day * DAY_MS, u32::try_from(boot).unwrap(), ms));
        }
        assert_eq!(watch.wall_ms(), BEGIN_MS + 40 * DAY_MS);
    }

    #[test]
    fn a_clock_that_is_wrong_for_a_while_moves_it_by_a_day_at_the_most() {
        let mut watch = begun();
        for second in 1..600 {
            watch = watch.after(at(BEGIN_MS + 400 * DAY_MS, 1, second * 1000));
        }
        assert!(watch.wall_ms() <= BEGIN_MS + 2 * DAY_MS);
        let before = watch.wall_ms();
        let watch = watch.after(at(BEGIN_MS, 1, HOUR_MS));
        assert!(watch.wall_ms() > before, "it never stands still nor goes back");
    }

    #[test]
    fn a_boot_with_the_number_of_another_one_is_recognized_by_its_time() {
        let mut watch = begun();
        for day in 1..=40 {
            for hour in [0, 3] {
                let wall_ms = BEGIN_MS + day * DAY_MS + i64::try_from(hour * HOUR_MS).unwrap();
                watch = watch.after(at(wall_ms, 1, 5 + hour * HOUR_MS));
            }
        }
        assert!(watch.wall_ms() >= BEGIN_MS + 40 * DAY_MS);
    }

    #[test]
    fn after_a_long_absence_it_catches_up_while_the_machine_runs() {
        let mut watch = begun();
        for hour in 1..=60 {
            watch = watch.after(at(BEGIN_MS + 50 * DAY_MS, 2, hour * HOUR_MS));
        }
        assert!(watch.wall_ms() >= BEGIN_MS + 50 * DAY_MS);
    }
}
