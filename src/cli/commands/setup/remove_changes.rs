//! `setup --remove`: undoes setup's changes file by file, and finally removes its copy of this program. Clients without a record are
//! looked at by `remove_unrecorded`.

use std::path::{Path, PathBuf};

use super::questions::Asking;
use super::remove_unrecorded::Unrecorded;
use super::setup_arguments::SetupArguments;
use super::shown_edits;
use crate::cli::{Failure, find_project, output};
use crate::config::quoted;
use crate::domain::text::shell_word::shell_word;
use crate::setup::config_file::{ConfigFile, remove_empty};
use crate::setup::edits::config_edit::named_fields;
use crate::setup::known_client::Places;
use crate::setup::setup_plan::{Earlier, Remaining, Removal, plan_removal, remaining};
use crate::setup::setup_record::{
    MissingPlace, ProgramCopy, Records, SetupRecord, Undone, missing_place,
};
use crate::setup::stable_program;

/// The planned undo of one file.
struct PlannedRemoval {
    record: SetupRecord,
    now: ConfigFile,
    removal: Removal,
    /// What the file still has of setup's edits; none if there is no file.
    remaining: Option<Remaining>,
}

/// What is to be undone.
#[derive(Clone, Copy)]
pub(super) struct Removed<'a> {
    pub(super) arguments: &'a SetupArguments,
    /// The project whose files are meant, or all files.
    pub(super) project: Option<&'a Path>,
    pub(super) places: &'a Places,
}

/// Finds the project whose changes are to be undone. One that is gone for good is known by its records.
pub(super) fn project_of(named: Option<&Path>, records: &Records) -> Result<PathBuf, Failure> {
    let gone = named.filter(|named| !named.exists());
    if let Some(gone) = gone.map(std::path::absolute).transpose()? {
        let is_of_it = |record: &SetupRecord| record.project.as_ref() == Some(&gone);
        if records.all()?.0.iter().any(is_of_it) {
            return Ok(gone);
        }
    }
    Ok(find_project::find(named)?.ground)
}

/// Undoes the recorded changes. Returns the next step for the user. `later_call` says how the user calls this program then.
pub(super) fn run(
    removed: Removed<'_>,
    records: &Records,
    later_call: impl Fn() -> String,
) -> Result<String, Failure> {
    let next = remove(removed, records, later_call);
    if Asking::of(removed.arguments) != Asking::DryRun {
        forget_needless_notes(removed.places, records)?;
    }
    next
}

/// Removes the notes of undone changes where nothing is left that looks like setup's.
fn forget_needless_notes(places: &Places, records: &Records) -> Result<(), Failure> {
    for undone in records.all_undone()? {
        let project = undone.project.as_deref();
        let clients = std::slice::from_ref(&undone.client);
        let is_gone = project.is_some_and(|project| !project.is_dir());
        if is_gone || Unrecorded::look(clients, project, places, records).is_empty() {
            records.forget_undone(&undone)?;
        }
    }
    Ok(())
}

