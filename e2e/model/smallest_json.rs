//! The smallest JSON that a schema accepts, for requests in which an agent demands JSON for its own purposes.

use serde_json::{Map, Value, json};

/// The depth at which a schema is taken to refer to itself.
const DEEPEST: usize = 8;

/// Makes an instance of a schema.
pub(super) fn instance(schema: &Value) -> Value {
    of(schema, schema, 0)
}

fn of(schema: &Value, root: &Value, depth: usize) -> Value {
    if depth > DEEPEST {
        return Value::Null;
    }
    if let Some(path) = schema["$ref"].as_str().and_then(|path| path.strip_prefix('#')) {
        return root.pointer(path).map_or(Value::Null, |target| of(target, root, depth + 1));
    }
    if let Some(first) = schema.pointer("/enum/0") {
        return first.clone();
    }
    if let Some(first) = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema[*key].get(0)) {
        return of(first, root, depth + 1);
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str()).unwrap_or("object");
    match kind.to_lowercase().as_str() {
        "object" => {
            let required = schema["required"].as_array();
            let is_required =
                |name: &str| required.is_none_or(|names| names.iter().any(|one| one == name));
            let fields = schema["properties"].as_object().into_iter().flatten();
            let fields = fields.filter(|(name, _)| is_required(name));
            let object: Map<_, _> =
                fields.map(|(name, field)| (name.clone(), of(field, root, depth + 1))).collect();
            Value::Object(object)
        }
        "number" | "integer" => schema.get("minimum").cloned().unwrap_or(json!(1)),
        "array" => json!([]),
        "boolean" => json!(false),
        "string" => json!("ok"),
        _ => Value::Null,
    }
}
