//! Templates: texts with placeholders such as `{{prompt}}` or `{{saved.path.0.field}}`, and values made of such texts.
//!
//! They are parsed once, when the script is loaded. Their names are looked up when a step is played, as the values are known only then.

use serde_json::{Map, Value};

/// The values that templates can name: `prompt`, `name`, `model`, `last`, and everything that was saved.
pub(crate) type Scope = Map<String, Value>;

/// A text with placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// The name, then the keys and indexes below it. Never empty.
    Path(Vec<String>),
}

/// Why a template has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TemplateError {
    /// The name is unknown.
    #[error("`{{{{{path}}}}}` does not exist; use one of {known}")]
    Unknown { path: String, known: String },
    /// The name is known, but its value has no such part.
    #[error("`{{{{{path}}}}}` does not exist: `{parent}` is {value}")]
    NoSuchPart { path: String, parent: String, value: String },
}

impl Template {
    /// Parses a text; the message of a mistake stands alone.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(start) = rest.find("{{") {
            if start > 0 {
                pieces.push(Piece::Text(rest[..start].to_owned()));
            }
            let inside = &rest[start + 2..];
            let Some(end) = inside.find("}}") else {
                return Err("a `{{` without a closing `}}`".to_owned());
            };
            let path: Vec<String> = inside[..end].trim().split('.').map(str::to_owned).collect();
            if path.iter().any(|part| !is_word(part)) {
                return Err(format!(
                    "`{{{{{}}}}}` is not a name: write `{{{{name.field.0}}}}`",
                    &inside[..end]
                ));
            }
            pieces.push(Piece::Path(path));
            rest = &inside[end + 2..];
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Ok(Self(pieces))
    }

    /// Returns the text with every placeholder replaced; a value that is not a text is written as JSON.
    pub(crate) fn text(&self, scope: &Scope) -> Result<String, TemplateError> {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::Path(path) => match look_up(path, scope)? {
                    Value::String(value) => text.push_str(value),
                    value => text.push_str(&value.to_string()),
                },
            }
        }
        Ok(text)
    }

    /// Returns the value: a single placeholder keeps its type (a number stays a number), everything else is a text.
    pub(crate) fn value(&self, scope: &Scope) -> Result<Value, TemplateError> {
        match self.0.as_slice() {
            [Piece::Path(path)] => look_up(path, scope).cloned(),
            _ => self.text(scope).map(Value::String),
        }
    }

    /// Says whether it holds as a condition: a missing part, `null`, `false`, 0 and empty values do not.
    pub(crate) fn holds(&self, scope: &Scope) -> Result<bool, TemplateError> {
        match self.value(scope) {
            Ok(value) => Ok(is_truth(&value)),
            Err(TemplateError::NoSuchPart { .. }) => Ok(false),
            Err(unknown @ TemplateError::Unknown { .. }) => Err(unknown),
        }
    }
}

/// A value in a tool's arguments: every text in it is a template.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Pattern {
    Text(Template),
    List(Vec<Pattern>),
    Table(Vec<(String, Pattern)>),
    Fixed(Value),
}

impl Pattern {
    /// Returns the value with every placeholder replaced.
    pub(crate) fn value(&self, scope: &Scope) -> Result<Value, TemplateError> {
        match self {
            Self::Text(template) => template.value(scope),
            Self::List(list) => list
                .iter()
                .map(|item| item.value(scope))
                .collect::<Result<_, _>>()
                .map(Value::Array),
            Self::Table(table) => {
                let pairs = table.iter().map(|(key, item)| Ok((key.clone(), item.value(scope)?)));
                pairs.collect::<Result<_, _>>().map(Value::Object)
            }
            Self::Fixed(value) => Ok(value.clone()),
        }
    }
}

/// Says whether a word can be a name or a part of a path.
pub(crate) fn is_word(word: &str) -> bool {
    !word.is_empty()
        && word.chars().all(|char| char.is_ascii_alphanumeric() || char == '_' || char == '-')
}

