//! The output of a step as later steps receive it: its text, its files, and the JSON in its text.

use std::borrow::Cow;

use serde_json::Value;

use crate::domain::ids::TaskId;
use crate::domain::limits;
use crate::domain::name::Name;
use crate::domain::workflow::StepStatus;

/// The output of a step, for those that depend on it.
#[derive(Clone, Debug)]
pub(crate) struct StepOutput {
    pub(crate) step: Name,
    pub(crate) agent: Option<Name>,
    pub(crate) status: StepStatus,
    /// Its task, by which the rest of its output can be read.
    pub(crate) task: Option<TaskId>,
    /// The agent's text.
    pub(crate) output: String,
    /// The files that its agent changed, as far as it reported them.
    pub(crate) files: Vec<String>,
    /// The outputs of its items, if it has `for_each`; then text and files are theirs.
    pub(crate) items: Option<Vec<StepOutput>>,
}

impl StepOutput {
    /// Returns its output in pieces: its own, or those of its items.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = &StepOutput> {
        let own = self.items.is_none().then_some(self);
        own.into_iter().chain(self.items.iter().flatten())
    }

    /// Returns the files that the step changed, each once.
    pub(crate) fn files(&self) -> Vec<&str> {
        let mut files: Vec<&str> = Vec::new();
        for file in self.pieces().flat_map(|piece| &piece.files) {
            if !files.contains(&file.as_str()) {
                files.push(file);
            }
        }
        files
    }

    /// Returns the JSON in the output, or a field of it. For a step with `for_each` it is a list, with the JSON of each item, or
    /// its text.
    pub(crate) fn json(&self, path: &[String]) -> Result<Value, String> {
        let step = &self.step;
        let document = match &self.items {
            Some(items) => Some(items.iter().map(Self::document).collect()),
            None => json_in(&self.output),
        };
        let document = document.ok_or_else(|| match self.status {
            StepStatus::Done => format!("the output of step `{step}` has no JSON in it"),
            status => format!("the step `{step}` {} and left no JSON", status.phrase()),
        })?;
        let missing = || {
            let path = path.join(".");
            format!("the JSON in the output of step `{step}` has no field `{path}`")
        };
        field(&document, path).cloned().ok_or_else(missing)
    }

    fn document(&self) -> Value {
        json_in(&self.output).unwrap_or_else(|| Value::String(self.output.trim().to_owned()))
    }

    /// Returns the items of a list in the output. A step that was not needed has none.
    pub(crate) fn list(&self, path: &[String]) -> Result<Vec<Value>, String> {
        if self.status == StepStatus::Unneeded {
            return Ok(Vec::new());
        }
        let (step, value) = (&self.step, self.json(path)?);
        let Value::Array(items) = value else {
            let kind = kind(&value);
            return Err(format!("`for_each` needs a list, but step `{step}` returned {kind}"));
        };
        if items.len() > limits::MAX_ITEMS {
            let (count, most) = (items.len(), limits::MAX_ITEMS);
            return Err(format!(
                "the list of step `{step}` has {count} items; the limit is {most}"
            ));
        }
        Ok(items)
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Follows a path of keys and indices.
pub(crate) fn field<'a>(document: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(document, |value, key| match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        other => other.get(key),
    })
}

/// Returns a value as a text: a text as it is, anything else as JSON.
pub(crate) fn as_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

/// Finds the JSON in an output: the whole output, its last fenced block, or the text between its outermost brackets.
fn json_in(output: &str) -> Option<Value> {
    let parse = |text: &str| serde_json::from_str::<Value>(text.trim()).ok();
    let is_document = |value: &Value| value.is_object() || value.is_array();
    let fenced = || {
        let blocks: Vec<_> = output.split("```").collect();
        let inner = blocks.iter().skip(1).step_by(2).rev();
        let unmarked = |block: &&str| block.trim_start_matches("json").to_owned();
        inner.map(unmarked).find_map(|block| parse(&block).filter(is_document))
    };
    let between = |open: char, close: char| {
        let (begin, end) = (output.find(open)?, output.rfind(close)?);
        parse(output.get(begin..=end)?)
    };
    parse(output).or_else(fenced).or_else(|| between('{', '}')).or_else(|| between('[', ']'))
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    pub(in crate::workflow) fn given(step: &str, output: &str) -> StepOutput {
        StepOutput {
            step: Name::parse(step).unwrap(),
            agent: Some(Name::parse("codex").unwrap()),
            status: StepStatus::Done,
            task: Some(TaskId::from_bits(1)),
            output: output.to_owned(),
            files: vec!["src/a.rs".into(), "b\nc".into()],
            items: None,
        }
    }

    fn path(path: &str) -> Vec<String> {
        path.split_terminator('.').map(str::to_owned).collect()
    }

    #[test]
    fn fields_of_json_are_found_in_plain_fenced_and_mixed_outputs() {
        let field = |output: &str, at: &str| given("a", output).json(&path(at));
        assert_eq!(field(r#"{"ok": true}"#, "ok"), Ok(json!(true)));
        let fenced = "Here:\n```json\n{\"list\": [{\"id\": \"x\"}]}\n```\nbye";
        assert_eq!(field(fenced, "list.0.id"), Ok(json!("x")));
        assert_eq!(field(fenced, "list"), Ok(json!([{"id": "x"}])));
        assert_eq!(field("so {\"n\": 1.5} it is", "n"), Ok(json!(1.5)));
        assert_eq!(field("[\"p\", \"q\"]", "1"), Ok(json!("q")));
        assert_eq!(field("[1]", ""), Ok(json!([1])));
        let missing = field(fenced, "list.1.id").unwrap_err();
        assert!(missing.contains("has no field `list.1.id`"), "{missing}");
        let none = field("no", "x").unwrap_err();
        assert!(none.contains("has no JSON in it"), "{none}");
    }

    #[test]
    fn a_list_has_a_maximum_length_and_that_of_an_unneeded_step_is_empty() {
        let list = |output: &str| given("a", output).list(&path("files"));
        assert_eq!(list(r#"{"files": ["x", 2]}"#), Ok(vec![json!("x"), json!(2)]));
        assert_eq!(
            list(r#"{"files": "x"}"#).unwrap_err(),
            "`for_each` needs a list, but step `a` returned a text"
        );
        let long = json!({"files": vec![0; limits::MAX_ITEMS + 1]}).to_string();
        assert_eq!(list(&long).unwrap_err(), "the list of step `a` has 51 items; the limit is 50");
        let unneeded = StepOutput { status: StepStatus::Unneeded, ..given("a", "") };
        assert_eq!(unneeded.list(&path("files")), Ok(vec![]));
    }

    #[test]
    fn the_output_of_a_list_is_a_list_of_json_and_text() {
        let all = StepOutput {
            items: Some(vec![given("a.1", r#"{"ok": true}"#), given("a.2", " so so\n")]),
            ..given("a", "")
        };
        assert_eq!(all.json(&[]), Ok(json!([{"ok": true}, "so so"])));
        assert_eq!(all.json(&path("0.ok")), Ok(json!(true)));
        assert_eq!(all.files(), ["src/a.rs", "b\nc"], "each once");
    }
}
