//! The edits that setup makes to a configuration file, as keys and values, and what it must remember to undo them.
//!
//! `edit_json` and `edit_toml` apply them to the text itself, so that the owner's comments, order and spaces stay.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::limits::{CLIENT_WORD_CHARS, NAMED_IN_CLIENT_FILE, SHOWN_NAME_CHARS};
use crate::domain::text::visible_letters::{beginning, quoted};

/// The file name of our program, wherever it is installed.
pub const PROGRAM: &str = "cli-team-bridge";

/// A value under a key of our own, such as an MCP server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The keys that lead to the value, its own last.
    pub path: Vec<String>,
    pub value: Value,
}

/// Which other items of a list make one of setup's superfluous.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SamePurpose {
    /// Those that contain this text. Users may write such an item by hand.
    Containing(String),
    /// The hooks that run this command. Any other may only look like ours.
    Running { command: String },
}

/// A value in a list that holds other values too, such as a permission or a hook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// The keys that lead to the list.
    pub path: Vec<String>,
    pub value: Value,
    /// If the list has such an item, setup adds none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_purpose: Option<SamePurpose>,
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
        "{} has fields that setup does not write: {fields}. In a project's file they may be the repository's, so remove these fields, \
         or the entry",
        place(path)
    )]
    FurtherFields { path: Vec<String>, fields: String },
    #[error(
        "{} has been changed since setup wrote it, and starts another copy of this program. Correct its `command` by hand: `{command}`",
        place(path)
    )]
    Moved { path: Vec<String>, command: String },
    #[error(
        "{} has been changed since setup wrote it, and starts this program with other arguments. If you did not mean that, correct its \
         `args` by hand: `{arguments}`",
        place(path)
    )]
    OtherArguments { path: Vec<String>, arguments: String },
    #[error(
        "{} starts this program as a peer, which joins a team and leads none. To let setup connect a client that leads, set its `args` by \
         hand to `{arguments}`, or remove that entry",
        place(path)
    )]
    Joins { path: Vec<String>, arguments: String },
    #[error(
        "{} has been changed since setup wrote it, and starts a program that is missing: `{gone}`. Correct its `command` by hand: `{command}`",
        place(path)
    )]
    Gone { path: Vec<String>, gone: String, command: String },
    #[error(
        "{} has more than {most} values, commas, line ends and comments, too many for setup; edit it by hand",
        place(path)
    )]
    TooMany { path: Vec<String>, most: usize },
    #[error(
        "it has more than {most} keys, values, brackets, commas, comments and line ends, too many to read: remove what it does not \
         need, or edit it by hand"
    )]
    TooLarge { most: usize },
    #[error("{reader} cannot read it: {why}. Correct it first; setup does not overwrite it")]
    NotRead { reader: &'static str, why: String },
    #[error("the edit would change other parts of its text; add the entry by hand")]
    NotKept,
}

/// Names a place in a file for a message.
fn place(path: &[String]) -> String {
    // A key may be the name of a directory.
    let keys = beginning(&path.join("."), CLIENT_WORD_CHARS);
    if path.is_empty() { "its whole content".to_owned() } else { format!("`{keys}`") }
}

