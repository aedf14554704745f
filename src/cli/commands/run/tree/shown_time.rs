//! Formats times for a terminal: only as exact as a reader can follow.

use std::time::Duration;

/// Formats how long something took, with tenths only below ten seconds.
pub(super) fn took(time: Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{:.1}s", time.as_secs_f64()),
        _ => going_on(time),
    }
}

/// Formats how long something has taken so far. No part changes faster than it can be read.
pub(super) fn going_on(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m {:02}s", seconds % 60),
        (hours, minutes) => format!("{hours}h {:02}m", minutes % 60),
    }
}
