//! Plans the change to one file: a pure decision from its text, the edits that setup makes, and an earlier change by setup.

use super::config_edit::{EditError, Edited, FileEdits};
use super::setup_record::SetupRecord;
use super::{edit_json, edit_toml};

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
    if let Some(text) = now
        && has(text, edits)?
    {
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
