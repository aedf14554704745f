//! A value as JavaScript's `JSON.stringify` writes it, with sorted keys: Qwen Code hashes that text.

use serde_json::{Number, Value};

/// Above, a key that is a number is a name like any other.
const LARGEST_INDEX: u32 = u32::MAX - 1;

/// The number of digits from which JavaScript writes a number with an exponent.
const MOST_DIGITS: i32 = 21;

/// The number of zeros after the point from which it does so, with one of the digit before it.
const MOST_ZEROS: i32 = -6;

/// Returns the text of a value, the keys of each object sorted.
pub(super) fn stringified(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            // An assignment to this name makes no field.
            let mut keys: Vec<_> = fields.keys().filter(|key| *key != "__proto__").collect();
            // Indexes come first, by their size, whatever was sorted before. The others are in the order of UTF-16.
            keys.sort_by_cached_key(|key| match index(key) {
                Some(index) => (false, index, Vec::new()),
                None => (true, 0, key.encode_utf16().collect()),
            });
            let name = |key: &String| Value::String(key.clone());
            let field = |key| format!("{}:{}", name(key), stringified(&fields[key]));
            format!("{{{}}}", keys.into_iter().map(field).collect::<Vec<_>>().join(","))
        }
        Value::Array(values) => {
            format!("[{}]", values.iter().map(stringified).collect::<Vec<_>>().join(","))
        }
        Value::Number(number) => number_text(number),
        other => other.to_string(),
    }
}

/// Returns the index that a key is for JavaScript, if it is one.
fn index(key: &str) -> Option<u32> {
    let index: u32 = key.parse().ok()?;
    (index <= LARGEST_INDEX && index.to_string() == key).then_some(index)
}

/// Returns the text of a number: every number is a double.
fn number_text(number: &Number) -> String {
    let Some(number) = number.as_f64().filter(|number| number.is_finite()) else {
        return "null".to_owned();
    };
    if number == 0.0 {
        return "0".to_owned();
    }
    // The shortest digits that mean this number, as one digit, a point, the others, and the exponent.
    let shortest = format!("{:e}", number.abs());
    let (digits, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let digits = digits.replace('.', "");
    let sign = if number < 0.0 { "-" } else { "" };
    // The place of the point, counted from before the first digit.
    let point = exponent.parse::<i32>().unwrap_or_default() + 1;
    let length = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |number: i32| "0".repeat(usize::try_from(number).unwrap_or_default());
    let text = if (length..=MOST_DIGITS).contains(&point) {
        format!("{digits}{}", zeros(point - length))
    } else if (1..=MOST_DIGITS).contains(&point) {
        let (whole, rest) = digits.split_at(usize::try_from(point).unwrap_or_default());
        format!("{whole}.{rest}")
    } else if (MOST_ZEROS + 1..=0).contains(&point) {
        format!("0.{}{digits}", zeros(-point))
    } else {
        let (first, rest) = digits.split_at(1);
        let rest = if rest.is_empty() { String::new() } else { format!(".{rest}") };
        format!("{first}{rest}e{:+}", point - 1)
    };
    format!("{sign}{text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The right side is what Node.js 22 writes for the left.
    #[test]
    fn numbers_and_keys_are_written_as_javascript_writes_them() {
        for (json, expected) in [
            ("150000.0", "150000"),
            ("1.5e21", "1.5e+21"),
            ("1e21", "1e+21"),
            ("1e20", "100000000000000000000"),
            ("9007199254740993", "9007199254740992"),
            ("0.000001", "0.000001"),
            ("0.00000012", "1.2e-7"),
            ("-12.50", "-12.5"),
            ("-0.0", "0"),
            (r#""\u001f\u2028é\"""#, "\"\\u001f\u{2028}é\\\"\""),
            (
                r#"{"b":[1.0,{"z":null,"a":true}],"10":1,"9":2,"01":3,"4294967295":4,"__proto__":{},"😀":5,"\ufffd":6}"#,
                "{\"9\":2,\"10\":1,\"01\":3,\"4294967295\":4,\"b\":[1,{\"a\":true,\"z\":null}],\"😀\":5,\"\u{fffd}\":6}",
            ),
        ] {
            let value = serde_json::from_str(json).unwrap();
            assert_eq!(stringified(&value), expected, "{json}");
        }
    }
}
