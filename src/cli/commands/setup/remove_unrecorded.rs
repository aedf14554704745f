//! The part of `setup --remove` for clients of which setup has no record: shows what has the form of setup's edits, and removes
//! exactly that.

use std::path::Path;

use super::setup_arguments::SetupArguments;
use super::shown_edits;
use crate::cli::{Failure, output};
use crate::config::quoted;
use crate::setup::clients::CLIENTS;
use crate::setup::config_file::ConfigFile;
use crate::setup::edits::config_edit::{PROGRAM, named_fields};
use crate::setup::known_client::{Client, ClientFile, Places, Server};
use crate::setup::local_entry;
use crate::setup::setup_record::Records;
use crate::setup::stable_program::place_of_copy;
use crate::setup::unrecorded_edits::{Recognized, recognize, take_out};

/// A file with edits of setup.
struct PlannedFile {
    now: ConfigFile,
    found: Recognized,
    after: String,
}

/// What the clients without a record have.
#[derive(Default)]
pub(super) struct Unrecorded {
    planned: Vec<PlannedFile>,
    /// What stays although it names this program, or because its file cannot be read.
    notes: Vec<String>,
    /// The files that cannot be changed, each with its reason.
    pub(super) refused: Vec<String>,
}

impl Unrecorded {
    /// Looks at the user's files, or at those of a project, of the chosen clients.
    pub(super) fn look(
        arguments: &SetupArguments,
        project: Option<&Path>,
        places: &Places,
        records: &Records,
    ) -> Self {
        let is_chosen = |client: &&Client| {
            arguments.clients.is_empty() || arguments.clients.iter().any(|name| name == client.name)
        };
        let mut all = Self::default();
        for client in CLIENTS.iter().filter(is_chosen) {
            let files_for = |program: &str| {
                let server = Server { program: program.to_owned() };
                match project {
                    Some(project) => (client.for_project)(project, &server),
                    None => (client.for_user)(places, &server),
                }
            };
            // In a file that cannot be read there may be one.
            let has_no_local = match project {
                Some(project) => {
                    local_entry::find(client, places, project).is_ok_and(|found| found.is_none())
                }
                None => local_entry::find_all(client, places).is_ok_and(|found| found.is_empty()),
            };
            all.look_at(&files_for, !has_no_local, project, records);
        }
        all.note_copy(&place_of_copy(&places.home), records);
        all
    }

    fn look_at(
        &mut self,
        files_for: &impl Fn(&str) -> Vec<ClientFile>,
        has_local: bool,
        project: Option<&Path>,
        records: &Records,
    ) {
        // The edits are looked for by their form, so this program's path says nothing.
        let paths: Vec<_> = files_for("").into_iter().map(|file| file.path).collect();
        let mut files = Vec::new();
        for path in &paths {
            match ConfigFile::read(path, project) {
                // With a record, setup knows which of the client's files it has changed. A damaged one is reported as such.
                Ok(file) if !matches!(records.of(&file.path), Ok(None)) => return,
                Ok(file) => files.push(file),
                Err(error) => {
                    let note =
                        format!("{}: {error}, so setup's entries may be in it", quoted(path));
                    self.notes.push(note);
                    return;
                }
            }
        }
        let texts: Vec<_> =
            files.iter().map(|file| file.text.as_deref().unwrap_or_default()).collect();
        let edits_for = |program: &str| {
            files_for(program).into_iter().map(|file| file.edits).collect::<Vec<_>>()
        };
        let found = match recognize(&texts, has_local, edits_for) {
            Ok(found) => found,
            Err((at, error)) => {
                // A file that does not name this program is no concern of setup's.
                if texts[at].contains(PROGRAM) {
                    self.notes.push(format!("{}: {error}", quoted(&files[at].path)));
                }
                return;
            }
        };
        for (file, found) in files.into_iter().zip(found) {
            let path = quoted(&file.path);
            for place in &found.others {
                let note = "names this program in a form that setup does not write, and stays; remove it by hand if you do not need it";
                self.notes.push(format!("{path}: `{place}` {note}"));
            }
            if found.ours.is_empty() {
                continue;
            }
            match plan(file, found) {
                Ok(planned) => self.planned.push(planned),
                Err(error) => self.refused.push(format!("{path}: {error}")),
            }
        }
    }

    /// Notes that the program stays that the entries start, if setup may have put it there.
    fn note_copy(&mut self, copy: &Path, records: &Records) {
        let is_started =
            |file: &PlannedFile| file.found.programs.iter().any(|it| Path::new(it) == copy);
        if matches!(records.program(), Ok(None)) && self.planned.iter().any(is_started) {
            let why = "setup may have made this copy of the program, but has no record of it";
            self.notes.push(format!("{}: {why}, so it stays", quoted(copy)));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.planned.is_empty()
    }

    /// Prints the edits.
    pub(super) fn show(&self) {
        if !self.planned.is_empty() {
            output::say(
                "\nsetup has no record of these files, so it goes by the form of what is in them. It cannot restore the \
                 original files: only this is removed, and the rest stays as it is now.",
            );
        }
        for file in &self.planned {
            output::say(&format!("\n{}:", quoted(&file.now.path)));
            for line in shown_edits::lines('-', &file.found.ours) {
                output::say(&format!("  {line}"));
            }
            if !file.found.further_fields.is_empty() {
                let fields = named_fields(&file.found.further_fields);
                output::say(&format!("    with the fields that were added to it: {fields}"));
            }
        }
    }

    /// Removes the edits. Returns the changes that could not be made.
    pub(super) fn remove(&self) -> Vec<String> {
        let mut refused = Vec::new();
        for file in &self.planned {
            let path = quoted(&file.now.path);
            match file.now.replace(&file.after) {
                Ok(_) => output::tell(&format!("Removed setup's entries from {path}.")),
                Err(error) => refused.push(format!("{path}: {error}")),
            }
        }
        refused
    }

    /// Prints what stays.
    pub(super) fn tell_notes(&self) {
        if !self.notes.is_empty() {
            output::tell(&format!("\nNot changed:\n  {}", self.notes.join("\n  ")));
        }
    }
}

fn plan(now: ConfigFile, found: Recognized) -> Result<PlannedFile, Failure> {
    let after = take_out(now.text.as_deref().unwrap_or_default(), &found.ours)?;
    now.may_be_replaced()?;
    Ok(PlannedFile { now, found, after })
}
