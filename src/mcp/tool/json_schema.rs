//! The JSON schemas of a tool's input and output: small, self-contained, and without keywords that cause warnings of clients.

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::typed_tool::InboxMode;

/// The field of a result in which unread messages ride along.
pub(crate) const INBOX: &str = "inbox";

/// The field that says how many unread messages had no room in it.
pub(crate) const UNREAD: &str = "unread";

/// Returns the schema of a tool's input.
pub(crate) fn input<T: JsonSchema>() -> JsonObject {
    let mut schema = of::<T>(SchemaSettings::draft2020_12().for_deserialize());
    properties(&mut schema).values_mut().for_each(forget_null);
    schema
}

/// Says whether an object may have any fields.
pub(crate) fn has_any_fields(schema: &JsonObject) -> bool {
    schema.get("additionalProperties").is_some_and(|others| *others == Value::Bool(true))
}

/// Adds a sentence to the description of a field.
pub(crate) fn add_to_description(schema: &mut JsonObject, field: &str, sentence: &str) {
    let Some(Value::String(text)) =
        properties(schema).get_mut(field).and_then(|field| field.get_mut("description"))
    else {
        return;
    };
    text.push(' ');
    text.push_str(sentence);
}

/// Returns the schema of a tool's output, with the messages that may ride along.
pub(crate) fn output<T: JsonSchema>(mail: InboxMode) -> JsonObject {
    let mut schema = of::<T>(SchemaSettings::draft2020_12().for_serialize());
    if mail == InboxMode::RidesAlong {
        let messages = json!({
            "type": "array",
            "description": "Unread messages; they now count as read.",
            // Messages, as `check_messages` describes them: the description stands in its schema alone.
            "items": { "type": "object" },
        });
        properties(&mut schema).insert(INBOX.to_owned(), messages);
        let left =
            json!({ "type": "integer", "description": "More unread messages: check_messages." });
        properties(&mut schema).insert(UNREAD.to_owned(), left);
    }
    schema
}

fn of<T: JsonSchema>(settings: SchemaSettings) -> JsonObject {
    let generator = settings
        .with(|settings| {
            settings.meta_schema = None;
            // References cost tokens, and some clients do not follow them.
            settings.inline_subschemas = true;
        })
        .into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    tidy(&mut schema);
    let Value::Object(mut schema) = schema else {
        unreachable!("the schema of a struct is an object");
    };
    properties(&mut schema);
    schema
}

/// Returns the properties of a struct's schema. A struct without fields gets an empty set, as some clients require one.
fn properties(schema: &mut JsonObject) -> &mut JsonObject {
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    properties.as_object_mut().expect("the properties of a struct are an object")
}

/// Removes every `null` that stands for a field left out, at any depth: it costs tokens, a model may pass it as a value, and some hosts
/// refuse a whole server for `null` in an enum, in a list of types, or as the default of an integer.
fn forget_null(field: &mut Value) {
    let Value::Object(field) = field else {
        return;
    };
    for list in ["type", "enum"] {
        if let Some(Value::Array(values)) = field.get_mut(list) {
            values.retain(|value| !value.is_null() && value != "null");
        }
    }
    if let Some([only]) = field.get("type").and_then(Value::as_array).map(Vec::as_slice) {
        let only = only.clone();
        field.insert("type".to_owned(), only);
    }
    if field.get("default").is_some_and(Value::is_null) {
        field.remove("default");
    }
    if let Some(item) = field.get_mut("items") {
        forget_null(item);
    }
    if let Some(Value::Object(fields)) = field.get_mut("properties") {
        fields.values_mut().for_each(forget_null);
    }
}

/// Removes parts that cost tokens without information: titles, the name of the struct, and the widths of integers, which cause warnings
/// of clients that check schemas.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.remove("format");
            if object.get("title").is_some_and(Value::is_string) {
                object.remove("title");
            }
            object.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Says something.
    #[derive(serde::Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Example {
        /// A number.
        count: Option<u32>,
        #[serde(rename = "title")]
        named: String,
        parts: Vec<Part>,
    }

    #[derive(serde::Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Part {
        bytes: u64,
        #[serde(default)]
        #[schemars(with = "Option<i64>")]
        offset: Option<usize>,
        kind: Option<Kind>,
    }

    #[derive(serde::Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        File,
        Link,
    }

    #[test]
    fn a_schema_is_small_and_self_contained() {
        let expected = json!({
            "type": "object",
            "description": "Says something.",
            "additionalProperties": false,
            "properties": {
                "count": { "type": "integer", "minimum": 0, "description": "A number." },
                "title": { "type": "string" },
                "parts": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "bytes": { "type": "integer", "minimum": 0 },
                            "offset": { "type": "integer" },
                            "kind": { "type": "string", "enum": ["file", "link"] },
                        },
                        "required": ["bytes"],
                    },
                },
            },
            "required": ["title", "parts"],
        });
        assert_eq!(Value::Object(input::<Example>()), expected);
    }

    #[test]
    fn the_inbox_is_part_of_the_output_only_where_messages_ride_along() {
        let has = |mail| output::<Example>(mail)["properties"].get(INBOX).is_some();
        assert!(has(InboxMode::RidesAlong));
        assert!(!has(InboxMode::IsTheAnswer));
    }
}
