//! Judges the client's limit for one call.

use serde_json::Value;

use crate::doctor::finding::{Finding, Subject};
use crate::domain::limits::CLIENT_WORD_CHARS;
use crate::domain::text::visible_letters::beginning;
use crate::setup::written_entry::Written;

/// The keys under which a client's entry may have its limit for one call.
const LIMITS: [&str; 2] = ["timeout", "tool_timeout_sec"];

/// The clients that also take a text that is a number.
const TAKE_TEXTS: [&str; 2] = ["gemini", "qwen"];

/// The clients whose own limit is longer than the one that setup writes for others, so that a limit in the entry lowers it.
const LOWERED: [&str; 2] = ["gemini", "qwen"];

/// The clients whose own limit is longer than the longest wait of a tool: without one in the entry, none was cut off.
const WAIT_LONG: [&str; 4] = ["claude-code", "codex", "gemini", "qwen"];

/// Judges the client's limit for one call, if setup would set one.
pub(super) fn judge_limit(
    (client, subject): (&str, &Subject),
    place: &str,
    written: &Written,
    entry: &Value,
) -> Option<Finding> {
    let key = LIMITS.into_iter().find(|key| {
        written.expected.as_ref().is_some_and(|expected| expected.get(key).is_some())
    })?;
    let expected = written.expected.as_ref()?.get(key)?.as_f64()?;
    let takes_texts = TAKE_TEXTS.contains(&client);
    // A timer of Node.js takes `null` for none.
    let value = entry.get(key).filter(|value| !(takes_texts && value.is_null()));
    let number = |value: &Value| {
        let text = value.as_str().filter(|_| takes_texts);
        value.as_f64().or_else(|| text?.trim().parse().ok())
    };
    let says = match (value, value.and_then(number)) {
        (_, Some(found)) if found >= expected => return None,
        (Some(value), found) => {
            let value = beginning(&value.to_string(), CLIENT_WORD_CHARS);
            match found {
                Some(_) => format!("`{key}` is {value}, shorter than the longest wait of a tool"),
                None => format!("`{key}` is {value}, which is no limit for the waits of a tool"),
            }
        }
        (None, _) if WAIT_LONG.contains(&client) => return None,
        (None, _) => format!("`{key}` is not set, so long waits may be cut off"),
    };
    let remedy = if LOWERED.contains(&client) {
        format!("remove `{key}` of {place}, because its own limit is longer")
    } else {
        let or = if WAIT_LONG.contains(&client) { ", or remove it" } else { "" };
        format!("set `{key}` of {place} to {expected}{or}")
    };
    Some(Finding::note(subject, "timeout", says).with_remedy(remedy))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_limit_counts_as_its_client_reads_it() {
        let written =
            Written { expected: Some(json!({ "timeout": 150_000 })), ..Written::default() };
        let subject = Subject::Client("x".to_owned());
        // What is said in Claude Code, and in Gemini CLI and Qwen Code.
        for (value, expected) in [
            (json!(150_000), [None, None]),
            (json!(150_000.5), [None, None]),
            (json!(60_000.5), [Some("60000.5, shorter"); 2]),
            (json!("150000"), [Some("no limit"), None]),
            (json!("60000"), [Some("no limit"), Some("shorter")]),
            (json!("x"), [Some("no limit"); 2]),
            (json!(null), [Some("null, which is no limit"), None]),
        ] {
            let entry = json!({ "timeout": value });
            for (client, expected) in
                [("claude-code", expected[0]), ("gemini", expected[1]), ("qwen", expected[1])]
            {
                let found = judge_limit((client, &subject), "f", &written, &entry);
                let is_expected = match (&found, expected) {
                    (Some(finding), Some(words)) => finding.says.contains(words),
                    (found, expected) => found.is_none() && expected.is_none(),
                };
                assert!(is_expected, "{client}: {value}: {found:?}");
            }
        }
    }

    #[test]
    fn a_limit_is_missed_only_where_the_client_has_no_longer_one_of_its_own() {
        let subject = Subject::Client("x".to_owned());
        let judge = |client: &str, key: &str, entry: &Value| {
            let expected = Some(json!({ key: 150_000 }));
            let written = Written { expected, ..Written::default() };
            judge_limit((client, &subject), "f", &written, entry)
        };
        for client in WAIT_LONG {
            for key in LIMITS {
                assert_eq!(judge(client, key, &json!({})), None, "{client}");
            }
        }
        let missed = judge("zed", "timeout", &json!({})).unwrap();
        assert!(missed.says.contains("not set"), "{missed:?}");
        let remedy =
            |client: &str| judge(client, "timeout", &json!({ "timeout": 5 })).unwrap().remedy;
        assert_eq!(remedy("zed").as_deref(), Some("set `timeout` of f to 150000"));
        let expected = "set `timeout` of f to 150000, or remove it";
        assert_eq!(remedy("claude-code").as_deref(), Some(expected));
        let expected = "remove `timeout` of f, because its own limit is longer";
        for client in LOWERED {
            assert_eq!(remedy(client).as_deref(), Some(expected), "{client}");
        }
    }
}
