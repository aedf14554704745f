//! Plans the change to one file: a pure decision from its text, the edits that setup makes, and an earlier change by setup.

use serde_json::Value;

use super::brought_entry::{EntryFault, judge_form};
use super::edits::config_edit::{
    EditError, Edited, Entry, FileEdits, JsonEdit, PROGRAM, further_fields, has_form, key_of,
    named_fields, runs_bridge, started_by,
};
use super::edits::entry_arguments::{JudgeArguments, ServerRole, started_server};
use super::edits::mend_command::{self, SetField, Wrong};
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
        /// What this change adds.
        added: FileEdits,
        /// What it removes: outdated edits of an earlier setup.
        removed: FileEdits,
        /// All of setup's edits that the file then has.
        ours: FileEdits,
        /// What setup has set in an entry that the user has written.
        set: Vec<SetField>,
        /// The tables and lists that setup created for these, each by its keys, the outermost first.
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

/// What a file still has of an earlier setup's edits.
#[derive(Clone, Debug, PartialEq)]
pub struct Remaining {
    /// The edits that an undo removes.
    pub ours: FileEdits,
    /// What it removes from an entry that the user has written, and puts back into it, as it may be shown.
    pub replaced: FileEdits,
    pub put_back: FileEdits,
    /// The names of the fields that the user has added to our entry, which go with it.
    pub further_fields: Vec<String>,
    /// What has taken the place of the other edits, and stays, in words.
    pub others: Vec<String>,
}

/// Plans to add the missing edits of a client to a file. What is there stays as it is, apart from outdated edits of an earlier setup,
/// which are removed.
pub fn plan_addition(
    now: Option<&str>,
    edits: &FileEdits,
    client: &str,
    earlier: Option<&Earlier>,
) -> Result<Addition, EditError> {
    let Some(text) = now else {
        let Edited { text: after, added, made } = add("", edits)?;
        let (ours, removed) = (added.clone(), edits.of_same_kind(Vec::new()));
        let set = Vec::new();
        return Ok(Addition::Write { after, original: None, added, removed, ours, set, made });
    };
    let needed = needed(text, edits, earlier)?;
    let Recorded { kept, outdated } =
        earlier.map(|earlier| recorded(text, edits, client, &earlier.record)).unwrap_or_default();
    let removed = edits.of_same_kind(outdated);
    let made_before = earlier.map(|earlier| earlier.record.made.as_slice()).unwrap_or_default();
    let left =
        if removed.is_empty() { text.to_owned() } else { take_out(text, &removed, made_before)? };
    let Edited { text: after, added, made } = add(&left, &needed)?;
    if added.is_empty() && removed.is_empty() {
        return Ok(Addition::Nothing);
    }
    let original = original(text, earlier)?;
    let is_left = |path: &&Vec<String>| {
        !made.contains(path) && matches!(value_at(&after, edits, path), Ok(Some(_)))
    };
    let mut made: Vec<_> = made_before.iter().filter(is_left).chain(&made).cloned().collect();
    made.sort_by_key(Vec::len);
    let ours = edits.of_same_kind([kept, added.each()].concat());
    let set = still_set(earlier, &[], &ours);
    Ok(Addition::Write { after, original, added, removed, ours, set, made })
}

/// Returns the fields that setup has set by now in entries of the user. One in an entry of setup's own goes with that entry.
fn still_set(earlier: Option<&Earlier>, new: &[SetField], ours: &FileEdits) -> Vec<SetField> {
    let before = earlier.map(|earlier| earlier.record.set.as_slice()).unwrap_or_default();
    let mut set = mend_command::joined(before, new);
    let ours = ours.each();
    set.retain(|field| !ours.iter().any(|edit| edit.path() == field.entry()));
    set
}

/// What decides whether an entry is corrected that setup did not write as it is.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Says whether a program is missing.
    pub is_missing: &'a dyn Fn(&str) -> bool,
    /// Puts values in the places of variables in a command, as the client does.
    pub expand: &'a dyn Fn(&str) -> String,
    /// Says what is wrong with the arguments of the bridge.
    pub judge_arguments: JudgeArguments,
    /// Whether the file belongs to a project, whose repository may have brought it.
    pub is_of_project: bool,
}

/// How an entry stands that is present in setup's place.
enum Standing {
    /// It leads a team already, with arguments of its owner.
    Leads,
    /// Its owner meant the bridge, and it has to be corrected.
    Wrong(Wrong),
    /// It joins a team.
    Joins,
    /// Setup wrote it, or it is no concern of setup's, or not to be believed.
    Other,
}

