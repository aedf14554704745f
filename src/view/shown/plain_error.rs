//! The error of a model's provider, without the JSON around its words; the error of a task, without what only a model can call.

use serde_json::Value;

/// Returns an error with the message alone in the place of the JSON object at its end, if it has one there.
pub(in crate::view) fn plain_error(error: &str) -> String {
    let plain = || {
        let (before, object) = error.split_at(error.find('{')?);
        let value: Value = serde_json::from_str(object.trim()).ok()?;
        let places = ["/error/message", "/message", "/error", "/detail"];
        let said = places.iter().find_map(|place| value.pointer(place)?.as_str())?.trim();
        // An error may hold that of another program as a text.
        let said = if said.contains('{') { plain_error(said) } else { said.to_owned() };
        (!said.is_empty()).then(|| format!("{before}{said}"))
    };
    plain().unwrap_or_else(|| error.to_owned())
}

/// What the error of a task says to models alone: a person has no such tool, and each window says by itself what helps.
const FOR_MODELS: &str = "; kill_agent stops it";

/// Returns the error of a task as a person reads it.
pub fn task_error(error: &str) -> &str {
    error.strip_suffix(FOR_MODELS).unwrap_or(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_task_names_no_tool_to_a_person() {
        let error = "the agent ignored the cancel request; kill_agent stops it";
        assert_eq!(task_error(error), "the agent ignored the cancel request");
        assert_eq!(task_error("no quota"), "no quota");
    }

    #[test]
    fn an_error_is_shown_without_the_json_around_it() {
        let of = plain_error;
        let error = r#"API Error: 401 {"type":"error","error":{"type":"auth","message":"invalid x-api-key"}}"#;
        assert_eq!(of(error), "API Error: 401 invalid x-api-key");
        let within = r#"{"message":"failed: {\"detail\":\"no quota\"}"}"#;
        assert_eq!(of(within), "failed: no quota");
        for as_it_is in ["401 Unauthorized", "torn {\"message\":", r#"{"code":7}"#] {
            assert_eq!(of(as_it_is), as_it_is);
        }
    }
}
