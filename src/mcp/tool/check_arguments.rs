//! Checks the arguments of a call against the schema of its tool, so that one error names every wrong argument and what to pass
//! instead.
//!
//! Arguments that pass are parsed by serde, whose own words no model sees: it accepts whatever this accepts.

use rmcp::model::JsonObject;
use serde_json::Value;

use super::{argument_synonyms, json_schema};
use crate::domain::limits;
use crate::domain::text::suggest::nearest;
use crate::mcp::error::ToolError;

/// The problems that one error names. A call that has more is made anew anyway.
const MOST_PROBLEMS: usize = 8;

/// The characters of a wrong text that an error repeats.
const SHOWN_CHARS: usize = 40;

/// Arguments that name one thing, for which some models pass several.
const ONE_AT_A_TIME: [&str; 9] = [
    "to",
    "agent",
    "from",
    "agent_id",
    "id",
    "task_id",
    "request_id",
    "permission_id",
    "workflow_id",
];

/// Checks that the arguments match the schema: all known, none missing, each of its type. Lists every problem.
pub(crate) fn check(
    tool: &str,
    schema: &JsonObject,
    arguments: &JsonObject,
) -> Result<(), ToolError> {
    let mut problems = Problems::default();
    problems.in_object(&format!("`{tool}`"), schema, arguments);
    problems.verdict()
}

/// Describes a value of the wrong type.
pub(crate) fn described(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.chars().nth(SHOWN_CHARS).is_none() => {
            format!("the string {text:?}")
        }
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// The problems found so far.
#[derive(Default)]
struct Problems {
    named: Vec<String>,
    has_more: bool,
}

impl Problems {
    fn add(&mut self, problem: String) {
        if self.named.len() < MOST_PROBLEMS {
            self.named.push(problem);
        } else {
            self.has_more = true;
        }
    }

    fn verdict(mut self) -> Result<(), ToolError> {
        if self.named.is_empty() {
            return Ok(());
        }
        if self.has_more {
            self.named.push("and there are more problems".to_owned());
        }
        Err(ToolError::Arguments(self.named.join("; ")))
    }

    fn in_object(&mut self, owner: &str, schema: &JsonObject, object: &JsonObject) {
        if json_schema::has_any_fields(schema) {
            return;
        }
        let none = JsonObject::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let renamed = self.unknown(owner, properties, object);
        self.missing(owner, schema, properties, object, &renamed);
        for (name, value) in object {
            // A null stands for a field left out.
            if let Some(schema) = properties.get(name).and_then(Value::as_object)
                && !value.is_null()
                && !self.has_more
            {
                self.in_value(owner, name, schema, value);
            }
        }
    }

    /// Names the unknown arguments. Returns the arguments that are meant by them.
    fn unknown<'a>(
        &mut self,
        owner: &str,
        properties: &'a JsonObject,
        object: &JsonObject,
    ) -> Vec<&'a str> {
        let mut unknown = object.keys().filter(|name| !properties.contains_key(*name));
        let named: Vec<_> = unknown.by_ref().take(MOST_PROBLEMS).collect();
        self.has_more |= unknown.next().is_some();
        let mut free: Vec<&str> = properties.keys().map(String::as_str).collect();
        free.retain(|name| !object.contains_key(*name));
        let (mut renamed, mut is_lost, mut listed) = (Vec::new(), false, Vec::new());
        for name in &named {
            let meant = match argument_synonyms::meant(name, &free) {
                Some(meant) => vec![meant.to_owned()],
                None => nearest(name, &free),
            };
            is_lost |= meant.is_empty();
            if let [only] = meant.as_slice() {
                renamed.extend(free.iter().copied().find(|free| free == only));
            }
            let hint = match meant.as_slice() {
                [] => String::new(),
                meant => format!(" (use {})", list(&quoted(meant), "or")),
            };
            let name: String = name.chars().take(limits::SHOWN_NAME_CHARS).collect();
            listed.push(format!("`{}`{hint}", name.escape_debug()));
        }
        if !listed.is_empty() {
            let plural = if listed.len() == 1 { "" } else { "s" };
            let known: Vec<_> = properties.keys().collect();
            let other = named.iter().find_map(|name| argument_synonyms::other_tool(owner, name));
            let takes = match (other, known.as_slice()) {
                (Some(other), _) => format!(": {other}"),
                (None, []) => ": it takes none".to_owned(),
                (None, known) if is_lost => format!(": it takes {}", list(&quoted(known), "and")),
                (None, _) => String::new(),
            };
            self.add(format!("{owner} has no argument{plural} {}{takes}", list(&listed, "or")));
        }
        renamed
    }

    /// Names the required arguments that are missing, except those that were given under another name.
    fn missing(
        &mut self,
        owner: &str,
        schema: &JsonObject,
        properties: &JsonObject,
        object: &JsonObject,
        renamed: &[&str],
    ) {
        let required = schema.get("required").and_then(Value::as_array);
        let required = required.into_iter().flatten().filter_map(Value::as_str);
        let missing: Vec<_> = required
            .filter(|name| object.get(*name).is_none_or(Value::is_null) && !renamed.contains(name))
            .map(|name| {
                let schema = properties.get(name).and_then(Value::as_object);
                let expected = schema.map_or_else(|| "a value".to_owned(), expected);
                (name, expected, schema.is_some_and(|schema| choices(schema).is_some()))
            })
            .collect();
        match missing.as_slice() {
            [] => {}
            // Words after a comma would read as further arguments.
            [(name, words, true)] => self.add(format!("{owner} needs `{name}`: one of {words}")),
            [(name, expected, false)] => self.add(format!("{owner} needs `{name}`, {expected}")),
            several => {
                let several: Vec<_> =
                    several.iter().map(|(name, what, _)| format!("`{name}` ({what})")).collect();
                self.add(format!("{owner} needs {}", list(&several, "and")));
            }
        }
    }

    fn in_value(&mut self, owner: &str, name: &str, schema: &JsonObject, value: &Value) {
        let Some(kind) = schema.get("type").and_then(Value::as_str) else {
            return;
        };
        let fits = match (kind, value) {
            ("string", Value::String(text)) => {
                choices(schema).is_none_or(|mut choices| choices.any(|choice| choice == text))
            }
            ("boolean", Value::Bool(_)) | ("number", Value::Number(_)) => true,
            // No argument is negative; most are lengths and seconds.
            ("integer", Value::Number(number)) => number.is_u64(),
            ("object", Value::Object(object)) => {
                return self.in_object(&format!("`{name}`"), schema, object);
            }
            ("array", Value::Array(items)) => {
                let item = schema.get("items").and_then(Value::as_object);
                for (index, value) in items.iter().enumerate() {
                    if let Some(item) = item
                        && !self.has_more
                    {
                        self.in_value(owner, &format!("{name}[{index}]"), item, value);
                    }
                }
                true
            }
            _ => false,
        };
        if !fits {
            let (expected, given) = (expected(schema), described(value));
            let advice = advice(name, kind, value);
            self.add(format!("`{name}` of {owner} must be {expected}, not {given}{advice}"));
        }
    }
}

