//! The edits that setup makes to a configuration file, as keys and values, and what it must remember to undo them.
//!
//! `edit_json` and `edit_toml` apply them to the text itself, so that the owner's comments, order and spaces stay.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::text::visible_letters::one_line;

/// The file name of our program, wherever it is installed.
pub const PROGRAM: &str = "cli-team-bridge";

/// A value under a key of our own, such as an MCP server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The keys that lead to the value, its own last.
    pub path: Vec<String>,
    pub value: Value,
}

/// A value in a list that holds other values too, such as a permission or a hook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// The keys that lead to the list.
    pub path: Vec<String>,
    pub value: Value,
    /// A text that only items of the same purpose contain. If the user wrote such an item by hand, setup adds none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_purpose: Option<String>,
}

/// One edit to a JSON file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JsonEdit {
    Entry(Entry),
    Item(Item),
}

/// All edits to one file, planned or made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileEdits {
    /// JSON, with comments or without.
    Json(Vec<JsonEdit>),
    Toml(Vec<Entry>),
}

/// A text after its edits.
#[derive(Clone, Debug, PartialEq)]
pub struct Edited {
    pub text: String,
    /// The edits that changed something.
    pub added: FileEdits,
    /// The tables and lists that were created for the edits, each by its keys, the outermost first.
    pub made: Vec<Vec<String>>,
}

/// Why a text cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error("it does not parse: {0}. Correct it first; setup does not overwrite it")]
    Unparsable(String),
    #[error("{} is not {expected}, so nothing can be added to it", place(path))]
    OtherShape { path: Vec<String>, expected: &'static str },
    #[error("the key {} appears twice; keep one", place(path))]
    Twice { path: Vec<String> },
    #[error(
        "{} already exists, and setup did not write it: `{runs}`. Remove or rename that entry to let setup write its own",
        place(path)
    )]
    Taken { path: Vec<String>, runs: String },
    #[error(
        "{} has been changed since setup wrote it, and starts another copy of this program. Correct its `command` by hand: `{command}`",
        place(path)
    )]
    Moved { path: Vec<String>, command: String },
    #[error(
        "{} has more than {most} values, commas, line ends and comments, too many for setup; edit it by hand",
        place(path)
    )]
    TooMany { path: Vec<String>, most: usize },
    #[error("the edit would change other parts of its text; add the entry by hand")]
    NotKept,
}

/// Names a place in a file for a message.
fn place(path: &[String]) -> String {
    // A key may be the name of a directory.
    let keys = one_line(&path.join("."));
    if path.is_empty() { "its whole content".to_owned() } else { format!("`{keys}`") }
}

/// Returns what an MCP server's entry starts, for a message: without arguments and paths of an address, which may contain keys.
pub(in crate::setup) fn started_by(entry: &Value) -> String {
    let host = |url: &str| {
        let (scheme, rest) = url.split_once("://")?;
        let host = rest.split(['/', '?', '#']).next()?.rsplit('@').next()?;
        Some(format!("{scheme}://{host}"))
    };
    let command = entry["command"].as_str().map(str::to_owned);
    command.or_else(|| host(entry["url"].as_str()?)).unwrap_or_else(|| "something else".to_owned())
}

/// Says whether an entry still runs our program, even if its other fields have changed.
pub fn runs_bridge(entry: &Value) -> bool {
    let command = entry["command"].as_str().unwrap_or_default();
    command.rsplit('/').next() == Some(PROGRAM)
}

/// Returns the fields of an object in the order in which people write them: type and command first, then the rest.
pub(in crate::setup) fn in_written_order(
    fields: &serde_json::Map<String, Value>,
) -> Vec<(&str, &Value)> {
    const FIRST: [&str; 4] = ["type", "matcher", "command", "args"];
    let rank = |key: &str| FIRST.iter().position(|first| *first == key).unwrap_or(FIRST.len());
    let mut fields: Vec<_> = fields.iter().map(|(key, value)| (key.as_str(), value)).collect();
    fields.sort_by_key(|(key, _)| rank(key));
    fields
}

impl FileEdits {
    /// Says whether there are no edits.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Json(edits) => edits.is_empty(),
            Self::Toml(entries) => entries.is_empty(),
        }
    }
}
