//! Corrects the command line of an entry that cannot start the bridge, where the owner of the file has written or changed that entry: its
//! program, its arguments or both, so that the rest of it stays. An undo puts back what was there.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::config_edit::{EditError, Entry, FileEdits, JsonEdit, program_of, runs_bridge};
use super::{edit_json, edit_toml};
use crate::domain::limits::CLIENT_WORD_CHARS;
use crate::domain::text::visible_letters::beginning;

/// Stands for an argument that may be a key.
const HIDDEN: &str = "(not shown)";

/// What is wrong with the command line of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::setup) enum Wrong {
    /// Its program is missing.
    Program,
    /// The program does not take its arguments. It is unknown which copy should start, so both fields are set.
    Arguments,
}

impl Wrong {
    /// Returns the fields that are to be set.
    fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Program => &["command"],
            Self::Arguments => &["command", "args"],
        }
    }
}

/// A text whose entries can start the bridge.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::setup) struct Mended {
    pub(in crate::setup) text: String,
    /// The programs and arguments that are no longer in it, as they may be shown, and those that have taken their places.
    pub(in crate::setup) removed: FileEdits,
    pub(in crate::setup) added: FileEdits,
    /// The same, for an undo.
    pub(in crate::setup) set: Vec<SetField>,
}

/// A field that setup has set in an entry of the owner's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetField {
    /// The keys that lead to the field.
    pub path: Vec<String>,
    /// Its value before; none if there was no such field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The value that setup has written.
    pub value: Value,
}

impl SetField {
    /// Returns the keys that lead to its entry.
    pub(in crate::setup) fn entry(&self) -> &[String] {
        self.path.split_last().map_or(&[], |(_, entry)| entry)
    }
}

/// Puts the command line of each of setup's entries into a text, where `look` finds that of the entry which is present wrong. Returns none
/// if it finds nothing.
pub(in crate::setup) fn mend(
    text: &str,
    edits: &FileEdits,
    look: impl Fn(&Entry, &Value) -> Option<Wrong>,
) -> Result<Option<Mended>, EditError> {
    let mut mended = text.to_owned();
    let (mut removed, mut added, mut set_fields) = (Vec::new(), Vec::new(), Vec::new());
    for edit in edits.each() {
        let JsonEdit::Entry(entry) = edit else {
            continue;
        };
        let Some(present) = value_at(text, edits, &entry.path)? else {
            continue;
        };
        let Some(wrong) = look(&entry, &present) else {
            continue;
        };
        for field in wrong.fields() {
            let (before, value) = (present.get(*field), entry.value[*field].clone());
            if before == Some(&value) {
                continue;
            }
            let path = [entry.path.as_slice(), &[(*field).to_owned()]].concat();
            let new = JsonEdit::Entry(Entry { path: path.clone(), value: value.clone() });
            mended = set(&mended, edits, &new, before.is_some())?;
            removed.extend(before.map(|before| shown(&path, before)));
            added.push(new);
            set_fields.push(SetField { path, before: before.cloned(), value });
        }
    }
    let is_mended = !added.is_empty();
    let (removed, added) = (edits.of_same_kind(removed), edits.of_same_kind(added));
    Ok(is_mended.then_some(Mended { text: mended, removed, added, set: set_fields }))
}

/// Returns all fields that two changes have set, each with its value before the first.
pub(in crate::setup) fn joined(earlier: &[SetField], later: &[SetField]) -> Vec<SetField> {
    let mut all = earlier.to_vec();
    for field in later {
        match all.iter_mut().find(|known| known.path == field.path) {
            Some(known) if Some(&known.value) == field.before.as_ref() => {
                known.value = field.value.clone();
            }
            // The owner has changed it in between.
            Some(known) => *known = field.clone(),
            None => all.push(field.clone()),
        }
    }
    all
}

/// Puts back the fields that still have setup's value, in entries that start the bridge. Returns the text with what is no longer in it, as
/// it may be shown, and what has taken its place.
pub(in crate::setup) fn put_back(
    text: &str,
    kind: &FileEdits,
    fields: &[SetField],
) -> Result<(String, FileEdits, FileEdits), EditError> {
    let mut left = text.to_owned();
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    for field in fields.iter().rev() {
        let Some(entry) = value_at(&left, kind, field.entry())? else {
            continue;
        };
        let key = field.path.last().map(String::as_str).unwrap_or_default();
        if !runs_bridge(&entry) || entry.get(key) != Some(&field.value) {
            continue;
        }
        removed.push(shown(&field.path, &field.value));
        left = match &field.before {
            Some(before) => {
                added.push(shown(&field.path, before));
                let old = Entry { path: field.path.clone(), value: before.clone() };
                set(&left, kind, &JsonEdit::Entry(old), true)?
            }
            None => remove(&left, kind, &field.path)?,
        };
    }
    Ok((left, kind.of_same_kind(removed), kind.of_same_kind(added)))
}

