//! Which class of error a failure belongs to, and when to try again, read from what agents and model servers say: pure.
//!
//! Agents do not agree how they tell an error: by the protocol's code, by a status of HTTP as the code, by a word in the error's
//! data, or in words alone. The words are a table; what fits no row has no class. The rows are in the order in which they count.

/// A login is missing or is not valid.
pub const AUTH: &str = "auth";
/// A quota is used up, or the model server is asked too often.
pub const QUOTA: &str = "quota";
/// The model is not known, or cannot be used.
pub const MODEL: &str = "model";
/// The mode is not known, or cannot be used.
pub const MODE: &str = "mode";
/// The model does not go on, or the agent ended its turn because something was not allowed.
pub const REFUSED: &str = "refused";
/// A limit of tokens or of requests in one turn is reached.
pub const LIMIT: &str = "limit";
/// The model server cannot be reached, or fails.
pub const UNAVAILABLE: &str = "unavailable";
/// The agent does not answer.
pub const SILENT: &str = "silent";
/// The agent does not end an earlier turn, so the task has not begun.
pub const STUCK: &str = "stuck";
/// The bus could not read or keep what belongs to a task.
pub const BUS: &str = "bus";
/// The agent did not get ready.
pub const START: &str = "start";
/// Any other error that the agent tells.
pub const AGENT: &str = "agent";

/// The code that the protocol has for "authentication required".
const AUTH_REQUIRED: i32 = -32000;

/// What stands in an error, in lower case, and the class that it tells.
const PHRASES: [(&str, &[&str]); 5] = [
    (
        QUOTA,
        &[
            "rate limit",
            "rate_limit",
            "ratelimit",
            "too many requests",
            "quota",
            "usage limit",
            "usagelimit",
            "resource_exhausted",
            "resource exhausted",
            "credit balance",
            "billing_error",
            "hit your limit",
            "hour limit reached",
            "weekly limit reached",
            "insufficient credits",
            "out of credits",
        ],
    ),
    (
        LIMIT,
        &[
            "prompt is too long",
            "context length",
            "context_length_exceeded",
            "context window",
            "contextwindowexceeded",
            "maximum context",
            "input token count",
            "max_output_tokens",
        ],
    ),
    (
        MODEL,
        &[
            "model not found",
            "model_not_found",
            "no such model",
            "unknown model",
            "invalid model",
            "unsupported model",
            "model is not supported",
            "model is not available",
            "issue with the selected model",
            "not a valid model",
        ],
    ),
    (
        AUTH,
        &[
            "authentication required",
            "authentication_error",
            "authentication_failed",
            "authentication failed",
            "unauthorized",
            "unauthenticated",
            "oauth token",
            "not logged in",
            "log in to",
            "please run /login",
            "login required",
            "invalid api key",
            "incorrect api key",
            "invalid x-api-key",
            "api key not valid",
            "api key not found",
            "api_key_invalid",
            "no api key",
            "missing api key",
            "missing environment variable",
            "must specify the gemini_api_key",
        ],
    ),
    (
        UNAVAILABLE,
        &[
            "overloaded",
            "internal server error",
            "server_error",
            "bad gateway",
            "service unavailable",
            "gateway timeout",
            "stream disconnected",
            "connection error",
            "connection refused",
            "connection reset",
            "econnrefused",
            "econnreset",
            "enotfound",
            "etimedout",
            "fetch failed",
            "network error",
            "error sending request",
            "transport_lost",
        ],
    ),
];

/// A status of HTTP, and the class that it tells where the words do not.
const STATUSES: [(i32, &str); 8] = [
    (401, AUTH),
    (402, QUOTA),
    (429, QUOTA),
    (500, UNAVAILABLE),
    (502, UNAVAILABLE),
    (503, UNAVAILABLE),
    (504, UNAVAILABLE),
    (529, UNAVAILABLE),
];

/// Returns the class that an error tells, by its code, if it has one, and its words with all of its data.
pub fn class(code: Option<i32>, words: &str) -> Option<&'static str> {
    let words = words.to_lowercase();
    by_words(&words)
        .or_else(|| code.and_then(by_status))
        .or_else(|| (code == Some(AUTH_REQUIRED)).then_some(AUTH))
        .or_else(|| by_status_in(&words))
}

