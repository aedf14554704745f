//! The clients that can lead a team: whether each that is installed starts this program, from which of its files, and with what.

use std::ffi::OsString;
use std::path::Path;

use super::judge_client::{self, LookedAtClient, LookedAtFile};
use crate::doctor::finding::Finding;
use crate::setup::clients::CLIENTS;
use crate::setup::config_file::ConfigFile;
use crate::setup::known_client::{ClientFile, Places, Server};
use crate::setup::written_entry;
use crate::sys::process::find_program;

/// Examines all clients that are installed. Blocks while it reads their files.
pub(crate) fn examine(
    environment: &[(OsString, OsString)],
    own_binary: &Path,
    project: Option<&Path>,
) -> Vec<Finding> {
    let variable = |name: &str| {
        let found = environment.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    };
    let Some(places) = Places::read(variable, cfg!(target_os = "macos")) else {
        return Vec::new();
    };
    let search = variable("PATH");
    let find = |program: &str| find_program(Path::new(program), search.as_deref());
    let mut findings = Vec::new();
    for client in &CLIENTS {
        if client.find(&places, find).is_none() {
            continue;
        }
        let look = |program: &str| {
            let server = Server { program: program.to_owned() };
            let mut files = look_at((client.for_user)(&places, &server), None);
            if let Some(project) = project {
                files.extend(look_at((client.for_project)(project, &server), Some(project)));
            }
            files
        };
        let mut files = look(&own_binary.to_string_lossy());
        // What stands beside an entry has to fit what that starts, which may be another copy of this program.
        if let Some(command) = command(&files) {
            files = look(&command);
        }
        let looked = LookedAtClient { name: client.name, title: client.title, files };
        findings.extend(judge_client::judge(&looked, |program| find(program).is_some()));
    }
    findings
}

/// Returns the program that the entry of a client starts.
fn command(files: &[LookedAtFile]) -> Option<String> {
    files.iter().find_map(|file| {
        let entry = file.written.as_ref().ok()?.entry.as_ref()?;
        Some(entry["command"].as_str()?.to_owned())
    })
}

fn look_at(files: Vec<ClientFile>, project: Option<&Path>) -> Vec<LookedAtFile> {
    let of_project = project.is_some();
    let look = |file: ClientFile| {
        let read = ConfigFile::read(&file.path, project).map_err(|error| format!("{error}"));
        let written = read.and_then(|read| {
            let text = read.text.unwrap_or_default();
            written_entry::look(&text, &file.edits).map_err(|error| format!("{error}"))
        });
        LookedAtFile { path: file.path, of_project, written }
    };
    files.into_iter().map(look).collect()
}
