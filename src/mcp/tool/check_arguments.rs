//! Checks the arguments of a call against the schema of its tool, so that an error names the invalid argument.
//!
//! Valid arguments are parsed by serde afterwards, which checks everything but has worse error messages.

use rmcp::model::JsonObject;
use serde_json::Value;

use crate::domain::limits;
use crate::domain::text::suggest::nearest;
use crate::mcp::error::ToolError;

/// Checks that the arguments match the schema: all known, none missing, each of its type.
pub(crate) fn check(
    tool: &str,
    schema: &JsonObject,
    arguments: &JsonObject,
) -> Result<(), ToolError> {
    check_object(&format!("`{tool}`"), schema, arguments).map_err(ToolError::Arguments)
}

fn check_object(owner: &str, schema: &JsonObject, object: &JsonObject) -> Result<(), String> {
    let none = JsonObject::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    if let Some(unknown) = object.keys().find(|name| !properties.contains_key(*name)) {
        return Err(unknown_argument(owner, unknown, properties));
    }
    let required = schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(|name| name.as_str()) {
        if object.get(name).is_none_or(Value::is_null) {
            let expected = properties.get(name).and_then(type_of).unwrap_or("a value");
            return Err(format!("{owner} needs `{name}`, {expected}"));
        }
    }
    for (name, value) in object {
        if let Some(schema) = properties.get(name).and_then(Value::as_object) {
            check_value(owner, name, schema, value)?;
        }
    }
    Ok(())
}

fn check_value(owner: &str, name: &str, schema: &JsonObject, value: &Value) -> Result<(), String> {
    let Some(kind) = schema.get("type").and_then(Value::as_str) else {
        return Ok(());
    };
    let at_least_zero = schema.get("minimum").and_then(Value::as_u64) == Some(0);
    let fits = match (kind, value) {
        // Required arguments have been found by now, so a null stands for a field left out.
        (_, Value::Null)
        | ("string", Value::String(_))
        | ("boolean", Value::Bool(_))
        | ("number", Value::Number(_)) => true,
        ("integer", Value::Number(number)) => {
            number.is_u64() || (number.is_i64() && !at_least_zero)
        }
        ("object", Value::Object(object)) => {
            return check_object(&format!("`{name}`"), schema, object);
        }
        ("array", Value::Array(items)) => {
            let item = schema.get("items").and_then(Value::as_object);
            return item.map_or(Ok(()), |schema| {
                (0..).zip(items).try_for_each(|(index, item): (usize, _)| {
                    check_value(owner, &format!("{name}[{index}]"), schema, item)
                })
            });
        }
        _ => false,
    };
    if fits {
        return Ok(());
    }
    let expected = match kind {
        "integer" if at_least_zero => "an integer of at least 0",
        kind => article(kind),
    };
    Err(format!("`{name}` of {owner} must be {expected}, not {}", shown(value)))
}

fn unknown_argument(owner: &str, unknown: &str, known: &JsonObject) -> String {
    let near = nearest(unknown, known.keys());
    let names: Vec<_> =
        if near.is_empty() { known.keys().cloned().collect() } else { near.clone() };
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    let hint = match (near.is_empty(), names.as_slice()) {
        (_, []) => "it takes no arguments".to_owned(),
        (true, names) => format!("it takes {}", names.join(", ")),
        (false, names) => format!("did you mean {}?", names.join(" or ")),
    };
    let unknown: String = unknown.chars().take(limits::SHOWN_NAME_CHARS).collect();
    format!("{owner} has no argument `{unknown}`: {hint}")
}

fn type_of(schema: &Value) -> Option<&'static str> {
    schema.get("type").and_then(Value::as_str).map(article)
}

fn article(kind: &str) -> &'static str {
    match kind {
        "string" => "a string",
        "integer" => "an integer",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "an array",
        "object" => "an object",
        _ => "of another type",
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => format!("{number}"),
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> JsonObject {
        let schema = json!({
            "properties": {
                "to": { "type": "string" },
                "limit": { "type": "integer", "minimum": 0 },
                "steps": { "type": "array", "items": {
                    "type": "object", "properties": { "agent": { "type": "string" } }, "required": ["agent"],
                } },
            },
            "required": ["to"],
        });
        schema.as_object().unwrap().clone()
    }

    #[track_caller]
    fn refused(arguments: &Value, expected: &str) {
        let error = check("send", &schema(), arguments.as_object().unwrap()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn valid_arguments_pass_and_null_stands_for_a_field_left_out() {
        let arguments = json!({ "to": "codex", "limit": null, "steps": [{ "agent": "codex" }] });
        check("send", &schema(), arguments.as_object().unwrap()).unwrap();
    }

    #[test]
    fn an_invalid_argument_is_named_with_the_expected_form() {
        refused(&json!({}), "`send` needs `to`, a string");
        refused(&json!({ "to": null }), "`send` needs `to`, a string");
        refused(
            &json!({ "to": "a", "limits": 3 }),
            "`send` has no argument `limits`: did you mean `limit`?",
        );
        refused(
            &json!({ "to": "a", "zebra": 3 }),
            "`send` has no argument `zebra`: it takes `to`, `limit`, `steps`",
        );
        refused(&json!({ "to": 3 }), "`to` of `send` must be a string, not 3");
        refused(
            &json!({ "to": "a", "limit": "many" }),
            "`limit` of `send` must be an integer of at least 0, not a string",
        );
        refused(
            &json!({ "to": "a", "limit": -1 }),
            "`limit` of `send` must be an integer of at least 0, not -1",
        );
        refused(
            &json!({ "to": "a", "steps": [{ "agent": 1 }] }),
            "`agent` of `steps[0]` must be a string, not 1",
        );
        refused(
            &json!({ "to": "a", "steps": ["x"] }),
            "`steps[0]` of `send` must be an object, not a string",
        );
    }
}
