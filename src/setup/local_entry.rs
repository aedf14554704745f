//! The entries of our server that a client keeps in the user's own file, each for one project alone. Setup reads them, and never writes
//! them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::config_file::{ConfigFile, ConfigFileError};
use super::edits::config_edit::{EditError, FileEdits, JsonEdit, runs_bridge, started_by};
use super::edits::edit_json;
use super::known_client::{Client, Places, SERVER, Server};
use super::written_entry;

/// An entry for one project alone.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalEntry {
    /// The file that has it.
    pub file: PathBuf,
    /// The keys that lead to it.
    path: Vec<String>,
    entry: Value,
}

/// Why it is not known whether there is such an entry.
#[derive(Debug, thiserror::Error)]
pub enum LocalEntryError {
    #[error(transparent)]
    Unreadable(#[from] ConfigFileError),
    #[error(transparent)]
    Unparsable(#[from] EditError),
}

/// Finds the entry for a session that is started in a directory, links resolved.
pub fn find(
    client: &Client,
    places: &Places,
    directory: &Path,
) -> Result<Option<LocalEntry>, LocalEntryError> {
    let Some(local) = client.local else {
        return Ok(None);
    };
    // Only the place of the entry counts here, not its content.
    let file = (local.file)(places, directory, &Server { program: SERVER.to_owned() });
    let text = ConfigFile::read(&file.path, None)?.text.unwrap_or_default();
    let found = written_entry::look_local(&text, &file.edits)?.entry;
    file.check_readable(&text)?;
    let path = path_in(file.edits);
    Ok(found.map(|entry| LocalEntry { file: file.path, path, entry }))
}

/// Finds the entries for all projects. A permission for our server in all projects would be for all of these, too.
pub fn find_all(client: &Client, places: &Places) -> Result<Vec<LocalEntry>, LocalEntryError> {
    let Some(local) = client.local else {
        return Ok(Vec::new());
    };
    let any = Path::new("/");
    let file = (local.file)(places, any, &Server { program: SERVER.to_owned() });
    let text = ConfigFile::read(&file.path, None)?.text.unwrap_or_default();
    let table = [local.table.to_owned()];
    let Some(Value::Object(projects)) = edit_json::value_at(&text, &table)? else {
        return Ok(Vec::new());
    };
    // Below the directory, the keys are the same for every project.
    let below: Vec<_> = path_in(file.edits).into_iter().skip(2).collect();
    let entries = projects.into_iter().filter_map(|(directory, project)| {
        let entry = below.iter().try_fold(&project, |value, key| value.get(key))?;
        let path = [&[local.table.to_owned(), directory], &below[..]].concat();
        Some(LocalEntry { file: file.path.clone(), path, entry: entry.clone() })
    });
    Ok(entries.collect())
}

/// Returns the keys that lead to the entry among these edits.
fn path_in(edits: FileEdits) -> Vec<String> {
    let path = match edits {
        FileEdits::Json(edits) => edits.into_iter().find_map(|edit| match edit {
            JsonEdit::Entry(entry) => Some(entry.path),
            JsonEdit::Item(_) => None,
        }),
        FileEdits::Toml(entries) => entries.into_iter().next().map(|entry| entry.path),
    };
    path.unwrap_or_default()
}

impl LocalEntry {
    /// Says whether it starts this program.
    pub fn runs_bridge(&self) -> bool {
        runs_bridge(&self.entry)
    }

    /// Returns the entry itself.
    pub fn entry(&self) -> &Value {
        &self.entry
    }

    /// Returns why setup does nothing beside it, if it starts another program: with a permission for our server, that one would run.
    pub fn refusal(&self) -> Option<EditError> {
        (!self.runs_bridge())
            .then(|| EditError::Taken { path: self.path.clone(), runs: started_by(&self.entry) })
    }
}
