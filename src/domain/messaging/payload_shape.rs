//! The shapes of the payloads that some signals have: their fields, and the type of each.
//!
//! A payload may have further fields, and one of another signal is any object.

use serde_json::{Map, Value};

use super::signal::Signal;

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    /// A number or a text, as trackers of work have either.
    Number,
    Texts,
    List,
}

impl Kind {
    fn fits(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Text | Self::Number, Value::String(_))
            | (Self::Number, Value::Number(_))
            | (Self::List, Value::Array(_)) => true,
            (Self::Texts, Value::Array(items)) => items.iter().all(Value::is_string),
            _ => false,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Number => "a number or a string",
            Self::Texts => "an array of strings",
            Self::List => "an array",
        }
    }
}

/// One field: its name, its type, and whether it may be missing.
type Field = (&'static str, Kind, bool);

/// The signals with a shape. The three that the bus alone sends are written in their shapes by the bus.
const SHAPES: [(&str, &[Field]); 5] = [
    ("ReviewRequested", &[("spec_id", Kind::Text, false), ("instructions", Kind::Text, false)]),
    (
        "ReviewCompleted",
        &[
            ("spec_id", Kind::Text, false),
            ("summary", Kind::Text, false),
            ("gaps", Kind::Texts, false),
            ("recommendation", Kind::Text, false),
        ],
    ),
    ("Acknowledgment", &[("message", Kind::Text, false)]),
    (
        "TaskAssigned",
        &[
            ("description", Kind::Text, false),
            ("todo_number", Kind::Number, true),
            ("priority", Kind::Text, false),
        ],
    ),
    ("StatusUpdate", &[("description", Kind::Text, false), ("artifacts", Kind::List, false)]),
];

/// Why a payload does not have the shape of its signal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the payload of `{signal}` {problem}: its shape is {shape}")]
pub struct ShapeError {
    signal: &'static str,
    problem: String,
    shape: String,
}

/// Checks a payload against the shape of its signal, if that has one.
pub fn check_payload(signal: &Signal, payload: &Map<String, Value>) -> Result<(), ShapeError> {
    let Some((word, fields)) = SHAPES.iter().find(|(word, _)| *word == signal.as_str()) else {
        return Ok(());
    };
    let problem = fields.iter().find_map(|(name, kind, is_optional)| match payload.get(*name) {
        None if *is_optional => None,
        None => Some(format!("has no `{name}`")),
        Some(value) if kind.fits(value) => None,
        Some(_) => Some(format!("has a `{name}` that is not {}", kind.words())),
    });
    problem.map_or(Ok(()), |problem| {
        Err(ShapeError { signal: word, problem, shape: in_words(fields) })
    })
}

fn in_words(fields: &[Field]) -> String {
    let fields = fields.iter().map(|(name, kind, is_optional)| {
        let mark = if *is_optional { "?" } else { "" };
        format!("{name}{mark}: {}", kind.words())
    });
    format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(word: &str, payload: Value, expected: &str) {
        let Value::Object(payload) = payload else { panic!("it is an object") };
        let checked = check_payload(&Signal::parse(word).unwrap(), &payload);
        let said = checked.err().map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(said, expected, "{word}");
    }

    #[test]
    fn a_payload_of_the_right_shape_is_accepted_with_what_else_it_has() {
        check("ReviewRequested", json!({ "spec_id": "S", "instructions": "i", "more": 1 }), "");
        let done = json!({ "spec_id": "S", "summary": "s", "gaps": ["a"], "recommendation": "r" });
        check("reviewcompleted", done, "");
        check("Acknowledgment", json!({ "message": "thanks" }), "");
        check("TaskAssigned", json!({ "description": "d", "priority": "high" }), "");
        let numbered = json!({ "description": "d", "todo_number": 7, "priority": "high" });
        check("TaskAssigned", numbered, "");
        check("StatusUpdate", json!({ "description": "d", "artifacts": [{ "path": "a" }] }), "");
    }

    #[test]
    fn a_missing_or_wrong_field_is_named_with_the_whole_shape() {
        let shape = "its shape is {spec_id: a string, instructions: a string}";
        check(
            "ReviewRequested",
            json!({ "spec_id": "S" }),
            &format!("the payload of `ReviewRequested` has no `instructions`: {shape}"),
        );
        check(
            "ReviewRequested",
            json!({ "spec_id": 3, "instructions": "i" }),
            &format!(
                "the payload of `ReviewRequested` has a `spec_id` that is not a string: {shape}"
            ),
        );
        check(
            "ReviewCompleted",
            json!({ "spec_id": "S", "summary": "s", "gaps": [1], "recommendation": "r" }),
            "the payload of `ReviewCompleted` has a `gaps` that is not an array of strings: its \
             shape is {spec_id: a string, summary: a string, gaps: an array of strings, \
             recommendation: a string}",
        );
        check(
            "TaskAssigned",
            json!({ "description": "d", "todo_number": [], "priority": "low" }),
            "the payload of `TaskAssigned` has a `todo_number` that is not a number or a string: \
             its shape is {description: a string, todo_number?: a number or a string, priority: a \
             string}",
        );
    }

    #[test]
    fn other_signals_take_any_object() {
        check("task", json!({ "anything": null }), "");
        check("x-own", json!({}), "");
    }
}