fn remove(
    Removed { arguments, project, places }: Removed<'_>,
    records: &Records,
    later_call: impl Fn() -> String,
) -> Result<String, Failure> {
    let (all, unreadable) = records.all()?;
    let is_named = |client: &str| {
        arguments.clients.is_empty() || arguments.clients.iter().any(|name| name == client)
    };
    let is_selected = |record: &&SetupRecord| {
        record.clients().any(is_named)
            && (project.is_none() || record.project.as_deref() == project)
    };
    let selected: Vec<_> = all.iter().filter(is_selected).cloned().collect();
    let missing: Vec<_> = selected.iter().map(|one| missing_place(one, &places.home)).collect();
    // Whoever names a place that is not there means its records.
    let stays = |place: &Option<MissingPlace>| place.is_some() && project.is_none();
    let is_all = selected.len() == all.len() && unreadable.is_empty() && !missing.iter().any(stays);
    let copy = records.program()?.filter(|_| is_all);
    let mut unrecorded = match project {
        // A place that is gone has no files.
        Some(gone) if !gone.is_dir() => Unrecorded::default(),
        _ => Unrecorded::look(&arguments.clients, project, places, records),
    };
    let has_recorded = !selected.is_empty() || copy.is_some();
    let mut planned = Vec::new();
    let mut refused: Vec<_> = unreadable.iter().map(ToString::to_string).collect();
    let asking = Asking::of(arguments);
    let is_named_client = !arguments.clients.is_empty();
    // Where setup has records, an entry without one is most likely the user's, and what was restored just now may look like setup's.
    if has_recorded || !refused.is_empty() || (asking == Asking::Yes && !is_named_client) {
        if asking == Asking::Yes && is_named_client {
            // The same command again must not take what this one leaves.
            for client in unrecorded.clients() {
                note_undone(client, project, records)?;
            }
        }
        unrecorded.leave(project, &later_call());
    } else if asking == Asking::Yes {
        unrecorded.leave_undone(project, &later_call());
    }
    if !unrecorded.is_empty() {
        let (is_changed, further) = unrecorded.remove(asking, records)?;
        refused.extend(further);
        if !is_changed {
            output::tell("Nothing was changed.");
        }
        unrecorded.tell_notes();
        return end(is_changed, &refused, &later_call());
    }
    if !has_recorded && refused.is_empty() {
        output::tell("Nothing to undo: setup has no such changes on record.");
        unrecorded.tell_notes();
        return Ok(format!("next: `{} setup` connects your clients.", later_call()));
    }
    for (record, missing) in selected.into_iter().zip(missing) {
        let file = quoted(&record.file);
        if let Some(place) = missing.filter(|_| project.is_none()) {
            refused.push(format!("{file}: {}", not_there(&place, &record, records, &later_call())));
            continue;
        }
        // One entry may serve several clients.
        let others: Vec<_> = record.clients().filter(|client| !is_named(client)).collect();
        if !others.is_empty() {
            let others = others.iter().map(|client| format!("`--client {client}`"));
            let others = others.collect::<Vec<_>>().join(" and ");
            refused.push(format!("{file} is also a file of other clients: add {others}"));
            continue;
        }
        match plan(record, records) {
            Ok(one) => planned.push(one),
            Err(error) => refused.push(format!("{file}: {error}")),
        }
    }
    planned.iter().for_each(show);
    if let Some(copy) = &copy {
        output::say(&format!("\n{}, setup's copy of this program: removed", quoted(&copy.path)));
    }
    let has_changes = !planned.is_empty() || copy.is_some();
    if has_changes {
        asking.refuse_without_terminal()?;
    }
    let is_agreed = has_changes && asking.agrees("Undo this?")?;
    if is_agreed {
        for one in &planned {
            match undo(one, records) {
                Ok(()) => output::tell(&done(one)),
                Err(error) => refused.push(format!("{}: {error}", quoted(&one.record.file))),
            }
        }
        if let Some(copy) = copy.filter(|_| refused.is_empty()) {
            remove_copy(&copy)?;
            records.forget_program()?;
        }
    } else {
        output::tell("Nothing was changed.");
    }
    unrecorded.tell_notes();
    end(is_agreed, &refused, &later_call())
}

/// Returns the next step, or what could not be undone.
fn end(is_agreed: bool, refused: &[String], call: &str) -> Result<String, Failure> {
    if refused.is_empty() {
        return Ok(if is_agreed {
            format!("next: restart the clients that are open. `{call} setup` connects them again.")
        } else {
            format!("next: run `{call} setup --remove` again when you want to undo this.")
        });
    }
    Err(format!("not everything could be undone:\n  {}", refused.join("\n  ")).into())
}

