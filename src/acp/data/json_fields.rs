//! Reads single fields of an agent's JSON. Agents leave fields out and fill them with the wrong kind of value, so every reader here
//! answers `None` for both.

use serde_json::Value;

/// Returns a field that is a string.
pub(crate) fn string(value: &Value, field: &str) -> Option<String> {
    value.get(field)?.as_str().map(str::to_owned)
}

/// Returns a field that is a list.
pub(crate) fn list<'a>(value: &'a Value, field: &str) -> Option<&'a Vec<Value>> {
    value.get(field)?.as_array()
}

/// Returns a field that is present and not null.
pub(crate) fn present(value: &Value, field: &str) -> Option<Value> {
    value.get(field).filter(|value| !value.is_null()).cloned()
}