fn is_truth(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(value) => value.as_f64() != Some(0.0),
        Value::String(value) => !value.is_empty() && value != "false",
        Value::Array(value) => !value.is_empty(),
        Value::Object(value) => !value.is_empty(),
    }
}

fn look_up<'a>(path: &[String], scope: &'a Scope) -> Result<&'a Value, TemplateError> {
    let mut value = scope.get(&path[0]).ok_or_else(|| {
        let mut known: Vec<&String> = scope.keys().collect();
        known.sort();
        TemplateError::Unknown { path: path.join("."), known: super::toml_fields::quoted(&known) }
    })?;
    for (index, part) in path.iter().enumerate().skip(1) {
        let inner = match value {
            Value::Object(table) => table.get(part),
            Value::Array(list) => part.parse::<usize>().ok().and_then(|place| list.get(place)),
            _ => None,
        };
        value = inner.ok_or_else(|| TemplateError::NoSuchPart {
            path: path.join("."),
            parent: path[..index].join("."),
            value: head(&value.to_string()),
        })?;
    }
    Ok(value)
}

/// Returns the beginning of a text: enough to recognise a value in a message.
fn head(text: &str) -> String {
    const SHOWN: usize = 200;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn scope() -> Scope {
        let scope = json!({
            "prompt": "do it", "last": {"messages": [{"id": "m1", "size": 3}], "note": null}, "name": "writer"
        });
        scope.as_object().unwrap().clone()
    }

    fn check(text: &str, expected: Result<&str, &str>) {
        let result = Template::parse(text)
            .and_then(|it| it.text(&scope()).map_err(|error| error.to_string()));
        assert_eq!(result.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn names_are_replaced_by_their_values() {
        check("plain } text {", Ok("plain } text {"));
        check("{{name}}: {{ prompt }}!", Ok("writer: do it!"));
        check("{{last.messages.0.id}} has {{last.messages.0.size}}", Ok("m1 has 3"));
        check("{{last.messages}}", Ok(r#"[{"id":"m1","size":3}]"#));
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        check(
            "{{stranger.id}}",
            Err("`{{stranger.id}}` does not exist; use one of `last`, `name`, `prompt`"),
        );
    }

    #[test]
    fn the_error_for_a_missing_part_shows_the_value() {
        check(
            "{{last.messages.1.id}}",
            Err("`{{last.messages.1.id}}` does not exist: `last.messages` is \
                    [{\"id\":\"m1\",\"size\":3}]"),
        );
        check("{{name.first}}", Err("`{{name.first}}` does not exist: `name` is \"writer\""));
    }

    #[test]
    fn an_invalid_template_is_refused_when_read() {
        check("{{name", Err("a `{{` without a closing `}}`"));
        check("{{a b}}", Err("`{{a b}}` is not a name: write `{{name.field.0}}`"));
        check("{{}}", Err("`{{}}` is not a name: write `{{name.field.0}}`"));
    }

    #[test]
    fn a_single_name_keeps_its_type() {
        let size = Template::parse("{{last.messages.0.size}}").unwrap();
        assert_eq!(size.value(&scope()), Ok(json!(3)));
        let text = Template::parse("{{last.messages.0.size}} bytes").unwrap();
        assert_eq!(text.value(&scope()), Ok(json!("3 bytes")));
    }

    #[test]
    fn a_condition_holds_unless_the_value_is_empty_or_missing() {
        let holds = |text: &str| {
            Template::parse(text).unwrap().holds(&scope()).map_err(|error| error.to_string())
        };
        assert_eq!(holds("{{prompt}}"), Ok(true));
        assert_eq!(holds("{{last.messages}}"), Ok(true));
        assert_eq!(holds("{{last.note}}"), Ok(false));
        assert_eq!(holds("{{last.missing}}"), Ok(false));
        assert!(holds("{{missing}}").is_err());
    }
}
