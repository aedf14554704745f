//! Setup's edits in the files of a client of which setup has no record, recognized by their form: pure functions of the files' texts.
//!
//! Records get lost with the state directory, and a project that was moved has none at its new path. An edit counts as setup's only if
//! setup writes exactly that for a program of our name at an absolute path; numbers, which users tune, may differ. An entry with further
//! fields is its user's work. What names no program (the permission for the server `bridge`) counts only beside such an edit, and only if no other entry `bridge` needs it.

use std::path::Path;

use serde_json::Value;

use super::edits::config_edit::{EditError, Entry, FileEdits, Item, JsonEdit, PROGRAM, has_form};
use super::edits::{edit_json, edit_toml};
use crate::domain::text::shell_word::shell_word;

/// The most programs whose edits are looked for. Each costs a look at all files, and a user has one or two.
const MOST_PROGRAMS: usize = 8;

/// Setup's edits in one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Recognized {
    /// The edits to remove.
    pub ours: FileEdits,
    /// The programs that these edits start.
    pub programs: Vec<String>,
    /// The places, each by its keys, that name this program or its server in a form that setup does not write.
    pub others: Vec<String>,
}

/// Finds setup's edits in a client's files. `edits_for` returns the edits of all files for a program, and `texts` has the files' texts
/// in the same order. `has_entry_elsewhere` says whether an entry `bridge` outside of these files needs what names no program. An error
/// comes with the index of its file.
pub fn recognize(
    texts: &[&str],
    has_entry_elsewhere: bool,
    edits_for: impl Fn(&str) -> Vec<FileEdits>,
) -> Result<Vec<Recognized>, (usize, EditError)> {
    // What setup writes alike for two programs names no program.
    let [one, other] = ["/one", "/other"].map(|place| edits_for(&format!("{place}/{PROGRAM}")));
    let nameless = |(one, other): (&FileEdits, &FileEdits)| -> Vec<JsonEdit> {
        let other = other.each();
        one.each().into_iter().filter(|edit| other.contains(edit)).collect()
    };
    let nameless: Vec<_> = one.iter().zip(&other).map(nameless).collect();
    let mut files = Vec::new();
    for (at, (text, edits)) in texts.iter().zip(&one).enumerate() {
        files.push(Present::read(text, edits).map_err(|error| (at, error))?);
    }
    for program in programs(&files) {
        for ((file, edits), nameless) in files.iter_mut().zip(edits_for(&program)).zip(&nameless) {
            let mut named = edits.each();
            named.retain(|edit| !nameless.contains(edit));
            let before = file.ours.len();
            file.take(&named);
            if file.ours.len() > before {
                file.programs.push(program.clone());
            }
        }
    }
    let has_ours = files.iter().any(|file| !file.ours.is_empty());
    let has_other_entry =
        has_entry_elsewhere || files.iter().any(|file| file.places.iter().any(Place::has_entry));
    if has_ours && !has_other_entry {
        for (file, nameless) in files.iter_mut().zip(&nameless) {
            file.take(nameless);
        }
    }
    // The permission for another author's server is no concern of ours.
    let is_concern = |edit: &JsonEdit| !has_other_entry || strings(edit.value()).any(names_us);
    let files = files.into_iter().zip(nameless).zip(&one);
    let recognized = files.map(|((file, mut nameless), kind)| {
        nameless.retain(is_concern);
        file.recognized(&nameless, kind)
    });
    Ok(recognized.collect())
}

/// Removes recognized edits from a text. Tables and lists stay even if they are now empty, because the user may have made them.
pub fn take_out(text: &str, ours: &FileEdits) -> Result<String, EditError> {
    match ours {
        FileEdits::Json(edits) => edit_json::take_out(text, edits, &[]),
        FileEdits::Toml(entries) => edit_toml::take_out(text, entries, &[]),
    }
}

/// A place of a file where setup writes something, and what is there.
struct Place {
    path: Vec<String>,
    is_list: bool,
    /// The value of an entry, or the values of a list, without those that are ours.
    values: Vec<Value>,
}

impl Place {
    fn has_entry(&self) -> bool {
        !self.is_list && !self.values.is_empty()
    }
}

/// What a file has in setup's places.
struct Present {
    places: Vec<Place>,
    ours: Vec<JsonEdit>,
    programs: Vec<String>,
}