impl Surroundings<'_> {
    /// Returns an entry as the client uses it.
    fn used(&self, present: &Value) -> Value {
        let mut used = present.clone();
        if let Some(command) = present["command"].as_str() {
            used["command"] = (self.expand)(command).into();
        }
        used
    }

    /// Says whether an entry starts the bridge from a place where it is not.
    fn is_gone(&self, present: &Value) -> bool {
        runs_bridge(present) && (self.is_missing)(present["command"].as_str().unwrap_or_default())
    }

    fn judge(&self, entry: &Entry, present: &Value, earlier: Option<&Earlier>) -> Standing {
        let is_ours = || !self.is_of_project || further_fields(present, &entry.value).is_empty();
        let is_written = is_recorded(entry, present, earlier);
        let present = &self.used(present);
        if !runs_bridge(present) || is_written || !is_ours() {
            return Standing::Other;
        }
        let role = match started_server(present, self.judge_arguments) {
            Ok(server) => server.role,
            Err(_) => return Standing::Wrong(Wrong::Arguments),
        };
        let has_same = |key: &str| present.get(key) == entry.value.get(key);
        // With other arguments, a repository would decide what is the user's to decide.
        if self.is_of_project && !has_same("args") {
            return Standing::Other;
        }
        // A project's file that names no path serves all who share it.
        let is_bare = present["command"].as_str().is_some_and(|command| !command.contains('/'));
        let is_shared = self.is_of_project && is_bare && !self.is_gone(present);
        match role {
            ServerRole::Peer => Standing::Joins,
            ServerRole::Orchestrator if has_same("command") || is_shared => Standing::Leads,
            ServerRole::Orchestrator => Standing::Wrong(Wrong::Program),
        }
    }
}

/// Plans like [`plan_addition`]. Before that, it takes over an entry for the bridge that the user has written or changed: it sets the program
/// if that is another one, also if it is named without a path, and the arguments too if the bridge does not take them. In a project's file it
/// does so only if the entry has nothing that setup does not write.
pub fn plan_correction(
    now: Option<&str>,
    edits: &FileEdits,
    client: &str,
    earlier: Option<&Earlier>,
    around: Surroundings<'_>,
) -> Result<Addition, EditError> {
    let Some(text) = now else {
        return plan_addition(now, edits, client, earlier);
    };
    let look = |entry: &Entry, present: &Value| match around.judge(entry, present, earlier) {
        Standing::Wrong(wrong) => Some(wrong),
        Standing::Leads | Standing::Joins | Standing::Other => None,
    };
    let mended = mend_command::mend(text, edits, look)?;
    let mended_text = mended.as_ref().map_or(text, |mended| mended.text.as_str());
    let edits = &unsettled(mended_text, edits, earlier, around)?;
    let planned = plan_addition(Some(mended_text), edits, client, earlier);
    let Some(mended) = mended else {
        return planned.map_err(|error| match error {
            EditError::Moved { path, command } => {
                let present = value_at(text, edits, &path).ok().flatten();
                match present.filter(|present| around.is_gone(&around.used(present))) {
                    Some(gone) => EditError::Gone { path, gone: started_by(&gone), command },
                    None => EditError::Moved { path, command },
                }
            }
            other => other,
        });
    };
    let joined =
        |ours: FileEdits, more: FileEdits| edits.of_same_kind([ours.each(), more.each()].concat());
    let original = original(text, earlier)?;
    Ok(match planned? {
        Addition::Nothing => {
            let nothing = || edits.of_same_kind(Vec::new());
            let ours = earlier.map_or_else(nothing, |earlier| earlier.record.added.clone());
            Addition::Write {
                after: mended.text,
                original,
                added: mended.added,
                removed: mended.removed,
                set: still_set(earlier, &mended.set, &ours),
                ours,
                made: earlier.map(|earlier| earlier.record.made.clone()).unwrap_or_default(),
            }
        }
        Addition::Write { after, added, removed, ours, made, .. } => Addition::Write {
            after,
            original,
            added: joined(mended.added, added),
            removed: joined(mended.removed, removed),
            set: still_set(earlier, &mended.set, &ours),
            ours,
            made,
        },
    })
}

