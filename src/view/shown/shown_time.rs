//! How long something took, in words: only as exact as a reader can follow.

use std::time::Duration;

/// Formats how long something took, with tenths only below ten seconds.
pub fn took(time: Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{:.1}s", time.as_secs_f64()),
        _ => going_on(time),
    }
}

/// Formats how long something has taken so far. No part changes faster than it can be read.
pub fn going_on(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m {:02}s", seconds % 60),
        (hours, minutes) => format!("{hours}h {:02}m", minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_as_exact_as_they_can_be_read() {
        let of = |seconds: f64| took(Duration::from_secs_f64(seconds));
        assert_eq!(of(0.04), "0.0s");
        assert_eq!(of(9.94), "9.9s");
        assert_eq!(of(59.9), "59s");
        assert_eq!(of(61.0), "1m 01s");
        assert_eq!(of(7_380.0), "2h 03m");
    }
}
