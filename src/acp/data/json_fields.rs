//! Parses an agent's JSON, and reads single fields of it.
//!
//! Agents leave fields out and fill them with the wrong type of value; most readers here return `None` for both. Where a wrong type has
//! to count, as it does for permissions, [`present`] tells the two apart.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Parses a text without losing values of duplicate keys: unless all values are the same text, the field becomes the list of its values,
/// which has the wrong type for most readers. (Parsers usually keep the last value, and agents may use the first.)
pub(crate) fn parse(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().map(|Whole(value)| value)
}

/// Returns a field that is a string.
pub(crate) fn string(value: &Value, field: &str) -> Option<String> {
    value.get(field)?.as_str().map(str::to_owned)
}

/// Returns a field that is a list.
pub(crate) fn list<'a>(value: &'a Value, field: &str) -> Option<&'a Vec<Value>> {
    value.get(field)?.as_array()
}

/// Returns a field that is present and not null.
pub(crate) fn present<'a>(value: &'a Value, field: &str) -> Option<&'a Value> {
    value.get(field).filter(|value| !value.is_null())
}

/// A value that keeps all values of duplicate keys.
struct Whole(Value);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WholeVisitor).map(Self)
    }
}

struct WholeVisitor;

impl<'de> Visitor<'de> for WholeVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Whole(part)) = parts.next_element()? {
            list.push(part);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        let mut repeated = HashSet::new();
        while let Some((key, Whole(value))) = entries.next_entry::<String, Whole>()? {
            let Some(known) = fields.get_mut(&key) else {
                fields.insert(key, value);
                continue;
            };
            match known {
                Value::Array(values) if repeated.contains(&key) => values.push(value),
                Value::String(text) if value == text.as_str() => {}
                _ => {
                    *known = Value::Array(vec![known.take(), value]);
                    repeated.insert(key);
                }
            }
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn no_value_of_a_duplicate_key_is_lost() {
        let check = |text: &str, expected: Option<Value>| assert_eq!(parse(text), expected);
        check(r#"{"a":1,"b":2,"a":[3]}"#, Some(json!({"a": [1, [3]], "b": 2})));
        check(r#"{"a":[1],"a":[2],"\u0061":null}"#, Some(json!({"a": [[1], [2], null]})));
        check(r#"[{"a":{"b":"x","b":"y"}}]"#, Some(json!([{"a": {"b": ["x", "y"]}}])));
        check(r#"{"a":"x","a":"x"}"#, Some(json!({"a": "x"})));
        check(r#"{"a":"x","a":"x","a":"y","a":"x"}"#, Some(json!({"a": ["x", "y", "x"]})));
        check(r#"{"a":1"#, None);
        check(r#"{"a":1} x"#, None);
    }

    proptest! {
        #[test]
        fn json_without_duplicate_keys_is_unchanged(
            text in r#"(\{|\}|\[|\]|,|:|"a":|"b\\u00e4"|-1|1e400|18446744073709551616|1\.50|0|null|true|false| ){0,12}"#,
            number in any::<f64>(),
            whole in any::<i64>(),
        ) {
            let usual = serde_json::from_str::<Value>(&text).ok();
            if text.matches("\"a\":").count() < 2 {
                prop_assert_eq!(parse(&text), usual);
            }
            for number in [json!({"a": [number]}), json!(whole)] {
                prop_assert_eq!(parse(&number.to_string()), serde_json::from_str(&number.to_string()).ok());
            }
        }
    }
}