/// Names a value in a file by the keys that lead to it, as its owner has to look for it.
pub fn key_of(path: &[String]) -> String {
    let is_plain = |key: &str| {
        !key.is_empty()
            && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    let named = |key: &String| if is_plain(key) { key.clone() } else { format!("{key:?}") };
    path.iter().map(named).collect::<Vec<_>>().join(".")
}

/// Returns what an MCP server's entry starts, for a message: without arguments and paths of an address, which may contain keys.
pub(in crate::setup) fn started_by(entry: &Value) -> String {
    let command = entry["command"].as_str().filter(|_| remote_fields(entry).is_empty());
    let address = || ADDRESSES.iter().find_map(|key| host_of(entry[*key].as_str()?));
    let runs = command.map(program_of).or_else(address);
    runs.map_or_else(|| "something else".to_owned(), |runs| beginning(&runs, CLIENT_WORD_CHARS))
}

/// Returns the program of a command, for a message. A command may contain arguments, variables or an address, and these may be keys.
pub fn program_of(command: &str) -> String {
    let mut words = command.split_whitespace();
    let first = words.next().unwrap_or_default();
    let more = if words.next().is_some() { " …" } else { "" };
    let shown = match (host_of(first), first.split_once('=')) {
        (Some(host), _) => host,
        (None, Some((name, _))) => format!("{name}=…"),
        (None, None) => first.to_owned(),
    };
    beginning(&format!("{shown}{more}"), CLIENT_WORD_CHARS)
}

/// Returns an address without its user and its path.
fn host_of(address: &str) -> Option<String> {
    let (scheme, rest) = address.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next()?.rsplit('@').next()?;
    Some(format!("{scheme}://{host}"))
}

/// The fields with which an entry names a server that is reached by an address.
const ADDRESSES: [&str; 4] = ["url", "httpUrl", "serverUrl", "tcp"];

/// The fields with which an entry says how its server is reached, and the only value with which that is the command's process.
const KINDS: [&str; 2] = ["type", "transport"];
const PROCESS: &str = "stdio";

/// Returns the fields of an entry with which a client may reach a server by an address, even beside a command.
pub fn remote_fields(entry: &Value) -> Vec<String> {
    let addresses = ADDRESSES.iter().filter(|key| entry.get(**key).is_some());
    let is_other = |key: &&&str| entry.get(**key).is_some_and(|kind| kind != PROCESS);
    addresses.chain(KINDS.iter().filter(is_other)).map(|key| (*key).to_owned()).collect()
}

/// Returns the fields of an entry with which a client may not start its command. Without an address, some clients take no notice of what
/// names a kind, as they were seen to do it.
pub fn remote_fields_for(client: &str, entry: &Value) -> Vec<String> {
    let mut fields = remote_fields(entry);
    let counts = |field: &String| match (client, field.as_str()) {
        ("codex" | "gemini" | "qwen", "type")
        | ("claude-code" | "codex" | "gemini" | "qwen" | "droid", "transport") => false,
        ("droid", "type") => ["http", "sse"].iter().any(|kind| entry["type"] == *kind),
        _ => true,
    };
    if ADDRESSES.iter().all(|key| entry.get(*key).is_none()) {
        fields.retain(counts);
    }
    fields
}

/// Says whether these fields of an entry only name a kind of server that is no process, without an address for it: a client that looks at
/// that does not start the entry, and reaches no other server.
pub fn are_kinds_alone(fields: &[String]) -> bool {
    fields.iter().all(|field| KINDS.contains(&field.as_str()))
}

/// The limits in time of any client's entry. README writes one for all clients, also for those that do not look at it.
const LIMITS: [&str; 3] = ["timeout", "tool_timeout_sec", "startup_timeout_sec"];

/// Returns the fields of an entry, besides its command line, that setup does not write, or not so. Numbers may differ: users tune them.
/// What says that the server is a process changes nothing, and neither does a limit in time, which may be wrong where the client has one.
pub fn further_fields(entry: &Value, expected: &Value) -> Vec<String> {
    let is_ours = |key: &str, value: &Value| {
        ["command", "args"].contains(&key)
            || KINDS.contains(&key) && value == PROCESS
            || LIMITS.contains(&key) && value.is_number()
            || expected.get(key).is_some_and(|ours| {
                let may_differ = value.is_number() || LIMITS.contains(&key);
                value == ours || (may_differ && ours.is_number())
            })
    };
    let fields = entry.as_object().into_iter().flatten();
    fields.filter(|(key, value)| !is_ours(key, value)).map(|(key, _)| key.clone()).collect()
}

/// Names the fields of an entry in a sentence. Their values may be keys.
pub fn named_fields(names: &[String]) -> String {
    let shown = names.iter().take(NAMED_IN_CLIENT_FILE).map(|name| quoted(name, SHOWN_NAME_CHARS));
    let shown = shown.collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED_IN_CLIENT_FILE) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Says whether an entry still runs our program, even if its other fields have changed.
pub fn runs_bridge(entry: &Value) -> bool {
    names_bridge(entry) && remote_fields(entry).is_empty()
}

/// Says whether the command of an entry is our program.
pub fn names_bridge(entry: &Value) -> bool {
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

/// Says whether a value is what setup writes, apart from numbers and, if so allowed, further fields.
pub(in crate::setup) fn has_form(value: &Value, expected: &Value, may_have_more: bool) -> bool {
    match (value, expected) {
        (Value::Object(fields), Value::Object(expected)) => {
            let has = |(key, expected): (&String, &Value)| {
                fields.get(key).is_some_and(|value| has_form(value, expected, false))
            };
            expected.iter().all(has) && (may_have_more || fields.len() == expected.len())
        }
        (Value::Array(values), Value::Array(expected)) => {
            let mut pairs = values.iter().zip(expected);
            values.len() == expected.len()
                && pairs.all(|(value, expected)| has_form(value, expected, false))
        }
        (Value::Number(_), Value::Number(_)) => true,
        (value, expected) => value == expected,
    }
}

impl Item {
    /// Says whether an item of the list is this one, or a group of hooks that runs this one's, perhaps with another limit or beside others.
    pub(in crate::setup) fn is_in(&self, present: &Value) -> bool {
        *present == self.value || hooks_of(present).any(|hook| self.runs(hook))
    }

    /// Says whether a group of hooks has nothing but this one's, so that it goes with it.
    pub(in crate::setup) fn is_alone_in(&self, group: &Value) -> bool {
        let fields = group.as_object().into_iter().flatten();
        hooks_of(group).all(|hook| self.runs(hook))
            && fields.into_iter().all(|(key, _)| self.value.get(key).is_some())
    }

    /// Says whether a hook runs the command of this one.
    pub(in crate::setup) fn runs(&self, hook: &Value) -> bool {
        let is_same = |ours: &Value| {
            ["type", "command"].iter().all(|key| ours.get(key).is_some() && ours[key] == hook[key])
        };
        hooks_of(&self.value).any(is_same)
    }
}

fn hooks_of(group: &Value) -> impl Iterator<Item = &Value> {
    group["hooks"].as_array().into_iter().flatten()
}

impl JsonEdit {
    /// Returns the keys of the value, or of the list that it is in.
    pub(in crate::setup) fn path(&self) -> &[String] {
        match self {
            Self::Entry(entry) => &entry.path,
            Self::Item(item) => &item.path,
        }
    }

    pub(in crate::setup) fn value(&self) -> &Value {
        match self {
            Self::Entry(entry) => &entry.value,
            Self::Item(item) => &item.value,
        }
    }

    /// Says whether it writes a value into a list.
    pub(in crate::setup) fn is_item(&self) -> bool {
        matches!(self, Self::Item(_))
    }

    /// Says whether both write the same value in the same place.
    pub(in crate::setup) fn writes_the_same_as(&self, other: &Self) -> bool {
        self.is_item() == other.is_item()
            && self.path() == other.path()
            && self.value() == other.value()
    }
}

impl FileEdits {
    /// Says whether there are no edits.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Json(edits) => edits.is_empty(),
            Self::Toml(entries) => entries.is_empty(),
        }
    }

    /// Returns the edits to a file of either kind, one by one.
    pub(in crate::setup) fn each(&self) -> Vec<JsonEdit> {
        match self {
            Self::Json(edits) => edits.clone(),
            Self::Toml(entries) => entries.iter().cloned().map(JsonEdit::Entry).collect(),
        }
    }

    /// Returns other edits to a file of the same kind. A TOML file has entries only.
    pub(in crate::setup) fn of_same_kind(&self, edits: Vec<JsonEdit>) -> Self {
        let entry = |edit: JsonEdit| match edit {
            JsonEdit::Entry(entry) => Some(entry),
            JsonEdit::Item(_) => None,
        };
        match self {
            Self::Json(_) => Self::Json(edits),
            Self::Toml(_) => Self::Toml(edits.into_iter().filter_map(entry).collect()),
        }
    }
}
