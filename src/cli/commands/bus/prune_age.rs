//! Ages as people write them: `30d`, `12h`. Pure.

use std::time::Duration;

const HOUR: u64 = 60 * 60;
const DAY: u64 = 24 * HOUR;

/// The greatest age: longer than any bus exists, and far from any overflow.
const MOST_DAYS: u64 = 36_500;

/// Parses an age of whole days or hours. The least is an hour: commands at work are shorter.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let how = || "write days or hours, such as 30d or 12h, at least 1h".to_owned();
    let unit = match text.chars().next_back() {
        Some('d') => DAY,
        Some('h') => HOUR,
        _ => return Err(how()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| how())?;
    let seconds = number.checked_mul(unit).filter(|seconds| *seconds <= MOST_DAYS * DAY);
    seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs).ok_or_else(how)
}

/// Writes an age.
pub(super) fn in_words(age_ms: i64) -> String {
    let hours = age_ms.max(0).unsigned_abs() / 1000 / HOUR;
    if hours.is_multiple_of(24) {
        crate::domain::text::counted::counted(hours / 24, "day")
    } else {
        crate::domain::text::counted::counted(hours, "hour")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_a_number_of_days_or_hours() {
        assert_eq!(parse("30d").unwrap().as_secs(), 30 * DAY);
        assert_eq!(parse("1h").unwrap().as_secs(), HOUR);
        for wrong in
            ["", "d", "30", "0d", "-1d", "1w", "36501d", "99999999999999999999d", "é", "1é"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(in_words(86_400_000), "1 day");
        assert_eq!(in_words(7_200_000), "2 hours");
    }
}