/// Returns a field with what may be shown of its value.
fn shown(path: &[String], value: &Value) -> JsonEdit {
    let key = path.last().map(String::as_str).unwrap_or_default();
    JsonEdit::Entry(Entry { path: path.to_owned(), value: for_display(key, value) })
}

fn value_at(text: &str, kind: &FileEdits, path: &[String]) -> Result<Option<Value>, EditError> {
    match kind {
        FileEdits::Json(_) => edit_json::value_at(text, path),
        FileEdits::Toml(_) => edit_toml::value_at(text, path),
    }
}

/// Returns the owner's program without arguments, and of a list of arguments the first, which is the command, and the names of flags: the
/// others may be keys.
fn for_display(field: &str, before: &Value) -> Value {
    let argument = |(place, argument): (usize, &Value)| -> Value {
        let word = argument.as_str().unwrap_or_default();
        let flag = word.split_once('=').map_or(word, |(flag, _)| flag);
        let is_name = |word: &str| {
            !word.is_empty()
                && word.bytes().all(|byte| byte.is_ascii_lowercase() || b"-".contains(&byte))
        };
        let is_shown = is_name(flag) && (flag.starts_with("--") || (place == 0 && flag == word));
        match (is_shown, flag == word) {
            (true, true) => beginning(word, CLIENT_WORD_CHARS).into(),
            (true, false) => format!("{}={HIDDEN}", beginning(flag, CLIENT_WORD_CHARS)).into(),
            (false, _) => HIDDEN.into(),
        }
    };
    match before {
        Value::String(command) if field == "command" => program_of(command).into(),
        Value::Array(arguments) => arguments.iter().enumerate().map(argument).collect(),
        _ => HIDDEN.into(),
    }
}

/// Sets a field, in its place if there is one.
fn set(
    text: &str,
    kind: &FileEdits,
    field: &JsonEdit,
    is_there: bool,
) -> Result<String, EditError> {
    let (path, value) = (field.path(), field.value());
    match kind.of_same_kind(vec![field.clone()]) {
        FileEdits::Json(_) if is_there => edit_json::replace_value(text, path, value),
        FileEdits::Toml(_) if is_there => edit_toml::replace_value(text, path, value),
        FileEdits::Json(edits) => edit_json::add(text, &edits).map(|edited| edited.text),
        FileEdits::Toml(entries) => edit_toml::add(text, &entries).map(|edited| edited.text),
    }
}

