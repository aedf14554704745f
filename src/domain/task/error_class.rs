//! The class of an error, read from the words of agents and model servers. Pure.
//!
//! Agents do not agree on how to report an error: by the protocol's code, by an HTTP status as the code, by a word in the error's data,
//! or in words alone. The words are a table; an error that fits no row has no class. The order of the rows is their precedence.

/// A login is missing or is not valid.
pub const AUTH: &str = "auth";
/// A quota is used up, or the model server gets too many requests.
pub const QUOTA: &str = "quota";
/// The model is not known, or cannot be used.
pub const MODEL: &str = "model";
/// The mode is not known, or cannot be used.
pub const MODE: &str = "mode";
/// The model refuses to continue, or the agent ended its turn because an action was not allowed.
pub const REFUSED: &str = "refused";
/// A limit of tokens or of requests in one turn is reached.
pub const LIMIT: &str = "limit";
/// The model server cannot be reached, or fails.
pub const UNAVAILABLE: &str = "unavailable";
/// The agent does not answer.
pub const SILENT: &str = "silent";
/// The agent does not end an earlier turn, so the task has not begun.
pub const STUCK: &str = "stuck";
/// The bus could not read or store the data of a task.
pub const BUS: &str = "bus";
/// The agent did not get ready.
pub const START: &str = "start";
/// Any other error that the agent reports.
pub const AGENT: &str = "agent";

/// The protocol's code for "authentication required".
const AUTH_REQUIRED: i32 = -32000;

/// Phrases of errors, in lower case, and the class that they indicate.
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

/// HTTP statuses, and the class that each indicates where the words do not.
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

/// Returns the class of an error, from its code, if it has one, and its words with all of its data.
pub fn class(code: Option<i32>, words: &str) -> Option<&'static str> {
    let words = words.to_lowercase();
    by_words(&words)
        .or_else(|| code.and_then(by_status))
        .or_else(|| (code == Some(AUTH_REQUIRED)).then_some(AUTH))
        .or_else(|| by_status_in(&words))
}

fn by_words(words: &str) -> Option<&'static str> {
    let matches =
        |(_, phrases): &&(&str, &[&str])| phrases.iter().any(|phrase| words.contains(phrase));
    let by_phrase = PHRASES.iter().find(matches).map(|(class, _)| *class);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors seen from the five agents, or found in their sources, and errors of model servers.
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
        // gemini: an HTTP status as the code
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
        // no class
        (Some(400), "4010 bytes are too many", None),
        (Some(-32603), "the tool failed", None),
    ];

    #[test]
    fn errors_of_agents_have_their_classes() {
        for (code, words, expected) in SAID {
            assert_eq!(class(code, words), expected, "{code:?} {words}");
        }
    }
}
