//! What setup wants in a configuration file, in terms of keys and values, and what it needs to know to take that out again.
//!
//! Each kind of file (`edit_json`, `edit_toml`) performs these on the text, so that comments, order and spaces of its owner stay.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the file of our program is called, wherever it is.
pub const PROGRAM: &str = "cli-team-bridge";

/// A value under a key that is ours: an MCP server, say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The keys that lead to it, its own last.
    pub path: Vec<String>,
    pub value: Value,
}

/// A value in a list that others have values in, too: a permission, a hook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// The keys that lead to the list.
    pub path: Vec<String>,
    pub value: Value,
    /// A text that only an item of the same purpose contains: one that the user wrote by hand will do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_purpose: Option<String>,
}

/// One thing that setup wants in a file of JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JsonEdit {
    Entry(Entry),
    Item(Item),
}

/// All that setup wants in one file, or has added to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileEdits {
    /// JSON, with comments or without.
    Json(Vec<JsonEdit>),
    Toml(Vec<Entry>),
}

/// A text with what was added to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Edited {
    pub text: String,
    /// What was not there before.
    pub added: FileEdits,
    /// The tables and lists that were made around it, each by its keys, the outermost first.
    pub made: Vec<Vec<String>>,
}

/// Why a text cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error("it does not parse: {0}. Correct it first; setup does not overwrite it")]
    Unparsable(String),
    #[error("{} is not {expected}, so nothing can be added to it", place(path))]
    OtherShape { path: Vec<String>, expected: &'static str },
    #[error("the key {} is there twice; keep one", place(path))]
    Twice { path: Vec<String> },
    #[error(
        "{} is there already, and setup did not write it: `{runs}`. Remove or rename that entry to let setup write its own",
        place(path)
    )]
    Taken { path: Vec<String>, runs: String },
    #[error("its text would not stay as it is; add the entry by hand")]
    NotKept,
}

/// Names a place in a file.
fn place(path: &[String]) -> String {
    if path.is_empty() { "its whole content".to_owned() } else { format!("`{}`", path.join(".")) }
}

/// Returns the command line that an MCP server's entry runs, for people.
pub(super) fn command_line(entry: &Value) -> String {
    let command = entry["command"].as_str();
    let args = entry["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let words: Vec<_> = command.into_iter().chain(args).collect();
    if words.is_empty() {
        let shown = entry["url"].as_str().unwrap_or("something else");
        return shown.to_owned();
    }
    words.join(" ")
}

/// Says whether an entry still runs our program, whatever else was changed in it.
pub(super) fn runs_bridge(entry: &Value) -> bool {
    let command = entry["command"].as_str().unwrap_or_default();
    command.rsplit('/').next() == Some(PROGRAM)
}

/// Returns the fields of an object in the order in which people write them: what it is and what it runs, then the rest.
pub(super) fn in_written_order(fields: &serde_json::Map<String, Value>) -> Vec<(&str, &Value)> {
    const FIRST: [&str; 4] = ["type", "matcher", "command", "args"];
    let rank = |key: &str| FIRST.iter().position(|first| *first == key).unwrap_or(FIRST.len());
    let mut fields: Vec<_> = fields.iter().map(|(key, value)| (key.as_str(), value)).collect();
    fields.sort_by_key(|(key, _)| rank(key));
    fields
}

impl FileEdits {
    /// Says whether this asks for nothing.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Json(edits) => edits.is_empty(),
            Self::Toml(entries) => entries.is_empty(),
        }
    }
}
