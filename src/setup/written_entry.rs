//! What of all that setup wants stands in a client's file, whoever wrote it: pure, from the text.

use serde_json::Value;

use super::config_edit::{EditError, FileEdits, JsonEdit};
use super::{edit_json, edit_toml};

/// What stands in a file of what setup wants there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Written {
    /// The entry of our server, as it is written; none where there is none, or the file is for something else.
    pub entry: Option<Value>,
    /// The entry that setup would write.
    pub wanted: Option<Value>,
    /// The lists in which something is missing, each by its keys (`permissions.allow`).
    pub missing: Vec<String>,
}

/// Looks what stands in a text.
pub fn look(text: &str, edits: &FileEdits) -> Result<Written, EditError> {
    let mut written = Written::default();
    match edits {
        FileEdits::Json(edits) => {
            for edit in edits {
                match edit {
                    JsonEdit::Entry(entry) => {
                        written.entry = edit_json::value_at(text, &entry.path)?;
                        written.wanted = Some(entry.value.clone());
                    }
                    JsonEdit::Item(item) => {
                        let added = edit_json::add(text, std::slice::from_ref(edit))?.added;
                        if !added.is_empty() {
                            written.missing.push(item.path.join("."));
                        }
                    }
                }
            }
        }
        FileEdits::Toml(entries) => {
            for entry in entries {
                written.entry = edit_toml::value_at(text, &entry.path)?;
                written.wanted = Some(entry.value.clone());
            }
        }
    }
    written.missing.dedup();
    Ok(written)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::setup::config_edit::{Entry, Item};

    #[test]
    fn an_entry_is_found_as_it_is_written_and_what_is_missing_is_named() {
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
        let written = look(text, &edits).unwrap();
        assert_eq!(written.entry, Some(json!({ "command": "y" })));
        assert_eq!(written.wanted, Some(json!({ "command": "x" })));
        assert_eq!(written.missing, ["permissions.allow"]);
        assert_eq!(look("", &edits).unwrap().entry, None);
        assert!(look("{", &edits).is_err());

        let toml = FileEdits::Toml(vec![entry]);
        let found = look("[servers.bridge]\ncommand = 'z'\n", &toml).unwrap().entry;
        assert_eq!(found, Some(json!({ "command": "z" })));
    }
}
