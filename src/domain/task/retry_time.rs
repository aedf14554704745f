//! When to try again, read from the words of an error: "try again in 5 minutes", `resets_at`. Pure.

/// Words before a time, in lower case, and how the time is told behind them.
const TIMES: [(&str, Told); 13] = [
    ("resets_at", Told::At),
    ("resetsat", Told::At),
    ("limit reached|", Told::At),
    ("resets_in_seconds", Told::In),
    ("resetsinseconds", Told::In),
    ("retry-after", Told::In),
    ("retry_after", Told::In),
    ("retry after", Told::In),
    ("retrydelay", Told::In),
    ("try again in", Told::In),
    ("retry in", Told::In),
    ("resets in", Told::In),
    ("reset after", Told::In),
];

/// How a time is told.
#[derive(Clone, Copy)]
enum Told {
    /// In seconds since 1970.
    At,
    /// From now on: `17s`, `6m0s`, `2 hours 5 minutes`; seconds where there is no unit.
    In,
}

/// The units of a time from now on, by how they begin, in milliseconds. `mi` and `ms` stand before `m`.
const UNITS: [(&str, f64); 6] = [
    ("ms", 1.0),
    ("mil", 1.0),
    ("d", 24.0 * 3_600_000.0),
    ("h", 3_600_000.0),
    ("m", 60_000.0),
    ("s", 1_000.0),
];

/// The longest time that is believed: quotas of a month are the longest there are.
const LONGEST_MS: f64 = 40.0 * 24.0 * 3_600_000.0;

/// Returns when to try again, in wall time, as the words of an error tell it.
pub fn retry_ms(words: &str, now_ms: i64) -> Option<i64> {
    let words = words.to_lowercase();
    TIMES.iter().find_map(|(marker, told)| {
        let at = words.find(marker)? + marker.len();
        let rest = words[at..].trim_start_matches(['"', '\'', ':', '=', ' ', '(', '~']);
        match told {
            Told::At => at_ms(number(rest)?.0, now_ms),
            Told::In => in_ms(rest).map(|millis| now_ms.saturating_add(millis)),
        }
    })
}

/// Returns a time that was told in seconds since 1970, unless it is long past or far away.
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
            // A number that belongs to something else.
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

/// Reads the number that a text begins with, and returns what stands behind it.
fn number(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(text.len());
    // A full stop behind a number is none of its own.
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
    fn the_time_to_try_again_is_read_in_every_way_in_which_it_is_told() {
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
