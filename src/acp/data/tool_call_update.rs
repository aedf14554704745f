//! One message about a tool call, read from raw JSON: a `tool_call`, a `tool_call_update`, or the `toolCall` of a permission
//! question. [`ToolCalls`](crate::acp::ToolCalls) puts the messages of a call together.

use super::content_block::block_text;
use super::json_fields::{list, present, string};
use super::touched_paths::Touched;
use serde_json::Value;
use std::collections::HashSet;

/// One message about a tool call; a field that it does not mention is `None`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolCallUpdate {
    /// The call's id, unique in the session.
    pub id: String,
    /// Whether it is a `tool_call`, the beginning of a call. Some agents send every change as one.
    pub begins: bool,
    /// The title that people are shown.
    pub title: Option<String>,
    /// The tool's own name, if the agent sends it as a separate field; empty if that is not a text.
    pub name: Option<String>,
    /// `read`, `edit`, `execute`, `other`, …
    pub kind: Option<String>,
    /// `pending`, `in_progress`, `completed`, `failed`, …
    pub status: Option<String>,
    /// The paths that the call concerns.
    pub locations: Option<Vec<String>>,
    /// The files that it changes, if it shows diffs.
    pub diffs: Option<Vec<Diff>>,
    /// The tool's arguments, in the agent's own shape.
    pub raw_input: Option<Value>,
    /// The result so far, as text.
    pub content: Option<String>,
    /// The agent's own additions.
    pub meta: Option<Value>,
    /// The input of the permission rules: every place that the message names, and the kind.
    pub touched: Touched,
}

/// A file that a call changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    /// The path of the file.
    pub path: String,
    /// Whether the call creates the file.
    pub is_new: bool,
}

impl ToolCallUpdate {
    /// Parses the fields that `tool_call`, `tool_call_update` and a permission's `toolCall` share; only the id is required.
    pub(crate) fn parse(raw: &Value) -> Option<Self> {
        Some(Self {
            id: string(raw, "toolCallId")?,
            begins: string(raw, "sessionUpdate").as_deref() == Some("tool_call"),
            title: string(raw, "title").filter(|title| !title.is_empty()),
            name: present(raw, "name").filter(|name| *name != "").map(name_of),
            kind: string(raw, "kind"),
            status: string(raw, "status"),
            locations: locations(raw),
            diffs: diffs(raw),
            raw_input: present(raw, "rawInput").cloned(),
            content: list(raw, "content").map(|parts| {
                let parts: Vec<String> = parts.iter().filter_map(tool_content).collect();
                parts.join("\n")
            }),
            meta: present(raw, "_meta").cloned(),
            touched: Touched::parse(raw),
        })
    }
}

/// Returns a tool's name; an empty one, which no tool has, if it is not a text.
fn name_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns the paths that a call names: its locations, and the paths of its diffs.
fn locations(raw: &Value) -> Option<Vec<String>> {
    let paths = |places: &Vec<Value>| -> Vec<String> {
        places.iter().filter_map(|at| string(at, "path")).collect()
    };
    let named = list(raw, "locations").map(paths);
    let changed = list(raw, "content").map(paths).unwrap_or_default();
    if changed.is_empty() {
        return named;
    }
    // All of them: a rule allows only paths that it has checked, and only reported paths count as changed.
    let all = named.into_iter().flatten().chain(changed);
    let mut seen = HashSet::new();
    Some(all.filter(|path| seen.insert(path.clone())).collect())
}

fn diffs(raw: &Value) -> Option<Vec<Diff>> {
    let is_diff = |part: &&Value| string(part, "type").as_deref() == Some("diff");
    let parts = list(raw, "content")?.iter().filter(is_diff);
    let diffs = parts.filter_map(|part| {
        Some(Diff { path: string(part, "path")?, is_new: present(part, "oldText").is_none() })
    });
    let diffs: Vec<_> = diffs.collect();
    // Content without a diff does not remove earlier diffs.
    (!diffs.is_empty()).then_some(diffs)
}

fn tool_content(part: &Value) -> Option<String> {
    match part.get("type")?.as_str()? {
        "content" => block_text(part.get("content")?),
        "diff" => Some(format!("[diff {}]", string(part, "path").unwrap_or_default())),
        other => Some(format!("[{other}]")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_tool_call_messages_are_parsed_alike() {
        let check = |update: &Value, expected: ToolCallUpdate| {
            assert_eq!(ToolCallUpdate::parse(update), Some(expected));
        };
        let fields = json!({
            "toolCallId": "c1", "title": "Read a.rs", "kind": "read", "status": "completed",
            "locations": [{"path": "/p/a.rs", "line": 3}, {"line": 4}],
            "rawInput": {"path": "a.rs"}, "_meta": {"toolName": "read_file"},
            "content": [
                {"type": "content", "content": {"type": "text", "text": "fn main"}},
                {"type": "diff", "path": "/p/a.rs", "oldText": null, "newText": "x"},
                {"type": "terminal", "terminalId": "t"},
                42,
            ],
        });
        for kind in ["tool_call", "tool_call_update"] {
            let mut update = fields.clone();
            update["sessionUpdate"] = json!(kind);
            check(
                &update,
                ToolCallUpdate {
                    id: "c1".into(),
                    begins: kind == "tool_call",
                    title: Some("Read a.rs".into()),
                    name: None,
                    kind: Some("read".into()),
                    status: Some("completed".into()),
                    locations: Some(vec!["/p/a.rs".into()]),
                    diffs: Some(vec![Diff { path: "/p/a.rs".into(), is_new: true }]),
                    raw_input: Some(json!({"path": "a.rs"})),
                    content: Some("fn main\n[diff /p/a.rs]\n[terminal]".into()),
                    meta: Some(json!({"toolName": "read_file"})),
                    touched: Touched::parse(&fields),
                },
            );
        }
        check(
            &json!({"sessionUpdate": "tool_call_update", "toolCallId": "c2", "title": null, "rawInput": null}),
            ToolCallUpdate { id: "c2".into(), ..ToolCallUpdate::default() },
        );
    }
}
