//! Parses prompts with placeholders: `{{steps.NAME.output}}`, `.status`, `.files`, `.json.FIELD`, and `{{item.FIELD}}`.
//!
//! Only a path of words between `{{` and `}}` is a placeholder, so code with braces stays as it is. `\{{` stands for `{{` itself.

use crate::domain::limits;
use crate::domain::name::Name;
use crate::domain::text::suggest::nearest;
use crate::domain::workflow::{Field, StepReference};

/// The separator between a step and the path of a field.
const JSON: &str = ".json.";

/// The name of the item of a list.
const ITEM: &str = "item";

/// The names of the fields.
const FIELDS: [&str; 4] = ["output", "status", "files", "json"];

/// A piece of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Text(String),
    /// A value of another step.
    Value(StepReference),
    /// The list item of the step, or a field of it as a path of keys and indices.
    Item(Vec<String>),
}

/// Parses a prompt into parts, and returns its problems. A wrong placeholder stays as text.
pub(crate) fn parse(prompt: &str) -> (Vec<Part>, Vec<String>) {
    let (mut parts, mut problems) = (Vec::new(), Vec::new());
    let (mut text, mut rest) = (String::new(), prompt);
    while let Some(at) = rest.find("{{") {
        let (before, braces) = rest.split_at(at);
        if let Some(before) = before.strip_suffix('\\') {
            text.push_str(before);
            text.push_str("{{");
            rest = &braces[2..];
            continue;
        }
        text.push_str(before);
        let Some(inner) = inner(&braces[2..]) else {
            text.push_str("{{");
            rest = &braces[2..];
            continue;
        };
        let whole = &braces[..inner.len() + 4];
        rest = &braces[whole.len()..];
        match placeholder(inner.trim()) {
            Ok(part) => {
                if !text.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut text)));
                }
                parts.push(part);
            }
            Err(problem) => {
                let shown: String = whole.chars().take(limits::SHOWN_NAME_CHARS).collect();
                problems.push(format!("unknown placeholder `{shown}`: {problem}"));
                text.push_str(whole);
            }
        }
    }
    text.push_str(rest);
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
    (parts, problems)
}

/// Returns the text before the next `}}`, if it is a path of words.
fn inner(text: &str) -> Option<&str> {
    let inner = &text[..text.find("}}")?];
    let word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    let path = inner.trim();
    let is_path = path.bytes().all(word)
        && path.bytes().next().is_some_and(|first| first.is_ascii_alphabetic());
    is_path.then_some(inner)
}

fn placeholder(path: &str) -> Result<Part, String> {
    let item = path.strip_prefix(ITEM).and_then(|rest| match rest {
        "" => Some(Part::Item(Vec::new())),
        rest => keys(rest.strip_prefix('.')?).map(Part::Item),
    });
    match item {
        Some(item) => Ok(item),
        None => {
            source(path).map(Part::Value).map_err(|hint| hint.unwrap_or_else(|| FORMS.to_owned()))
        }
    }
}

const FORMS: &str =
    "write `{{steps.NAME.output}}`, `.status`, `.files` or `.json.FIELD`, or `\\{{` for braces";

/// Parses a reference to a step's output as it is written between braces. An error may have a hint at what was meant.
pub(crate) fn source(path: &str) -> Result<StepReference, Option<String>> {
    let (step, field) = path
        .strip_prefix("steps.")
        .and_then(|rest| match rest.split_once(JSON) {
            Some((step, path)) => Some((step, Ok(Field::Json(keys(path)?)))),
            // The name of a step may contain dots.
            None => rest.rsplit_once('.').map(|(step, word)| (step, field(word))),
        })
        .ok_or(None)?;
    let step = Name::parse(step).map_err(|error| Some(error.to_string()))?;
    let field = field?;
    Ok(StepReference { step, field })
}

fn field(word: &str) -> Result<Field, Option<String>> {
    Ok(match word {
        "output" => Field::Output,
        "status" => Field::Status,
        "files" => Field::Files,
        "json" => Field::Json(Vec::new()),
        _ => {
            let near = nearest(word, FIELDS);
            return Err(near.first().map(|near| format!("did you mean `.{near}`?")));
        }
    })
}

/// Parses a path of keys and indices.
fn keys(path: &str) -> Option<Vec<String>> {
    let keys: Vec<_> = path.split('.').map(str::to_owned).collect();
    (!keys.iter().any(String::is_empty)).then_some(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(step: &str, field: Field) -> Part {
        let step = Name::parse(step).unwrap();
        Part::Value(StepReference { step, field })
    }

    fn text(text: &str) -> Part {
        Part::Text(text.into())
    }

    #[track_caller]
    fn check(prompt: &str, expected: &[Part]) {
        let (parts, problems) = parse(prompt);
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(parts, expected);
    }

    #[test]
    fn placeholders_are_found_between_texts() {
        check("plain", &[text("plain")]);
        check(
            "a {{steps.x.output}}{{ steps.y-2.v1.status }} b",
            &[text("a "), value("x", Field::Output), value("y-2.v1", Field::Status), text(" b")],
        );
        check("{{steps.x.files}}", &[value("x", Field::Files)]);
        let path = Field::Json(vec!["items".into(), "0".into(), "id".into()]);
        check("{{steps.x.json.items.0.id}}", &[value("x", path)]);
        check("{{steps.x.json}}", &[value("x", Field::Json(vec![]))]);
        check("{{item}}", &[Part::Item(vec![])]);
        let path = vec!["file".into(), "name".into()];
        check("{{ item.file.name }}", &[Part::Item(path)]);
    }

    #[test]
    fn braces_without_a_path_stay_text() {
        for code in ["let a = {{ 1 }};", "{{}}", "{{", "x }} {{ y", "{{a b}}", "{{{ö}}}"] {
            check(code, &[text(code)]);
        }
        check("\\{{steps.x.output}}", &[text("{{steps.x.output}}")]);
    }

    #[test]
    fn an_unknown_placeholder_is_a_problem_with_a_hint() {
        let problem = |prompt: &str| parse(prompt).1.join("; ");
        let near = problem("{{steps.x.outputs}}");
        assert_eq!(near, "unknown placeholder `{{steps.x.outputs}}`: did you mean `.output`?");
        assert!(problem("{{name}}").contains("write `{{steps.NAME.output}}`"));
        assert!(problem("{{steps.x.json.}}").contains("`.json.FIELD`"));
        assert!(problem("{{item.}}").contains("`.json.FIELD`"));
        assert!(problem("{{items}}").contains("write `{{steps.NAME.output}}`"));
        assert!(problem("{{steps.x}}").contains("write `{{steps.NAME.output}}`"));
        assert!(problem("{{steps.all.output}}").contains("reserved"));
        assert_eq!(parse("{{a}} {{b}}").1.len(), 2);
    }
}
