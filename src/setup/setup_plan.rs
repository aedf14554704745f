//! Plans the change to one file: a pure decision from its text, the edits that setup makes, and an earlier change by setup.

use serde_json::Value;

use super::edits::config_edit::{
    EditError, Edited, Entry, FileEdits, JsonEdit, further_fields, named_fields, runs_bridge,
};
use super::edits::{edit_json, edit_toml};
use super::setup_record::SetupRecord;

/// An earlier change of a file by setup.
#[derive(Clone, Debug)]
pub struct Earlier {
    pub record: SetupRecord,
    /// The original file, if there was one and its copy is intact.
    pub original: Option<String>,
}

/// The planned change that adds setup's edits to a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Addition {
    /// The file is complete.
    Nothing,
    Write {
        after: String,
        /// The file without our edits, to be kept for an undo; none if there would be no file.
        original: Option<String>,
        added: FileEdits,
        made: Vec<Vec<String>>,
    },
}

/// The planned change that undoes setup's edits to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    /// The file has none of our edits.
    Nothing,
    Write(String),
    Delete,
}

/// Plans to add the missing edits to a file. Outdated edits of an earlier setup are removed.
pub fn plan_addition(
    now: Option<&str>,
    edits: &FileEdits,
    earlier: Option<&Earlier>,
) -> Result<Addition, EditError> {
    let edits = match now {
        Some(text) => &needed(text, edits, earlier)?,
        None => edits,
    };
    if edits.is_empty() || now.is_some_and(|text| has(text, edits).unwrap_or(false)) {
        return Ok(Addition::Nothing);
    }
    let original = match (now, earlier) {
        (Some(text), Some(earlier)) => match plan_removal(text, earlier)? {
            Removal::Nothing => Some(text.to_owned()),
            Removal::Write(text) => Some(text),
            Removal::Delete => None,
        },
        _ => now.map(str::to_owned),
    };
    let Edited { text: after, added, made } = add(original.as_deref().unwrap_or_default(), edits)?;
    if added.is_empty() || now == Some(after.as_str()) {
        return Ok(Addition::Nothing);
    }
    Ok(Addition::Write { after, original, added, made })
}

/// Refuses a project's file with an entry of ours that has fields which setup does not write. A repository may have brought the entry,
/// and with some fields (`env`, `url`) another program would run under our name and our permission.
pub fn check_projects_entries(
    now: &str,
    edits: &FileEdits,
    earlier: Option<&Earlier>,
) -> Result<(), EditError> {
    let check = |entry: &Entry, present: Option<Value>| {
        let Some(present) = present.filter(|present| !is_recorded(entry, present, earlier)) else {
            return Ok(());
        };
        let fields = further_fields(&present, &entry.value);
        // Setup refuses an entry with another command line anyway.
        if fields.is_empty() || !has_command_line(entry, &present) {
            return Ok(());
        }
        Err(EditError::FurtherFields { path: entry.path.clone(), fields: named_fields(&fields) })
    };
    match edits {
        FileEdits::Json(edits) => edits.iter().try_for_each(|edit| match edit {
            JsonEdit::Entry(entry) => check(entry, edit_json::value_at(now, &entry.path)?),
            JsonEdit::Item(_) => Ok(()),
        }),
        FileEdits::Toml(entries) => entries
            .iter()
            .try_for_each(|entry| check(entry, edit_toml::value_at(now, &entry.path)?)),
    }
}

/// Plans to undo setup's edits to a file: restores the original if the file has not changed since, otherwise removes only our edits.
pub fn plan_removal(now: &str, earlier: &Earlier) -> Result<Removal, EditError> {
    let record = &earlier.record;
    if record.is_untouched(now) {
        if !record.had_file() {
            return Ok(Removal::Delete);
        }
        if let Some(original) = &earlier.original {
            return Ok(Removal::Write(original.clone()));
        }
    }
    let left = match &record.added {
        FileEdits::Json(added) => edit_json::take_out(now, added, &record.made)?,
        FileEdits::Toml(added) => edit_toml::take_out(now, added, &record.made)?,
    };
    if left == now {
        return Ok(Removal::Nothing);
    }
    let has_content = left.chars().any(|letter| !letter.is_whitespace() && !"{}".contains(letter));
    Ok(if record.had_file() || has_content { Removal::Write(left) } else { Removal::Delete })
}

/// Returns the edits without the entries that start this program already. The user may have changed their other fields.
fn needed(
    text: &str,
    edits: &FileEdits,
    earlier: Option<&Earlier>,
) -> Result<FileEdits, EditError> {
    Ok(match edits {
        FileEdits::Json(edits) => {
            let mut needed = Vec::new();
            for edit in edits {
                match edit {
                    JsonEdit::Entry(entry) => {
                        let present = edit_json::value_at(text, &entry.path)?;
                        if is_needed(entry, present.as_ref(), earlier)? {
                            needed.push(edit.clone());
                        }
                    }
                    JsonEdit::Item(_) => needed.push(edit.clone()),
                }
            }
            FileEdits::Json(needed)
        }
        FileEdits::Toml(entries) => {
            let mut needed = Vec::new();
            for entry in entries {
                let present = edit_toml::value_at(text, &entry.path)?;
                if is_needed(entry, present.as_ref(), earlier)? {
                    needed.push(entry.clone());
                }
            }
            FileEdits::Toml(needed)
        }
    })
}

/// Returns whether an entry has to be written. Refuses to replace one that the user has changed.
fn is_needed(
    entry: &Entry,
    present: Option<&Value>,
    earlier: Option<&Earlier>,
) -> Result<bool, EditError> {
    let Some(present) = present else { return Ok(true) };
    if has_command_line(entry, present) {
        return Ok(false);
    }
    match earlier {
        // Adding it refuses an entry of another author.
        None => Ok(true),
        Some(_) if is_recorded(entry, present, earlier) || !runs_bridge(present) => Ok(true),
        Some(_) => Err(EditError::Moved {
            path: entry.path.clone(),
            command: entry.value["command"].as_str().unwrap_or_default().to_owned(),
        }),
    }
}

/// Says whether an entry that is present starts this program as setup's entry does.
fn has_command_line(entry: &Entry, present: &Value) -> bool {
    ["command", "args"].iter().all(|key| present.get(key) == entry.value.get(key))
}

/// Says whether an entry that is present is exactly what an earlier setup wrote.
fn is_recorded(entry: &Entry, present: &Value, earlier: Option<&Earlier>) -> bool {
    let written = |one: &Entry| one.path == entry.path && one.value == *present;
    earlier.is_some_and(|earlier| match &earlier.record.added {
        FileEdits::Json(added) => {
            added.iter().any(|edit| matches!(edit, JsonEdit::Entry(one) if written(one)))
        }
        FileEdits::Toml(added) => added.iter().any(written),
    })
}

fn has(text: &str, edits: &FileEdits) -> Result<bool, EditError> {
    match edits {
        FileEdits::Json(edits) => edit_json::has(text, edits),
        FileEdits::Toml(entries) => edit_toml::has(text, entries),
    }
}

fn add(text: &str, edits: &FileEdits) -> Result<Edited, EditError> {
    match edits {
        FileEdits::Json(edits) => edit_json::add(text, edits),
        FileEdits::Toml(entries) => edit_toml::add(text, entries),
    }
}
