//! The edits to a file, as lines. Only setup's own keys and values are shown: the rest of the file may contain secrets. Pure.

use serde_json::Value;

use crate::setup::edits::config_edit::{FileEdits, JsonEdit};

/// Returns a line per edit: its keys and its value, behind a mark (`+` or `-`).
pub(super) fn lines(mark: char, edits: &FileEdits) -> Vec<String> {
    let entry = |path: &[String], value: &Value| format!("{mark} {}: {value}", path.join("."));
    match edits {
        FileEdits::Json(edits) => edits
            .iter()
            .map(|edit| match edit {
                JsonEdit::Entry(one) => entry(&one.path, &one.value),
                JsonEdit::Item(one) => format!("{mark} {}: [… {}]", one.path.join("."), one.value),
            })
            .collect(),
        FileEdits::Toml(entries) => {
            entries.iter().map(|one| entry(&one.path, &one.value)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::setup::edits::config_edit::{Entry, Item};

    #[test]
    fn an_edit_is_a_line_with_its_keys_and_its_value() {
        let path = |text: &str| text.split('.').map(str::to_owned).collect::<Vec<_>>();
        let entry = Entry { path: path("servers.bridge"), value: json!({ "command": "/x" }) };
        let item = Item { path: path("allow"), value: json!("mcp__bridge"), same_purpose: None };
        let edits = FileEdits::Json(vec![JsonEdit::Entry(entry.clone()), JsonEdit::Item(item)]);
        assert_eq!(
            lines('+', &edits),
            [r#"+ servers.bridge: {"command":"/x"}"#, r#"+ allow: [… "mcp__bridge"]"#]
        );
        let edits = FileEdits::Toml(vec![entry]);
        assert_eq!(lines('-', &edits), [r#"- servers.bridge: {"command":"/x"}"#]);
    }
}
