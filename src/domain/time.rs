//! Time as an input: the tick for deadlines, and the wall time for people.

use serde::{Deserialize, Serialize};

/// A moment of the machine's own clock: the boot, and milliseconds of `CLOCK_MONOTONIC` since then.
///
/// It is the same in all processes of a machine, stands still while the machine sleeps, and does not jump when the clock is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "(u32, u64)", from = "(u32, u64)")]
pub struct Tick {
    /// A number derived from the boot id: another boot, another number.
    pub boot: u32,
    /// Milliseconds since an arbitrary point of that boot.
    pub ms: u64,
}

impl From<(u32, u64)> for Tick {
    fn from((boot, ms): (u32, u64)) -> Self {
        Self { boot, ms }
    }
}

impl From<Tick> for (u32, u64) {
    fn from(tick: Tick) -> Self {
        (tick.boot, tick.ms)
    }
}

/// The time at which a command is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Milliseconds since 1970 in UTC: shown, never used for decisions.
    pub wall_ms: i64,
    /// The time for deadlines.
    pub tick: Tick,
}

/// Writes a wall time as ISO 8601 in UTC with milliseconds.
pub fn iso8601(wall_ms: i64) -> String {
    let time = chrono::DateTime::from_timestamp_millis(wall_ms).unwrap_or_default();
    time.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

/// Reads a time as milliseconds since 1970: a day, or a day and a time of ISO 8601. Without a zone it is UTC.
pub fn parse_time(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Ok(time) = chrono::DateTime::parse_from_rfc3339(text) {
        return Some(time.timestamp_millis());
    }
    let day = || {
        let day = chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
        Some(day.and_time(chrono::NaiveTime::MIN))
    };
    let forms = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%MZ", "%Y-%m-%dT%H:%M"];
    let mut times = forms.iter().map(|form| chrono::NaiveDateTime::parse_from_str(text, form).ok());
    let time = times.find_map(|time| time).or_else(day)?;
    Some(time.and_utc().timestamp_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_in_every_usual_form() {
        let time = 1_770_000_000_000;
        for text in [
            "2026-02-02T02:40:00.000Z",
            "2026-02-02T02:40:00Z",
            "2026-02-02T03:40:00+01:00",
            "2026-02-02T02:40:00",
            "2026-02-02T02:40Z",
            " 2026-02-02T02:40 ",
        ] {
            assert_eq!(parse_time(text), Some(time), "{text}");
        }
        assert_eq!(parse_time("2026-02-02"), Some(time - 9_600_000));
        for text in ["", "yesterday", "2026-02-30", "2026-02-02T25:00:00Z", "1770000000"] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }

    #[test]
    fn wall_time_reads_as_iso_8601() {
        assert_eq!(iso8601(1_770_000_000_123), "2026-02-02T02:40:00.123Z");
        assert_eq!(iso8601(i64::MAX), "1970-01-01T00:00:00.000Z");
    }
}
