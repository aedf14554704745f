//! When to try again, read from the words of an error: "try again in 5 minutes", `resets_at`. Pure.

/// Words that introduce a time, in lower case, and the format of the time that follows.
const TIMES: [(&str, TimeFormat); 13] = [
    ("resets_at", TimeFormat::Timestamp),
    ("resetsat", TimeFormat::Timestamp),
    ("limit reached|", TimeFormat::Timestamp),
    ("resets_in_seconds", TimeFormat::FromNow),
    ("resetsinseconds", TimeFormat::FromNow),
    ("retry-after", TimeFormat::FromNow),
    ("retry_after", TimeFormat::FromNow),
    ("retry after", TimeFormat::FromNow),
    ("retrydelay", TimeFormat::FromNow),
    ("try again in", TimeFormat::FromNow),
    ("retry in", TimeFormat::FromNow),
    ("resets in", TimeFormat::FromNow),
    ("reset after", TimeFormat::FromNow),
];

/// The format of a time.
#[derive(Clone, Copy)]
enum TimeFormat {
    /// In seconds since 1970.
    Timestamp,
    /// From now on: `17s`, `6m0s`, `2 hours 5 minutes`; seconds where the unit is missing.
    FromNow,
}

/// The units of a duration, by how they begin, in milliseconds. `mi` and `ms` stand before `m`.
const UNITS: [(&str, f64); 6] = [
    ("ms", 1.0),
    ("mil", 1.0),
    ("d", 24.0 * 3_600_000.0),
    ("h", 3_600_000.0),
    ("m", 60_000.0),
    ("s", 1_000.0),
];

/// The longest accepted time: the longest quotas are those of a month.
const LONGEST_MS: f64 = 40.0 * 24.0 * 3_600_000.0;

/// Returns when to try again, in wall time, according to the words of an error.
pub fn retry_ms(words: &str, now_ms: i64) -> Option<i64> {
    let words = words.to_lowercase();
    TIMES.iter().find_map(|(marker, format)| {
        let at = words.find(marker)? + marker.len();
        let rest = words[at..].trim_start_matches(['"', '\'', ':', '=', ' ', '(', '~']);
        match format {
            TimeFormat::Timestamp => at_ms(number(rest)?.0, now_ms),
            TimeFormat::FromNow => in_ms(rest).map(|millis| now_ms.saturating_add(millis)),
        }
    })
}

/// Returns a time given in seconds since 1970, unless it is long past or far away.
pub fn at_ms(seconds: f64, now_ms: i64) -> Option<i64> {
    #[expect(clippy::cast_precision_loss, reason = "a difference of days is looked for")]
    let from_now = seconds * 1000.0 - now_ms as f64;
    (from_now.abs() <= LONGEST_MS).then(|| now_ms.saturating_add(whole(from_now)))
}

fn in_ms(mut rest: &str) -> Option<i64> {
    let mut sum: Option<f64> = None;
    while let Some((amount, behind)) = number(rest) {
        let unit: &str = behind.trim_start();
        let end = unit.find(|char: char| !char.is_ascii_alphabetic()).unwrap_or(unit.len());
        let (unit, behind) = unit.split_at(end);
        let known = UNITS.iter().find(|(begin, _)| unit.starts_with(begin));
        let millis = match (known, sum) {
            (Some((_, millis)), _) => *millis,
            (None, None) => 1_000.0,
            // The number belongs to something else.
            (None, Some(_)) => break,
        };
        sum = Some(sum.unwrap_or(0.0) + amount * millis);
        if known.is_none() {
            break;
        }
        rest = behind.trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    sum.filter(|millis| *millis <= LONGEST_MS).map(whole)
}

/// Reads the number at the beginning of a text, and returns the rest as well.
fn number(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(text.len());
    // A full stop at the end is not part of the number.
    let digits = text[..end].trim_end_matches('.');
    Some((digits.parse().ok()?, &text[digits.len()..]))
}

fn whole(millis: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "it is below forty days, as was checked")]
    let whole = millis.round() as i64;
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_retry_time_is_read_in_all_known_formats() {
        const NOW: i64 = 1_790_000_000_000;
        let check = |words: &str, seconds: Option<i64>| {
            let after = retry_ms(words, NOW).map(|at| (at - NOW) / 1000);
            assert_eq!(after, seconds, "{words}");
        };
        check("Claude AI usage limit reached|1790000600", Some(600));
        check(r#"{"codexErrorInfo":{"resets_at":1790003600}}"#, Some(3600));
        check(r#"{"resets_in_seconds": 90}"#, Some(90));
        check("Try again in 3 days 2 hours 5 minutes.", Some(266_700));
        check("Please try again in 6m0s.", Some(360));
        check("Please try again in 20s. Visit the site.", Some(20));
        check("Please retry in 17.5s", Some(17));
        check(r#"{"retryDelay":"17s"}"#, Some(17));
        check("Your quota will reset after 13h18m14s.", Some(47_894));
        check("try again in 1 hour and 30 minutes", Some(5400));
        check("try again in 250ms", Some(0));
        check("retry-after: 30", Some(30));
        check("retry after 2 minutes, 4 tries were made", Some(120));
        check("try again in a while", None);
        check("try again in 4000 days", None);
        check(r#"{"resets_at": 12}"#, None);
        check("it failed", None);
    }
}
