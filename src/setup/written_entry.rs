//! Which of setup's edits a client's file contains, written by setup or by hand: a pure function of the text.

use serde_json::Value;

use super::edits::config_edit::{EditError, FileEdits, JsonEdit, key_of};
use super::edits::{edit_json, edit_toml};

/// The parts of setup's edits that a file contains.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Written {
    /// The entry of our server in the file; none if it has none, or if no entry belongs in this file.
    pub entry: Option<Value>,
    /// The keys of that entry, whether it is there or not (`mcpServers.bridge`).
    pub key: String,
    /// The entry that setup would write.
    pub expected: Option<Value>,
    /// The lists to which setup's edits add an item, each by its keys (`permissions.allow`).
    pub lists: Vec<String>,
    /// Those of them that lack one.
    pub missing: Vec<String>,
}

/// Finds setup's edits in a text.
pub fn look(text: &str, edits: &FileEdits) -> Result<Written, EditError> {
    let mut written = Written::default();
    match edits {
        FileEdits::Json(edits) => {
            for edit in edits {
                match edit {
                    JsonEdit::Entry(entry) => {
                        written.entry = edit_json::value_at(text, &entry.path)?;
                        written.expected = Some(entry.value.clone());
                        written.key = key_of(&entry.path);
                    }
                    JsonEdit::Item(item) => {
                        written.lists.push(item.path.join("."));
                        if edit_json::lacks(text, item)? {
                            written.missing.push(item.path.join("."));
                        }
                    }
                }
            }
        }
        FileEdits::Toml(entries) => {
            for entry in entries {
                written.entry = edit_toml::value_at(text, &entry.path)?;
                written.expected = Some(entry.value.clone());
                written.key = key_of(&entry.path);
            }
        }
    }
    written.lists.dedup();
    written.missing.dedup();
    Ok(written)
}

/// Finds setup's edits in the part of a text that is for one project alone. A client that finds another value on the way to it, such as
/// `null`, takes it for nothing.
pub fn look_local(text: &str, edits: &FileEdits) -> Result<Written, EditError> {
    match look(text, edits) {
        Err(EditError::OtherShape { path, .. }) if !path.is_empty() => Ok(Written::default()),
        found => found,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::setup::edits::config_edit::{Entry, Item};

    #[test]
    fn an_entry_is_found_and_incomplete_lists_are_named() {
        let entry = Entry {
            path: ["servers", "bridge"].map(str::to_owned).to_vec(),
            value: json!({ "command": "x" }),
        };
        let item = Item {
            path: ["permissions", "allow"].map(str::to_owned).to_vec(),
            value: json!("mcp__bridge"),
            same_purpose: None,
        };
        let edits = FileEdits::Json(vec![JsonEdit::Entry(entry.clone()), JsonEdit::Item(item)]);
        let text = r#"{ /* mine */ "servers": { "bridge": { "command": "y" } } }"#;
        let lists = vec!["permissions.allow".to_owned()];
        let written = look(text, &edits).unwrap();
        assert_eq!(written.entry, Some(json!({ "command": "y" })));
        assert_eq!(written.expected, Some(json!({ "command": "x" })));
        assert_eq!(written.key, "servers.bridge");
        assert_eq!((&written.lists, &written.missing), (&lists, &lists));
        assert_eq!(look("", &edits).unwrap().entry, None);
        assert!(look("{", &edits).is_err());
        for odd in ["null", "5", "[]"] {
            let text = format!("{{ \"servers\": {odd} }}");
            assert!(look(&text, &edits).is_err(), "{odd}");
            assert_eq!(look_local(&text, &edits), Ok(Written::default()), "{odd}");
            assert!(look_local(odd, &edits).is_err(), "{odd}");
        }

        let toml = FileEdits::Toml(vec![entry]);
        let found = look("[servers.bridge]\ncommand = 'z'\n", &toml).unwrap().entry;
        assert_eq!(found, Some(json!({ "command": "z" })));
    }
}
