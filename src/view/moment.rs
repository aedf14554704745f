//! Times as the read model has them: moments, in JSON as text of ISO 8601 in UTC, and spans in words.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use crate::domain::time::iso8601;

/// A wall time, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub i64);

impl Moment {
    /// Returns the milliseconds from this moment to a later one; zero if the clock was set back meanwhile.
    pub fn until(self, later: Self) -> u64 {
        later.0.saturating_sub(self.0).max(0).unsigned_abs()
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&iso8601(self.0))
    }
}

impl JsonSchema for Moment {
    fn schema_name() -> Cow<'static, str> {
        "Moment".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

/// Writes a span of time in milliseconds by the wall clock, which may have been set back meanwhile.
pub fn span(millis: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    match millis.max(0) / 1000 {
        seconds if seconds < 2 * MINUTE => format!("{seconds} s"),
        seconds if seconds < 2 * HOUR => format!("{} min", seconds / MINUTE),
        seconds => format!("{} h", seconds / HOUR),
    }
}

/// Writes how long there is until a moment, to the nearest minute or hour: four minutes and 59 seconds are not four minutes.
pub fn span_left(until: Moment, now: Moment) -> String {
    let ms = now.until(until);
    span(i64::try_from(ms.saturating_add(half_unit(ms))).unwrap_or(i64::MAX))
}

/// Returns for how many milliseconds the time until a moment stays as it is written.
pub fn span_left_lasts(until: Moment, now: Moment) -> u64 {
    let ms = now.until(until);
    let (half, unit) = (half_unit(ms), unit_of(ms));
    // What has come down to another unit is written anew, too.
    let in_unit = (ms + half) % unit + 1;
    let least = match unit {
        SECOND_MS => 0,
        MINUTE_MS => MINUTES_FROM_MS,
        _ => HOURS_FROM_MS,
    };
    in_unit.min(ms.saturating_sub(least) + 1)
}

/// Half of the unit in which a time that is left is written; none of a second, which nobody misses.
fn half_unit(ms: u64) -> u64 {
    if unit_of(ms) == SECOND_MS { 0 } else { unit_of(ms) / 2 }
}

/// Returns for how many milliseconds the span from a moment stays as it is written.
pub fn span_lasts(since: Moment, now: Moment) -> u64 {
    let ms = since.until(now);
    let unit = unit_of(ms);
    unit - ms % unit
}

const SECOND_MS: u64 = 1_000;
const MINUTE_MS: u64 = 60 * SECOND_MS;

/// A span is written in minutes, and in hours, from so many milliseconds on.
const MINUTES_FROM_MS: u64 = 2 * MINUTE_MS;
const HOURS_FROM_MS: u64 = 120 * MINUTE_MS;

/// Returns the unit in which a span is written.
fn unit_of(ms: u64) -> u64 {
    match ms {
        0..MINUTES_FROM_MS => SECOND_MS,
        MINUTES_FROM_MS..HOURS_FROM_MS => MINUTE_MS,
        _ => 60 * MINUTE_MS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_short_and_never_negative() {
        let spans = [-5, 119_999, 120_000, 7_199_999, 7_200_000].map(span);
        assert_eq!(spans, ["0 s", "119 s", "2 min", "119 min", "2 h"]);
        assert_eq!(Moment(5).until(Moment(3)), 0);
        assert_eq!(Moment(3).until(Moment(5)), 2);
    }

    #[test]
    fn a_span_lasts_until_it_is_written_differently() {
        for ms in [0, 1_500, 119_999, 120_000, 7_199_000, 7_200_000, 9_000_000] {
            let lasts = i64::try_from(span_lasts(Moment(0), Moment(ms))).unwrap();
            assert_eq!(span(ms), span(ms + lasts - 1), "{ms}");
            assert_ne!(span(ms), span(ms + lasts), "{ms}");
        }
    }

    #[test]
    fn a_time_that_is_left_is_written_to_the_nearest_minute_and_lasts_until_it_is_written_differently()
     {
        let left = |ms| span_left(Moment(ms), Moment(0));
        assert_eq!(
            [299_000, 240_000, 209_999, 119_000, 0, 7_199_000, 9_100_000].map(left),
            ["5 min", "4 min", "3 min", "119 s", "0 s", "2 h", "3 h"]
        );
        for ms in [1_500, 119_999, 120_000, 149_999, 150_000, 299_000, 9_100_000] {
            let lasts = i64::try_from(span_left_lasts(Moment(ms), Moment(0))).unwrap();
            assert_eq!(left(ms), left(ms - lasts + 1), "{ms}");
            assert_ne!(left(ms), left(ms - lasts), "{ms}");
        }
    }

    #[test]
    fn a_moment_is_text_in_json() {
        let json = serde_json::to_value(Moment(1_770_000_000_123)).unwrap();
        assert_eq!(json, "2026-02-02T02:40:00.123Z");
    }
}
