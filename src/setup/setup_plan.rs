//! What is to become of one file: pure, from what it says now, what setup wants in it, and what setup did to it before.

use super::config_edit::{EditError, Edited, FileEdits};
use super::setup_record::SetupRecord;
use super::{edit_json, edit_toml};

/// What setup did to a file before.
#[derive(Clone, Debug)]
pub struct Earlier {
    pub record: SetupRecord,
    /// What the file was, if it was there and is kept.
    pub original: Option<String>,
}

/// What is to be done to a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Addition {
    /// All is there.
    Nothing,
    Write {
        after: String,
        /// What the file is without our entries, to be kept; none where it would not be there.
        original: Option<String>,
        added: FileEdits,
        made: Vec<Vec<String>>,
    },
}

/// What is to be done to a file to undo what setup did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    /// Nothing of ours is in it.
    Nothing,
    Write(String),
    Delete,
}

/// Plans to add what is missing in a file. What setup added before, in another form, goes.
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

/// Plans to undo what setup did to a file: the original, where nobody has changed the file since, else the file without our entries.
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
