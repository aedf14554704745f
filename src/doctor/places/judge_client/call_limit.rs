//! Judges the client's limit for one call.

use serde_json::Value;

use crate::doctor::finding::{Finding, Subject};
use crate::domain::limits::CLIENT_WORD_CHARS;
use crate::domain::text::visible_letters::beginning;
use crate::setup::written_entry::Written;

/// The keys under which a client's entry may have its limit for one call.
const LIMITS: [&str; 2] = ["timeout", "tool_timeout_sec"];

/// Judges the client's limit for one call, if setup would set one.
pub(super) fn judge_limit(
    subject: &Subject,
    place: &str,
    written: &Written,
    entry: &Value,
) -> Option<Finding> {
    let key = LIMITS.into_iter().find(|key| {
        written.expected.as_ref().is_some_and(|expected| expected.get(key).is_some())
    })?;
    let expected = written.expected.as_ref()?.get(key)?.as_u64()?;
    let value = entry.get(key);
    let found = value.and_then(Value::as_u64);
    if found.is_some_and(|found| found >= expected) {
        return None;
    }
    let says = match found {
        Some(found) => format!("`{key}` is {found}, shorter than the longest wait of a tool"),
        None => match value {
            Some(value) => {
                let value = beginning(&value.to_string(), CLIENT_WORD_CHARS);
                format!("`{key}` is {value}, which is no limit for the waits of a tool")
            }
            None => format!("`{key}` is not set, so long waits may be cut off"),
        },
    };
    let remedy = format!("set `{key}` of {place} to {expected}");
    Some(Finding::note(subject, "timeout", says).with_remedy(remedy))
}
