//! Says where a value does not fit its JSON Schema, of the words that the description of the API uses.

use serde_json::Value;

/// The words that say nothing about a value.
const NOTES: [&str; 6] =
    ["description", "title", "default", "format", "contentMediaType", "examples"];

/// Returns where a value does not fit; none if it fits. References lead into the document.
pub(crate) fn misfit(value: &Value, schema: &Value, document: &Value) -> Option<String> {
    Check { document }.misfit(value, schema, "$")
}

struct Check<'a> {
    document: &'a Value,
}

impl Check<'_> {
    fn misfit(&self, value: &Value, schema: &Value, at: &str) -> Option<String> {
        let words = match schema {
            Value::Bool(true) => return None,
            Value::Object(words) => words,
            other => return Some(format!("{at}: no value fits {other}")),
        };
        words.iter().find_map(|(word, given)| match word.as_str() {
            "$ref" => {
                let pointer = given.as_str()?.strip_prefix('#')?;
                let target = self.document.pointer(pointer);
                let target = target.unwrap_or_else(|| panic!("{pointer} leads nowhere"));
                self.misfit(value, target, at)
            }
            "type" => {
                let types = given.as_array().cloned().unwrap_or_else(|| vec![given.clone()]);
                let is_one = types.iter().any(|kind| has_type(value, kind.as_str().unwrap()));
                (!is_one).then(|| format!("{at}: {value} is no {given}"))
            }
            "enum" => {
                let is_one = given.as_array().unwrap().contains(value);
                (!is_one).then(|| format!("{at}: {value} is none of {given}"))
            }
            "const" => (value != given).then(|| format!("{at}: {value} is not {given}")),
            "required" => {
                let names = given.as_array().unwrap().iter().filter_map(Value::as_str);
                let mut missing =
                    names.filter(|name| value.is_object() && value.get(name).is_none());
                missing.next().map(|name| format!("{at}: without `{name}`: {value}"))
            }
            "properties" => given.as_object().unwrap().iter().find_map(|(name, field)| {
                self.misfit(value.get(name)?, field, &format!("{at}.{name}"))
            }),
            "additionalProperties" => {
                let known = words.get("properties").and_then(Value::as_object);
                value.as_object()?.iter().find_map(|(name, field)| {
                    let is_known = known.is_some_and(|known| known.contains_key(name));
                    let at = format!("{at}.{name}");
                    if is_known { None } else { self.misfit(field, given, &at) }
                })
            }
            "items" => value
                .as_array()?
                .iter()
                .enumerate()
                .find_map(|(index, item)| self.misfit(item, given, &format!("{at}[{index}]"))),
            "anyOf" | "oneOf" => {
                let mut misfits = Vec::new();
                for branch in given.as_array().unwrap() {
                    misfits.push(self.misfit(value, branch, at)?);
                }
                Some(format!("{at}: fits no branch: {}", misfits.join("; ")))
            }
            "allOf" => {
                given.as_array().unwrap().iter().find_map(|part| self.misfit(value, part, at))
            }
            "minimum" => {
                let is_less =
                    value.as_f64().zip(given.as_f64()).is_some_and(|(value, least)| value < least);
                is_less.then(|| format!("{at}: {value} is less than {given}"))
            }
            "maximum" => {
                let is_more =
                    value.as_f64().zip(given.as_f64()).is_some_and(|(value, most)| value > most);
                is_more.then(|| format!("{at}: {value} is more than {given}"))
            }
            note if NOTES.contains(&note) => None,
            other => panic!("{at}: this check does not know `{other}`"),
        })
    }
}

fn has_type(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("there is no type `{other}`"),
    }
}