/// Returns the edits without the entries in whose place one of the user leads already. Refuses a file in which one joins.
fn unsettled(
    text: &str,
    edits: &FileEdits,
    earlier: Option<&Earlier>,
    around: Surroundings<'_>,
) -> Result<FileEdits, EditError> {
    let mut needed = Vec::new();
    for edit in edits.each() {
        let JsonEdit::Entry(entry) = &edit else {
            needed.push(edit);
            continue;
        };
        let present = value_at(text, edits, &entry.path)?;
        match present.map_or(Standing::Other, |present| around.judge(entry, &present, earlier)) {
            Standing::Leads => {}
            Standing::Joins => {
                let (path, arguments) = (entry.path.clone(), entry.value["args"].to_string());
                return Err(EditError::Joins { path, arguments });
            }
            Standing::Wrong(_) | Standing::Other => needed.push(edit),
        }
    }
    Ok(edits.of_same_kind(needed))
}

/// Returns a file without the edits of an earlier setup; none if there would be no file.
fn original(text: &str, earlier: Option<&Earlier>) -> Result<Option<String>, EditError> {
    let Some(earlier) = earlier else {
        return Ok(Some(text.to_owned()));
    };
    Ok(match plan_removal(text, earlier)? {
        Removal::Nothing => Some(text.to_owned()),
        Removal::Write(text) => Some(text),
        Removal::Delete => None,
    })
}

/// The edits of an earlier setup that a file has.
#[derive(Default)]
struct Recorded {
    kept: Vec<JsonEdit>,
    /// Those that are exactly as setup wrote them, and that it no longer writes.
    outdated: Vec<JsonEdit>,
}

/// Sorts the edits on record. Several clients may have one file, by links to it; what is for another client is not outdated.
fn recorded(text: &str, edits: &FileEdits, client: &str, record: &SetupRecord) -> Recorded {
    let edits = edits.each();
    let is_for_this_one_alone = record.clients().all(|name| name == client);
    let mut found = Recorded::default();
    for edit in record.added.each() {
        // What cannot be read there is not ours any more.
        let Ok(Some(present)) = value_at(text, &record.added, edit.path()) else {
            continue;
        };
        let mut here = edits.iter().filter(|new| new.path() == edit.path()).peekable();
        let is_exact = match &edit {
            JsonEdit::Item(item) => {
                present.as_array().is_some_and(|list| list.iter().any(|one| item.is_in(one)))
            }
            JsonEdit::Entry(entry) => present == entry.value,
        };
        if !is_exact && (edit.is_item() || !runs_bridge(&present)) {
            continue;
        }
        let is_replaced = if edit.is_item() {
            let is_known = |new: &&JsonEdit| has_form(edit.value(), new.value(), false);
            here.peek().is_some() && !here.any(|new| is_known(&new))
        } else {
            here.any(|new| !has_command_line(new.value(), &present))
        };
        let is_written = edits.iter().any(|new| {
            new.writes_the_same_as(&edit) || (!edit.is_item() && new.path() == edit.path())
        });
        let is_outdated = is_replaced || (is_for_this_one_alone && !is_written);
        if is_exact && is_outdated {
            found.outdated.push(edit);
        } else {
            found.kept.push(edit);
        }
    }
    found
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
        match judge_form(&present, &entry.value) {
            // Setup refuses an entry with the path of another program, or with other arguments, anyway.
            Err(EntryFault::Fields(fields))
                if present["command"] == PROGRAM || has_command_line(&entry.value, &present) =>
            {
                let fields = named_fields(&fields);
                Err(EditError::FurtherFields { path: entry.path.clone(), fields })
            }
            _ => Ok(()),
        }
    };
    edits.each().iter().try_for_each(|edit| match edit {
        JsonEdit::Entry(entry) => check(entry, value_at(now, edits, &entry.path)?),
        JsonEdit::Item(_) => Ok(()),
    })
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
    let (left, _, _) = mend_command::put_back(now, &record.added, &record.set)?;
    let left = take_out(&left, &record.added, &record.made)?;
    if left == now {
        return Ok(Removal::Nothing);
    }
    let has_content = left.chars().any(|letter| !letter.is_whitespace() && !"{}".contains(letter));
    Ok(if record.had_file() || has_content { Removal::Write(left) } else { Removal::Delete })
}

