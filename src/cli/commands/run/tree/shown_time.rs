//! Times as they are read on a terminal: only as exact as that can be.

use std::time::Duration;

/// Writes how long something took: tenths only where they say something.
pub(super) fn took(time: Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{:.1}s", time.as_secs_f64()),
        _ => going_on(time),
    }
}

/// Writes how long something has taken so far: nothing in it changes faster than can be read.
pub(super) fn going_on(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m {:02}s", seconds % 60),
        (hours, minutes) => format!("{hours}h {:02}m", minutes % 60),
    }
}
