//! Corrects the program of an entry that starts one which is missing, where the owner of the file has written or changed that entry: the
//! program alone, so that the rest of it stays.

use serde_json::Value;

use super::config_edit::{EditError, Entry, FileEdits, JsonEdit};
use super::{edit_json, edit_toml};

/// The field of an entry that names its program.
const COMMAND: &str = "command";

/// A text whose entries start a program that exists.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::setup) struct Mended {
    pub(in crate::setup) text: String,
    /// The programs that are no longer in it, and those that have taken their places.
    pub(in crate::setup) removed: FileEdits,
    pub(in crate::setup) added: FileEdits,
}

/// Puts the program of each of setup's entries into a text, where `must_be` says that the entry which is present needs it. Returns none
/// if no entry does.
pub(in crate::setup) fn mend(
    text: &str,
    edits: &FileEdits,
    must_be: impl Fn(&Entry, &Value) -> bool,
) -> Result<Option<Mended>, EditError> {
    let mut mended = text.to_owned();
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    for edit in edits.each() {
        let JsonEdit::Entry(entry) = edit else {
            continue;
        };
        let present = match edits {
            FileEdits::Json(_) => edit_json::value_at(text, &entry.path)?,
            FileEdits::Toml(_) => edit_toml::value_at(text, &entry.path)?,
        };
        let Some(present) = present.filter(|present| must_be(&entry, present)) else {
            continue;
        };
        let path = [entry.path.as_slice(), &[COMMAND.to_owned()]].concat();
        let program = entry.value[COMMAND].as_str().unwrap_or_default();
        mended = match edits {
            FileEdits::Json(_) => edit_json::replace_text(&mended, &path, program)?,
            FileEdits::Toml(_) => edit_toml::replace_text(&mended, &path, program)?,
        };
        removed
            .push(JsonEdit::Entry(Entry { path: path.clone(), value: present[COMMAND].clone() }));
        added.push(JsonEdit::Entry(Entry { path, value: program.into() }));
    }
    let is_mended = !added.is_empty();
    let (removed, added) = (edits.of_same_kind(removed), edits.of_same_kind(added));
    Ok(is_mended.then_some(Mended { text: mended, removed, added }))
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
        let mended = mend(text, &edits(json), |_, _| true).unwrap().unwrap();
        assert_eq!(mended.text, text.replace("/old/x", "/new/x"));
        assert_eq!(mended.removed.each()[0].value(), &json!("/old/x"));
        assert_eq!(mended.added.each()[0].value(), &json!("/new/x"));
        assert_eq!(mended.added.each()[0].path(), ["servers", "bridge", "command"]);

        let text = "# mine\n[servers.bridge]\ncommand  = '/old/x' # b\nenv = { A = \"1\" }\n";
        let mended = mend(text, &edits(FileEdits::Toml), |_, _| true).unwrap().unwrap();
        assert_eq!(mended.text, text.replace("'/old/x'", "\"/new/x\""));
    }

    #[test]
    fn an_entry_that_needs_no_other_program_stays_and_so_does_a_text_without_one() {
        let json = |entries: Vec<Entry>| {
            FileEdits::Json(entries.into_iter().map(JsonEdit::Entry).collect())
        };
        let text = "{ \"servers\": { \"bridge\": { \"command\": \"/old/x\" } } }";
        assert_eq!(mend(text, &edits(json), |_, _| false), Ok(None));
        assert_eq!(mend("{}", &edits(json), |_, _| true), Ok(None));
    }
}