/// Finds what a file still has of an earlier setup's edits, and what has taken their place.
pub fn remaining(now: &str, earlier: &Earlier) -> Result<Remaining, EditError> {
    let record = &earlier.record;
    let (mut ours, mut further_fields, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for edit in record.added.each() {
        let Some(present) = value_at(now, &record.added, edit.path())? else {
            continue;
        };
        let key = key_of(edit.path());
        match &edit {
            JsonEdit::Entry(entry) if present == entry.value || runs_bridge(&present) => {
                let fields = present.as_object().into_iter().flatten();
                let further = fields.filter(|(key, _)| entry.value.get(key.as_str()).is_none());
                further_fields.extend(further.map(|(key, _)| key.clone()));
                ours.push(edit);
            }
            JsonEdit::Entry(_) => {
                let runs = started_by(&present);
                others.push(format!("`{key}`, which setup did not write: `{runs}`"));
            }
            JsonEdit::Item(item) => {
                let is_there = |list: &Vec<Value>| list.iter().any(|one| item.is_in(one));
                if present.as_array().is_some_and(is_there) {
                    ours.push(edit);
                } else if !edit_json::lacks(now, item)? {
                    let hint = "remove it by hand if you do not need it";
                    others.push(format!(
                        "an item of `{key}` that names this program, changed since setup wrote it; {hint}"
                    ));
                }
            }
        }
    }
    if let FileEdits::Json(added) = &record.added {
        let named =
            |key| format!("a copy of its hooks in `{key}`, which you have to remove by hand");
        others.extend(edit_json::copied_hooks(now, added)?.into_iter().map(named));
    }
    let (_, replaced, put_back) = mend_command::put_back(now, &record.added, &record.set)?;
    Ok(Remaining {
        ours: record.added.of_same_kind(ours),
        replaced,
        put_back,
        further_fields,
        others,
    })
}

/// Returns the edits without the entries that start this program already. The user may have changed their other fields.
fn needed(
    text: &str,
    edits: &FileEdits,
    earlier: Option<&Earlier>,
) -> Result<FileEdits, EditError> {
    let mut needed = Vec::new();
    for edit in edits.each() {
        if let JsonEdit::Entry(entry) = &edit {
            let present = value_at(text, edits, &entry.path)?;
            if !is_needed(entry, present.as_ref(), earlier)? {
                continue;
            }
        }
        needed.push(edit);
    }
    Ok(edits.of_same_kind(needed))
}

/// Returns whether an entry has to be written. Refuses to replace one that the user has changed.
fn is_needed(
    entry: &Entry,
    present: Option<&Value>,
    earlier: Option<&Earlier>,
) -> Result<bool, EditError> {
    let Some(present) = present else { return Ok(true) };
    // With an address beside the command, the client may reach another server.
    if has_command_line(&entry.value, present) && runs_bridge(present) {
        return Ok(false);
    }
    match earlier {
        // Adding it refuses an entry of another author.
        None => Ok(true),
        Some(_) if is_recorded(entry, present, earlier) || !runs_bridge(present) => Ok(true),
        Some(_) if present.get("command") == entry.value.get("command") => {
            let (path, arguments) = (entry.path.clone(), entry.value["args"].to_string());
            Err(EditError::OtherArguments { path, arguments })
        }
        Some(_) => Err(EditError::Moved {
            path: entry.path.clone(),
            command: entry.value["command"].as_str().unwrap_or_default().to_owned(),
        }),
    }
}

/// Says whether an entry that is present starts the same program, with the same arguments, as another one.
fn has_command_line(entry: &Value, present: &Value) -> bool {
    ["command", "args"].iter().all(|key| present.get(key) == entry.get(key))
}

/// Says whether an entry that is present is exactly what an earlier setup wrote.
fn is_recorded(entry: &Entry, present: &Value, earlier: Option<&Earlier>) -> bool {
    let written =
        |one: &JsonEdit| !one.is_item() && one.path() == entry.path && one.value() == present;
    earlier.is_some_and(|earlier| earlier.record.added.each().iter().any(written))
}

fn value_at(text: &str, kind: &FileEdits, path: &[String]) -> Result<Option<Value>, EditError> {
    match kind {
        FileEdits::Json(_) => edit_json::value_at(text, path),
        FileEdits::Toml(_) => edit_toml::value_at(text, path),
    }
}

fn take_out(text: &str, edits: &FileEdits, made: &[Vec<String>]) -> Result<String, EditError> {
    match edits {
        FileEdits::Json(edits) => edit_json::take_out(text, edits, made),
        FileEdits::Toml(entries) => edit_toml::take_out(text, entries, made),
    }
}

fn add(text: &str, edits: &FileEdits) -> Result<Edited, EditError> {
    match edits {
        FileEdits::Json(edits) => edit_json::add(text, edits),
        FileEdits::Toml(entries) => edit_toml::add(text, entries),
    }
}