/// Removes setup's copy of the program, and says so.
fn remove_copy(copy: &ProgramCopy) -> Result<(), Failure> {
    let path = quoted(&copy.path);
    output::tell(&if stable_program::remove_copy(copy)? {
        format!("Removed {path}.")
    } else {
        format!("{path} has changed since setup made it, and stays.")
    });
    Ok(())
}

/// Says why the record of a file stays, and until when.
fn not_there(place: &MissingPlace, record: &SetupRecord, records: &Records, call: &str) -> String {
    let (MissingPlace::Project(directory) | MissingPlace::Directory(directory)) = place;
    let forget = match place {
        MissingPlace::Project(project) => {
            let project = shell_word(&project.to_string_lossy());
            format!("`{call} setup --remove --project {project}` forgets it")
        }
        MissingPlace::Directory(_) => format!("remove {}", quoted(&records.record_path(record))),
    };
    format!(
        "{} is not there now, so the record stays. Run this again when it is back. If it is gone for good, {forget}",
        quoted(directory)
    )
}

fn plan(record: SetupRecord, records: &Records) -> Result<PlannedRemoval, Failure> {
    let now = ConfigFile::read(&record.file, record.project.as_deref())?;
    let original = records.original(&record);
    let earlier = Earlier { record, original };
    let removal = match &now.text {
        Some(text) => plan_removal(text, &earlier)?,
        None => Removal::Nothing,
    };
    if removal != Removal::Nothing {
        now.may_be_replaced()?;
    }
    let remaining = now.text.as_deref().map(|text| remaining(text, &earlier)).transpose()?;
    Ok(PlannedRemoval { record: earlier.record, now, removal, remaining })
}

fn show(planned: &PlannedRemoval) {
    let file = quoted(&planned.record.file);
    let remaining = planned.remaining.as_ref();
    match &planned.removal {
        Removal::Nothing => output::say(&format!("\n{file}: it has none of setup's changes")),
        Removal::Delete => output::say(&format!("\n{file}, which setup created: removed")),
        Removal::Write(_) => {
            output::say(&format!("\n{file}:"));
            let lines = |found: &Remaining| {
                let gone = [&found.replaced, &found.ours].map(|it| shown_edits::lines('-', it));
                [gone.concat(), shown_edits::lines('+', &found.put_back)].concat()
            };
            for line in remaining.iter().flat_map(|found| lines(found)) {
                output::say(&format!("  {line}"));
            }
        }
    }
    let Some(Remaining { further_fields, others, .. }) = remaining else {
        return;
    };
    if !further_fields.is_empty() {
        let fields = named_fields(further_fields);
        output::say(&format!("    with the fields that were added to the entry: {fields}"));
    }
    for other in others {
        output::say(&format!("  stays: {other}"));
    }
}

/// Says what was done with a file.
fn done(planned: &PlannedRemoval) -> String {
    let file = quoted(&planned.record.file);
    match planned.removal {
        Removal::Nothing => format!("Nothing to undo in {file}; its record is removed."),
        Removal::Write(_) | Removal::Delete => format!("Undone in {file}."),
    }
}

fn undo(planned: &PlannedRemoval, records: &Records) -> Result<(), Failure> {
    match &planned.removal {
        Removal::Nothing => {
            planned.now.sweep();
            if planned.now.text.is_none() {
                remove_empty(&planned.record.directories);
            }
        }
        Removal::Write(text) => {
            planned.now.replace(text)?;
        }
        Removal::Delete => {
            planned.now.sweep();
            planned.now.remove()?;
            remove_empty(&planned.record.directories);
        }
    }
    // Before the record goes: without either, the next removal would go by form.
    for client in planned.record.clients() {
        note_undone(client, planned.record.project.as_deref(), records)?;
    }
    records.forget(&planned.record)?;
    Ok(())
}

/// Notes that what a client still has is its user's.
fn note_undone(client: &str, project: Option<&Path>, records: &Records) -> Result<(), Failure> {
    let (client, project) = (client.to_owned(), project.map(Path::to_owned));
    Ok(records.note_undone(&Undone { client, project })?)
}