fn by_words(words: &str) -> Option<&'static str> {
    let told =
        |(_, phrases): &&(&str, &[&str])| phrases.iter().any(|phrase| words.contains(phrase));
    let by_phrase = PHRASES.iter().find(told).map(|(class, _)| *class);
    // "The model `x` does not exist or you do not have access to it."
    let names_model = words.contains("model") && words.contains("does not exist");
    by_phrase.or(names_model.then_some(MODEL))
}

fn by_status(status: i32) -> Option<&'static str> {
    let known = STATUSES.iter().find(|(known, _)| *known == status);
    known.map(|(_, class)| *class)
}

/// Finds a status that stands as a word of its own.
fn by_status_in(words: &str) -> Option<&'static str> {
    let words = words.split(|char: char| !char.is_ascii_alphanumeric());
    words.filter_map(|word| word.parse().ok()).find_map(by_status)
}

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

    /// What the five agents were seen to say, or say according to their sources, and what others say to them.
    const SAID: [(Option<i32>, &str, Option<&str>); 34] = [
        // claude
        (Some(-32000), "Authentication required", Some(AUTH)),
        (Some(-32603), r#"Internal error {"errorKind":"authentication_failed"}"#, Some(AUTH)),
        (Some(-32603), r#"Internal error {"errorKind":"rate_limit"}"#, Some(QUOTA)),
        (Some(-32603), r#"Internal error {"errorKind":"billing_error"}"#, Some(QUOTA)),
        (Some(-32603), "API Error: 529 Overloaded", Some(UNAVAILABLE)),
        (Some(-32603), "Claude AI usage limit reached|1790000000", Some(QUOTA)),
        (Some(-32603), "Credit balance is too low", Some(QUOTA)),
        (None, "Invalid API key · Please run /login", Some(AUTH)),
        (
            Some(-32603),
            "There's an issue with the selected model (gpt-9). It may not exist",
            Some(MODEL),
        ),
        (Some(-32603), "Prompt is too long", Some(LIMIT)),
        (Some(-32603), r#"Internal error {"errorKind":"transport_lost"}"#, Some(UNAVAILABLE)),
        // codex
        (None, "Missing environment variable: `OPENAI_API_KEY`.", Some(AUTH)),
        (None, "unexpected status 401 Unauthorized: the key is not valid", Some(AUTH)),
        (None, "exceeded retry limit, last status: 429 Too Many Requests", Some(QUOTA)),
        (None, "You've hit your usage limit. Try again in 3 days 2 hours.", Some(QUOTA)),
        (Some(-32603), r#"Internal error {"codexErrorInfo":"usageLimitExceeded"}"#, Some(QUOTA)),
        (None, "stream disconnected before completion: error sending request", Some(UNAVAILABLE)),
        (None, "unexpected status 503 Service Unavailable", Some(UNAVAILABLE)),
        // gemini: the status of HTTP as the code
        (Some(401), "no key", Some(AUTH)),
        (Some(429), "[object Object]", Some(QUOTA)),
        (Some(400), "API key not valid. Please pass a valid API key.", Some(AUTH)),
        (Some(400), "the request is malformed", None),
        (Some(404), "models/gemini-9 is not found: unknown model", Some(MODEL)),
        (Some(429), r#"{"status":"RESOURCE_EXHAUSTED"}"#, Some(QUOTA)),
        (Some(500), "it failed", Some(UNAVAILABLE)),
        // qwen: in the details alone
        (Some(-32603), "Internal error: 401 invalid key", Some(AUTH)),
        (Some(-32603), "Internal error: 429 slow down", Some(QUOTA)),
        (Some(-32603), "Internal error", None),
        // droid
        (
            Some(-32000),
            r#"Authentication required: Click the "Login" button … or set a FACTORY_API_KEY"#,
            Some(AUTH),
        ),
        (Some(-32603), "429 status code (no body)", Some(QUOTA)),
        // model servers
        (None, "The model `gpt-9` does not exist or you do not have access to it.", Some(MODEL)),
        (None, "there is no such model", Some(MODEL)),
        // nobody
        (Some(400), "4010 bytes are too many", None),
        (Some(-32603), "the tool failed", None),
    ];

    #[test]
    fn what_agents_say_has_its_class() {
        for (code, words, expected) in SAID {
            assert_eq!(class(code, words), expected, "{code:?} {words}");
        }
    }

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