/// Returns the words that an argument may be.
fn choices(schema: &JsonObject) -> Option<impl Iterator<Item = &str>> {
    let choices = schema.get("enum").and_then(Value::as_array)?;
    Some(choices.iter().filter_map(Value::as_str))
}

/// Returns the range with which the description of a number begins, as in "1 to 500; default 20".
fn range(schema: &JsonObject) -> Option<(u64, u64)> {
    let (least, rest) = schema.get("description")?.as_str()?.split_once(" to ")?;
    let most = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((least.parse().ok()?, most.parse().ok()?))
}

/// Describes the values that fit a schema.
fn expected(schema: &JsonObject) -> String {
    if let Some(choices) = choices(schema) {
        return list(&quoted(&choices.collect::<Vec<_>>()), "or");
    }
    let kind = |schema: &JsonObject| schema.get("type").and_then(Value::as_str).map(str::to_owned);
    let items = schema.get("items").and_then(Value::as_object).and_then(kind);
    match (kind(schema).as_deref(), items) {
        (Some("string"), _) => "a string".to_owned(),
        (Some("integer"), _) => match range(schema) {
            Some((least, most)) => format!("an integer from {least} to {most}"),
            None => "an integer of at least 0".to_owned(),
        },
        (Some("number"), _) => "a number".to_owned(),
        (Some("boolean"), _) => "true or false".to_owned(),
        (Some("array"), Some(items)) => format!("an array of {items}s"),
        (Some("array"), None) => "an array".to_owned(),
        (Some("object"), _) => "an object".to_owned(),
        _ => "a value".to_owned(),
    }
}