impl Present {
    fn read(text: &str, edits: &FileEdits) -> Result<Self, EditError> {
        let mut places: Vec<Place> = Vec::new();
        for edit in edits.each() {
            let (path, is_list) = (edit.path(), edit.is_item());
            if places.iter().any(|place| place.path == path) {
                continue;
            }
            let value = match edits {
                FileEdits::Json(_) => edit_json::value_at(text, path)?,
                FileEdits::Toml(_) => edit_toml::value_at(text, path)?,
            };
            let values = match value {
                Some(Value::Array(values)) if is_list => values,
                Some(value) if !is_list => vec![value],
                // Setup writes nothing into what is not a list.
                _ => Vec::new(),
            };
            places.push(Place { path: path.to_owned(), is_list, values });
        }
        Ok(Self { places, ours: Vec::new(), programs: Vec::new() })
    }

    /// Moves the values that have the form of these edits to our edits.
    fn take(&mut self, edits: &[JsonEdit]) {
        for edit in edits {
            let (path, expected) = (edit.path(), edit.value());
            let Some(place) = self.places.iter_mut().find(|place| place.path == path) else {
                continue;
            };
            if let JsonEdit::Item(item) = edit {
                let has_ours =
                    |value: &mut Value| has_form(value, expected, false) || item.is_in(value);
                for value in place.values.extract_if(.., has_ours) {
                    // What others have added to a group of hooks stays, and is not shown.
                    let is_ours_alone = has_form(&value, expected, false);
                    let value = if is_ours_alone { value } else { expected.clone() };
                    let path = path.to_owned();
                    self.ours.push(JsonEdit::Item(Item { path, value, same_purpose: None }));
                }
                continue;
            }
            for value in place.values.extract_if(.., |value| has_form(value, expected, false)) {
                let path = path.to_owned();
                self.ours.push(JsonEdit::Entry(Entry { path, value }));
            }
        }
    }

    fn recognized(self, nameless: &[JsonEdit], kind: &FileEdits) -> Recognized {
        let is_left = |place: &&Place| {
            let is_nameless = |value: &Value| {
                nameless.iter().any(|edit| edit.path() == place.path && edit.value() == value)
            };
            let is_left = |value: &Value| strings(value).any(names_us) || is_nameless(value);
            place.values.iter().any(is_left)
        };
        let others = self.places.iter().filter(is_left).map(|place| place.path.join(".")).collect();
        let ours = kind.of_same_kind(self.ours);
        Recognized { ours, programs: self.programs, others }
    }
}

/// Returns the programs of our name that the files start, as far as they are named as setup does it.
fn programs(files: &[Present]) -> Vec<String> {
    let mut programs: Vec<String> = Vec::new();
    let values = files.iter().flat_map(|file| &file.places).flat_map(|place| &place.values);
    for program in values.flat_map(strings).filter_map(program_in) {
        if programs.len() < MOST_PROGRAMS && !programs.contains(&program) {
            programs.push(program);
        }
    }
    programs
}

/// Returns the program that a command, a hook or a permission of setup's form starts.
fn program_in(text: &str) -> Option<String> {
    let word = text.strip_prefix("Bash(").and_then(|inner| inner.strip_suffix(" watch:*)"));
    let word = word.or_else(|| text.strip_suffix(" hook"));
    let program = match word.and_then(|word| word.strip_prefix('\'')?.strip_suffix('\'')) {
        Some(quoted) => quoted.replace("'\\''", "'"),
        None => word.unwrap_or(text).to_owned(),
    };
    let path = Path::new(&program);
    let is_ours = path.is_absolute() && path.file_name().is_some_and(|name| name == PROGRAM);
    let is_one_word = word.is_none_or(|word| shell_word(&program) == word);
    (is_ours && is_one_word).then_some(program)
}

/// Returns all texts in a value, at the depth at which setup writes any.
fn strings(value: &Value) -> impl Iterator<Item = &str> {
    fn command(value: &Value) -> Option<&str> {
        value["command"].as_str()
    }
    let hooks = value["hooks"].as_array().into_iter().flatten();
    value.as_str().into_iter().chain(command(value)).chain(hooks.filter_map(command))
}

fn names_us(text: &str) -> bool {
    text.contains(PROGRAM)
}