fn remove(text: &str, kind: &FileEdits, path: &[String]) -> Result<String, EditError> {
    match kind {
        FileEdits::Json(_) => edit_json::remove_value(text, path),
        FileEdits::Toml(_) => edit_toml::remove_value(text, path),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn edits(of: fn(Vec<Entry>) -> FileEdits) -> FileEdits {
        let path = ["servers", "bridge"].map(str::to_owned).to_vec();
        of(vec![Entry { path, value: json!({ "command": "/new/x", "args": ["a"] }) }])
    }

    #[test]
    fn only_the_program_changes() {
        let json = |entries: Vec<Entry>| {
            FileEdits::Json(entries.into_iter().map(JsonEdit::Entry).collect())
        };
        let text = "{ // mine\n \"servers\": {\"bridge\" : { \"command\":  \"/old/x\", /* b */ \"env\": {} }} }";
        let mended = mend(text, &edits(json), |_, _| Some(Wrong::Program)).unwrap().unwrap();
        assert_eq!(mended.text, text.replace("/old/x", "/new/x"));
        assert_eq!(mended.removed.each()[0].value(), &json!("/old/x"));
        assert_eq!(mended.added.each()[0].value(), &json!("/new/x"));
        assert_eq!(mended.added.each()[0].path(), ["servers", "bridge", "command"]);

        let text = "# mine\n[servers.bridge]\ncommand  = '/old/x' # b\nenv = { A = \"1\" }\n";
        let mended =
            mend(text, &edits(FileEdits::Toml), |_, _| Some(Wrong::Program)).unwrap().unwrap();
        assert_eq!(mended.text, text.replace("'/old/x'", "\"/new/x\""));
    }

    #[test]
    fn wrong_arguments_are_set_where_they_stand_or_added_with_the_program() {
        let json = |entries: Vec<Entry>| {
            FileEdits::Json(entries.into_iter().map(JsonEdit::Entry).collect())
        };
        let mended = |text: &str, edits: &FileEdits| {
            mend(text, edits, |_, _| Some(Wrong::Arguments)).unwrap().map(|mended| mended.text)
        };
        let text = r#"{"servers": {"bridge": {"args": ["b", "c"], /* d */ "command": "/new/x"}}}"#;
        let expected = text.replace(r#"["b", "c"]"#, r#"["a"]"#);
        assert_eq!(mended(text, &edits(json)), Some(expected));
        let text = r#"{
  "servers": {
    "bridge": {
      "command": "/old/x",
      "env": {}
    }
  }
}"#;
        let expected = r#"{
  "servers": {
    "bridge": {
      "command": "/new/x",
      "env": {},
      "args": ["a"]
    }
  }
}"#;
        assert_eq!(mended(text, &edits(json)).as_deref(), Some(expected));

        let text = "[servers.bridge]\nargs = [\"b\"] # d\ncommand = \"/new/x\"\n";
        let expected = text.replace("[\"b\"]", "[\"a\"]");
        assert_eq!(mended(text, &edits(FileEdits::Toml)), Some(expected));
        let text = "[servers.bridge]\ncommand = \"/new/x\"\n";
        let expected = "[servers.bridge]\ncommand = \"/new/x\"\nargs = [\"a\"]\n";
        assert_eq!(mended(text, &edits(FileEdits::Toml)).as_deref(), Some(expected));
    }

    /// What goes is recognized by its owner, and no key is printed.
    #[test]
    fn removed_arguments_are_shown_but_for_what_may_be_a_key() {
        let json = |entries: Vec<Entry>| {
            FileEdits::Json(entries.into_iter().map(JsonEdit::Entry).collect())
        };
        let shown = |args: Value| {
            let entry = json!({ "command": "/new/x", "args": args });
            let text = json!({ "servers": { "bridge": entry } }).to_string();
            let mended = mend(&text, &edits(json), |_, _| Some(Wrong::Arguments)).unwrap().unwrap();
            mended.removed.each()[0].value().clone()
        };
        let words = json!(["orchestrate", "--projct", "/home/u/app", "--key=SECRET", "--adopt"]);
        assert_eq!(
            shown(words),
            json!(["orchestrate", "--projct", "(not shown)", "--key=(not shown)", "--adopt"])
        );
        assert_eq!(shown(json!(["sk-0SECRET", 7])), json!(["(not shown)", "(not shown)"]));
        assert_eq!(shown(json!("SECRET all")), json!("(not shown)"));
        assert_eq!(shown(json!({ "a": "SECRET" })), json!("(not shown)"));
    }

    #[test]
    fn what_was_set_is_put_back_unless_the_owner_has_changed_it_since() {
        let json = |entries: Vec<Entry>| {
            FileEdits::Json(entries.into_iter().map(JsonEdit::Entry).collect())
        };
        let toml = "[servers.bridge] # mine\ncommand = \"/old/cli-team-bridge\"\n";
        let text =
            r#"{"servers": {"bridge": { "command":"/old/cli-team-bridge" /* b */, "args":["b"]}}}"#;
        for (text, of) in [(text, json as fn(_) -> _), (toml, FileEdits::Toml)] {
            let path = ["servers", "bridge"].map(str::to_owned).to_vec();
            let to = |program: &str| {
                let value = json!({ "command": program, "args": ["a"] });
                of(vec![Entry { path: path.clone(), value }])
            };
            let mend = |text: &str, program: &str| {
                mend(text, &to(program), |_, _| Some(Wrong::Arguments)).unwrap().unwrap()
            };
            let one = mend(text, "/one/cli-team-bridge");
            let two = mend(&one.text, "/two/cli-team-bridge");
            let set = joined(&one.set, &two.set);
            let (left, removed, added) = put_back(&two.text, &to(""), &set).unwrap();
            assert_eq!(left, text);
            let shown = |edits: FileEdits| {
                edits.each().iter().map(|edit| edit.value().clone()).collect::<Vec<_>>()
            };
            assert_eq!(shown(removed), [json!(["a"]), json!("/two/cli-team-bridge")]);
            assert!(shown(added).contains(&json!("/old/cli-team-bridge")));
            let own = two.text.replace("/two/", "/mine/");
            let (left, ..) = put_back(&own, &to(""), &set).unwrap();
            assert_eq!(left, text.replace("/old/", "/mine/"));
            let foreign = two.text.replace("/two/cli-team-bridge", "/x");
            assert_eq!(put_back(&foreign, &to(""), &set).unwrap().0, foreign);
        }
    }

    #[test]
    fn an_entry_that_needs_no_other_program_stays_and_so_does_a_text_without_one() {
        let json = |entries: Vec<Entry>| {
            FileEdits::Json(entries.into_iter().map(JsonEdit::Entry).collect())
        };
        let text = "{ \"servers\": { \"bridge\": { \"command\": \"/old/x\" } } }";
        assert_eq!(mend(text, &edits(json), |_, _| None), Ok(None));
        assert_eq!(mend("{}", &edits(json), |_, _| Some(Wrong::Program)), Ok(None));
    }
}