/// Says what to do about common mistakes.
fn advice(name: &str, kind: &str, value: &Value) -> &'static str {
    match (kind, value) {
        ("string", Value::Array(_)) if name == "to" => {
            ": make one call for each (an orchestrator can reach all with `broadcast`)"
        }
        ("string", Value::Array(_)) if ONE_AT_A_TIME.contains(&name) => ": make one call for each",
        ("integer" | "number", Value::String(text)) if text.parse::<f64>().is_ok() => {
            ": write it without quotes"
        }
        ("boolean", Value::String(text)) if text == "true" || text == "false" => {
            ": write it without quotes"
        }
        ("array", Value::String(text)) if text.trim_start().starts_with('[') => {
            ": pass the array itself, not its JSON text"
        }
        ("object", Value::String(text)) if text.trim_start().starts_with('{') => {
            ": pass the object itself, not its JSON text"
        }
        ("array", Value::String(_)) => ": put it in square brackets",
        _ => "",
    }
}

fn quoted(words: &[impl AsRef<str>]) -> Vec<String> {
    words.iter().map(|word| format!("`{}`", word.as_ref())).collect()
}

/// Returns "a, b or c".
fn list(words: &[String], conjunction: &str) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} {conjunction} {last}", first.join(", ")),
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
                "part": { "type": "integer", "description": "1 to 50; default 20." },
                "kind": { "type": "string", "enum": ["file", "link"] },
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
            "`send` has no argument `limits` (use `limit`)",
        );
        refused(
            &json!({ "to": "a", "zebra": 3 }),
            "`send` has no argument `zebra`: it takes `to`, `limit`, `part`, `kind` and `steps`",
        );
        refused(&json!({ "to": 3 }), "`to` of `send` must be a string, not 3");
        refused(
            &json!({ "to": "a", "limit": "many" }),
            "`limit` of `send` must be an integer of at least 0, not the string \"many\"",
        );
        refused(
            &json!({ "to": "a", "limit": -1 }),
            "`limit` of `send` must be an integer of at least 0, not -1",
        );
        refused(
            &json!({ "to": "a", "part": -1 }),
            "`part` of `send` must be an integer from 1 to 50, not -1",
        );
        refused(
            &json!({ "to": "a", "kind": "new" }),
            "`kind` of `send` must be `file` or `link`, not the string \"new\"",
        );
        refused(
            &json!({ "to": "a", "steps": [{ "agent": 1 }] }),
            "`agent` of `steps[0]` must be a string, not 1",
        );
        refused(
            &json!({ "to": "a", "steps": ["x", null] }),
            "`steps[0]` of `send` must be an object, not the string \"x\"; \
                `steps[1]` of `send` must be an object, not null",
        );
    }

    #[test]
    fn a_missing_argument_of_few_words_does_not_read_as_several_arguments() {
        let mut schema = schema();
        schema.insert("required".to_owned(), json!(["kind"]));
        let error = check("send", &schema, &JsonObject::new()).unwrap_err();
        assert_eq!(error.to_string(), "`send` needs `kind`: one of `file` or `link`");
    }

    #[test]
    fn all_problems_are_named_at_once_and_a_renamed_argument_does_not_count_as_missing() {
        refused(
            &json!({ "recipient": "a", "limit": "3", "zebra": 1 }),
            "`send` has no arguments `recipient` (use `to`) or `zebra`: it takes `to`, `limit`, \
                `part`, `kind` and `steps`; `limit` of `send` must be an integer of at least 0, not the \
                string \"3\": write it without quotes",
        );
        refused(
            &json!({ "to": ["a", "b"] }),
            "`to` of `send` must be a string, not an array: make one call for each (an \
                orchestrator can reach all with `broadcast`)",
        );
    }

    #[test]
    fn an_error_about_very_many_arguments_stays_short() {
        let many: JsonObject = (0..100_000).map(|n| (format!("{n}{n}"), json!(n))).collect();
        let items = vec![json!(1); 100_000];
        let wrong =
            json!({ "to": "x".repeat(100_000), "limit": "y".repeat(100_000), "steps": items });
        for arguments in [&many, wrong.as_object().unwrap()] {
            let text = check("send", &schema(), arguments).unwrap_err().to_string();
            assert!(text.len() < 1_000, "{text}");
            assert!(text.ends_with("; and there are more problems"), "{text}");
        }
    }
}
