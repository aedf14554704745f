//! The part of `setup --remove` for clients of which setup has no record: shows what has the form of setup's edits, and removes
//! exactly that, after a copy of the file was kept.
//!
//! A user may have written the same by hand, so the form alone is no consent: each file is asked about, or its client is named.

use std::path::{Path, PathBuf};

use super::questions::Asking;
use super::shown_edits;
use crate::cli::{Failure, output, with_hint};
use crate::config::quoted;
use crate::domain::text::shell_word::shell_word;
use crate::setup::clients::CLIENTS;
use crate::setup::config_file::ConfigFile;
use crate::setup::edits::config_edit::PROGRAM;
use crate::setup::known_client::{Client, ClientFile, Places, Server};
use crate::setup::local_entry;
use crate::setup::setup_record::{Records, Undone};
use crate::setup::stable_program::place_of_copy;
use crate::setup::unrecorded_edits::{Recognized, recognize, take_out};

/// A file with edits of setup.
struct PlannedFile {
    client: &'static str,
    now: ConfigFile,
    found: Recognized,
    after: String,
    /// Whether setup has undone its own changes of this client, so that this is its user's.
    is_undone: bool,
}

/// What the clients without a record have.
#[derive(Default)]
pub(super) struct Unrecorded {
    planned: Vec<PlannedFile>,
    /// What stays although it names this program, or because its file cannot be read.
    notes: Vec<String>,
    /// The files that cannot be changed, each with its reason.
    refused: Vec<String>,
}

impl Unrecorded {
    /// Looks at the user's files, or at those of a project, of the chosen clients.
    pub(super) fn look(
        clients: &[String],
        project: Option<&Path>,
        places: &Places,
        records: &Records,
    ) -> Self {
        let is_chosen =
            |client: &&Client| clients.is_empty() || clients.iter().any(|name| name == client.name);
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
            all.look_at(client, &files_for, !has_no_local, project, records);
        }
        all.note_copy(&place_of_copy(&places.home), records);
        all
    }

    fn look_at(
        &mut self,
        client: &Client,
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
            let files = files_for(program).into_iter();
            files.map(|file| client.in_each_form(&file.edits)).collect::<Vec<_>>()
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
        let client = client.name;
        let undone = Undone { client: client.to_owned(), project: project.map(Path::to_owned) };
        let is_undone = records.is_undone(&undone);
        for (file, found) in files.into_iter().zip(found) {
            let path = quoted(&file.path);
            for place in &found.others {
                let note = "names this program in a form that setup does not write, and stays; remove it by hand if you do not need it";
                self.notes.push(format!("{path}: `{place}` {note}"));
            }
            if found.ours.is_empty() {
                continue;
            }
            match plan(client, file, found) {
                Ok(planned) => self.planned.push(PlannedFile { is_undone, ..planned }),
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

    /// Returns the clients of which something has the form of setup's edits.
    pub(super) fn clients(&self) -> impl Iterator<Item = &'static str> {
        self.planned.iter().map(|file| file.client)
    }

    /// Says whether nothing has the form of setup's edits.
    pub(super) fn is_empty(&self) -> bool {
        self.planned.is_empty() && self.refused.is_empty()
    }

    /// Leaves everything as it is, and notes how it is removed. `call` is how the user calls this program.
    pub(super) fn leave(&mut self, project: Option<&Path>, call: &str) {
        self.leave_undone(project, call);
        let scope = scope(project);
        for file in self.planned.drain(..) {
            self.notes.push(format!(
                "{}: setup has no record of the entries in its form there, and you may have written them. \
                 `{call} setup --remove{scope} --client {}` removes them",
                quoted(&file.now.path),
                file.client,
            ));
        }
        self.notes.append(&mut self.refused);
    }

    /// Leaves what setup has found or put back when it undid its own changes, and notes how it is removed.
    pub(super) fn leave_undone(&mut self, project: Option<&Path>, call: &str) {
        let scope = scope(project);
        for file in self.planned.extract_if(.., |file| file.is_undone) {
            self.notes.push(format!(
                "{}: setup has undone its own changes already, so the entries in its form there are yours. \
                 `{call} setup --remove{scope} --client {}`, without --yes, asks about them",
                quoted(&file.now.path),
                file.client,
            ));
        }
    }

    /// Shows the edits, and removes those of each file that the user agrees to. Returns whether something was removed, and the changes
    /// that could not be made.
    pub(super) fn remove(
        &self,
        asking: Asking,
        records: &Records,
    ) -> Result<(bool, Vec<String>), Failure> {
        let mut refused = self.refused.clone();
        let mut is_changed = false;
        self.show();
        if asking == Asking::NoTerminal && !self.planned.is_empty() {
            return Err(with_hint(
                "there is no terminal to ask at, so nothing was changed",
                "run this in a terminal, or add --yes and a --client NAME for each client whose entries are to go",
            ));
        }
        for file in &self.planned {
            let path = quoted(&file.now.path);
            if !asking.agrees(&format!("Remove this from {path}?"))? {
                continue;
            }
            match file.remove(records) {
                Ok(copy) => {
                    is_changed = true;
                    let copy = quoted(&copy);
                    output::tell(&format!(
                        "Removed setup's entries from {path} (as it was: {copy})."
                    ));
                }
                Err(error) => refused.push(format!("{path}: {error}")),
            }
        }
        Ok((is_changed, refused))
    }

    /// Prints the edits.
    fn show(&self) {
        if !self.planned.is_empty() {
            output::say(
                "\nsetup has no record of these files, so it goes by the form of what is in them; you may have written it \
                 yourself. It cannot restore the original files: only this is removed, and the rest stays as it is now.",
            );
        }
        for file in &self.planned {
            output::say(&format!("\n{}:", quoted(&file.now.path)));
            for line in shown_edits::lines('-', &file.found.ours) {
                output::say(&format!("  {line}"));
            }
        }
    }

    /// Prints what stays.
    pub(super) fn tell_notes(&self) {
        if !self.notes.is_empty() {
            output::tell(&format!("\nNot changed:\n  {}", self.notes.join("\n  ")));
        }
    }
}

impl PlannedFile {
    /// Removes the edits. Returns the path of the copy of the file as it was.
    fn remove(&self, records: &Records) -> Result<PathBuf, Failure> {
        let copy =
            records.keep_copy(&self.now.path, self.now.text.as_deref().unwrap_or_default())?;
        self.now.replace(&self.after)?;
        Ok(copy)
    }
}

/// Returns the argument that names a project.
fn scope(project: Option<&Path>) -> String {
    let project = project.map(|project| shell_word(&project.to_string_lossy()));
    project.map_or_else(String::new, |project| format!(" --project {project}"))
}

fn plan(client: &'static str, now: ConfigFile, found: Recognized) -> Result<PlannedFile, Failure> {
    let after = take_out(now.text.as_deref().unwrap_or_default(), &found.ours)?;
    now.may_be_replaced()?;
    Ok(PlannedFile { client, now, found, after, is_undone: false })
}
