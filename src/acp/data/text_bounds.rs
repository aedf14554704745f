//! Bounds on an agent's words: secrets are hidden first, then the text is cut. Outside this module no text of an agent is long or
//! contains a secret, and one-line texts have one line.

use crate::domain::limits;
use crate::domain::text::redact::{Hidden, Secrets};
use crate::domain::text::visible_letters::{is_invisible, one_line};
use serde_json::Value;

/// Returns a name that is sent back to the agent unchanged. A name that is too long, has invisible characters or contains a secret cannot
/// be chosen, and so is `None`.
pub(crate) fn name(raw: &Value, field: &str, secrets: &Secrets) -> Option<Hidden> {
    let name = raw.get(field)?.as_str()?;
    if !(1..=limits::MODEL_BYTES).contains(&name.len()) || name.contains(is_invisible) {
        return None;
    }
    let hidden = secrets.hidden(name);
    (hidden.as_str() == name).then_some(hidden)
}

/// Returns a text as one line for people, and marks a cut.
pub(crate) fn line(text: &str, secrets: &Secrets, most: usize) -> Hidden {
    let hidden = secrets.hidden(text);
    // Removing invisible characters may reveal another secret.
    secrets.hidden(one_line(hidden.as_str())).cut(most)
}

/// Returns a text field as a short line for people.
pub(crate) fn word(raw: &Value, field: &str, secrets: &Secrets) -> Option<Hidden> {
    let text = raw.get(field)?.as_str()?;
    Some(line(text, secrets, limits::AGENT_WORD_CHARS))
}

/// Returns the additional data of an error. If it is too long, only its sentence is kept.
pub(crate) fn error_data(data: &Value, secrets: &Secrets) -> Value {
    let whole = secrets.hidden(data.to_string());
    if !whole.head(limits::AGENT_ERROR_CHARS).1 {
        let is_text = |_| Value::String(whole.as_str().to_owned());
        return serde_json::from_str(whole.as_str()).unwrap_or_else(is_text);
    }
    let sentence = sentence(data).unwrap_or(whole.as_str());
    Value::String(line(sentence, secrets, limits::AGENT_ERROR_CHARS).into())
}

/// Returns the sentence in the additional data of an error: qwen's is more precise than its "Internal error".
pub(crate) fn sentence(data: &Value) -> Option<&str> {
    match data {
        Value::String(text) => Some(text),
        Value::Object(fields) => {
            ["details", "message"].iter().find_map(|key| fields.get(*key)?.as_str())
        }
        _ => None,
    }
}

/// Returns a currency: a few letters. Any other word would give an unknown amount.
pub(crate) fn currency(raw: &Value) -> Option<String> {
    let currency = raw.get("currency")?.as_str()?;
    let is_one = (1..=limits::CURRENCY_LETTERS).contains(&currency.len())
        && currency.chars().all(|letter| letter.is_ascii_alphabetic());
    is_one.then(|| currency.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const KEY: &str = "sk-1234567890";

    fn secrets() -> Secrets {
        Secrets::of([("API_KEY", KEY)].into_iter())
    }

    #[test]
    fn a_name_with_a_key_is_dropped_and_a_line_hides_it() {
        let raw = json!({"id": format!("m-{KEY}"), "good": "m"});
        assert_eq!(name(&raw, "id", &secrets()), None);
        assert_eq!(name(&raw, "good", &secrets()).unwrap().as_str(), "m");
        let shown = word(&raw, "id", &secrets()).unwrap();
        assert_eq!(shown.as_str(), "m-[hidden: API_KEY]");
        // Removing characters of a line must not reveal a key either.
        let torn = KEY.replace('-', "-\u{200b}");
        assert_eq!(line(&torn, &secrets(), 99).as_str(), "[hidden: API_KEY]");
    }

    #[test]
    fn no_cut_leaves_a_half_of_a_key() {
        for before in 0..limits::AGENT_WORD_CHARS {
            let text = format!("{}{KEY}", "x".repeat(before));
            let shown = line(&text, &secrets(), limits::AGENT_WORD_CHARS);
            assert!(!shown.as_str().contains("sk-"), "{shown:?}");
        }
    }

    #[test]
    fn short_additional_data_of_an_error_is_unchanged() {
        let data = json!({"details": format!("no {KEY}"), "retry_after": 60});
        let kept = json!({"details": "no [hidden: API_KEY]", "retry_after": 60});
        assert_eq!(error_data(&data, &secrets()), kept);
        let long = json!({"more": "x".repeat(20_000), "message": format!("no {KEY}")});
        assert_eq!(error_data(&long, &secrets()), json!("no [hidden: API_KEY]"));
    }
}
