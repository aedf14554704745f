//! Records of setup's changes, for `--remove`: one record per file, with the file's original bytes beside it, in the user's state
//! directory.
//!
//! Both are on disk before the file is changed. A crash in between leaves a record of a change that was never made; an undo then
//! finds nothing to remove. A crash between the two leaves an original without a record, which the next setup removes.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::edits::config_edit::{FileEdits, JsonEdit};
use super::edits::mend_command::SetField;
use crate::domain::limits::MAX_CLIENT_FILE_BYTES;
use crate::domain::text::shown_path::ShownPath as _;
use crate::sys::fs::bounded_file;
use crate::sys::fs::user_state_dir::StateDirectory;

/// The folder of the records in the state directory.
pub const RECORDS: &str = "setup";

/// The end of the name of an original, in place of the `.json` of its record.
const ORIGINAL: &str = ".original";

/// The end of the name of a copy of a file from which entries without a record were removed.
const COPY: &str = ".before-remove";

/// The end of the name of a note that setup has undone its changes of a client.
const UNDONE: &str = ".undone";

/// The letters of the name of a record.
const NAME_LETTERS: usize = 16;

/// The record format that this binary writes. It reads this one and all older ones.
const FORMAT: u32 = 1;

/// The record of setup's change to one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetupRecord {
    format: u32,
    /// The client whose file it is.
    pub client: String,
    /// Further clients for which setup has changed it: a file may have several, by links to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    further_clients: Vec<String>,
    /// The path of the file, with links resolved.
    pub file: PathBuf,
    /// The project that the file belongs to; none for a file of the user.
    pub project: Option<PathBuf>,
    /// The hash of the file without our edits; none if there was no file.
    original_sha256: Option<String>,
    /// The hash of the file that setup wrote.
    written_sha256: String,
    /// The hash of the file that an earlier setup wrote, until this change is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    written_before_sha256: Option<String>,
    pub added: FileEdits,
    /// What setup has set in an entry that the user has written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<SetField>,
    /// The tables and lists that were created for the edits.
    pub made: Vec<Vec<String>>,
    /// The directories that were created for the file, the outermost first. They are on record before they are created.
    pub directories: Vec<PathBuf>,
}

/// The client and the project that a file belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Owner<'a> {
    pub client: &'a str,
    pub project: Option<&'a Path>,
}

impl SetupRecord {
    /// Describes a change to a file, before it is made.
    pub fn new(
        owner: Owner<'_>,
        file: &Path,
        original: Option<&str>,
        written: &str,
        (added, made): (FileEdits, Vec<Vec<String>>),
    ) -> Self {
        Self {
            format: FORMAT,
            client: owner.client.to_owned(),
            further_clients: Vec::new(),
            file: file.to_owned(),
            project: owner.project.map(Path::to_owned),
            original_sha256: original.map(|text| sha256(text.as_bytes())),
            written_sha256: sha256(written.as_bytes()),
            written_before_sha256: None,
            added,
            set: Vec::new(),
            made,
            directories: Vec::new(),
        }
    }

    /// Adds what setup sets in entries of the user.
    #[must_use]
    pub fn with_set(mut self, set: &[SetField]) -> Self {
        self.set = set.to_vec();
        self
    }

    /// Returns the clients for which setup has changed the file.
    pub fn clients(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.client).chain(&self.further_clients).map(String::as_str)
    }

    /// Takes over from the record of an earlier change what still holds.
    #[must_use]
    pub fn following(mut self, earlier: &Self) -> Self {
        let clients = earlier.clients().chain([self.client.as_str()]);
        let mut clients: Vec<_> = clients.map(str::to_owned).collect();
        let mut seen = BTreeSet::new();
        clients.retain(|client| seen.insert(client.clone()));
        self.client = clients.remove(0);
        self.further_clients = clients;
        self.directories.clone_from(&earlier.directories);
        self
    }

    /// Returns the record for the time in which the file may be as an earlier setup wrote it, because this one is killed.
    #[must_use]
    pub fn until_made(&self, earlier: &Self) -> Self {
        let mut both = self.clone();
        both.written_before_sha256 = Some(earlier.written_sha256.clone());
        let ours = self.added.each();
        let is_new = |edit: &JsonEdit| !ours.iter().any(|one| one.writes_the_same_as(edit));
        let before = earlier.added.each().into_iter().filter(is_new).collect();
        both.added = self.added.of_same_kind([ours.clone(), before].concat());
        both
    }

    /// Says whether the file has not changed since setup wrote it.
    pub fn is_untouched(&self, text: &str) -> bool {
        let now = sha256(text.as_bytes());
        self.written_sha256 == now || self.written_before_sha256.as_ref() == Some(&now)
    }

    /// Says whether there was a file before setup.
    pub fn had_file(&self) -> bool {
        self.original_sha256.is_some()
    }
}

/// A client of which setup has undone what it had on record, for the user or in a project. What then still looks like setup's was there
/// before setup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undone {
    pub client: String,
    pub project: Option<PathBuf>,
}

impl Undone {
    fn name(&self) -> String {
        let project = self.project.as_deref().map(|project| format!("-{}", name_of(project)));
        format!("{}{}{UNDONE}", self.client, project.unwrap_or_default())
    }
}

/// A place without which nothing can be said about a recorded file, and that is not there now: the project may have moved, or a disk may
/// not be mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MissingPlace {
    Project(PathBuf),
    /// A directory outside of the home directory. There, it may be a client that was removed.
    Directory(PathBuf),
}

/// Returns the place of a recorded file if that is not there now.
pub fn missing_place(record: &SetupRecord, home: &Path) -> Option<MissingPlace> {
    if let Some(project) = &record.project {
        // The place of a disk that is not mounted is an empty directory.
        let is_empty = || std::fs::read_dir(project).is_ok_and(|mut it| it.next().is_none());
        let is_there = project.is_dir() && !is_empty();
        return (!is_there).then(|| MissingPlace::Project(project.clone()));
    }
    let made = record.directories.first().unwrap_or(&record.file);
    let directory = made.parent().filter(|directory| !directory.starts_with(home))?;
    (!directory.exists()).then(|| MissingPlace::Directory(directory.to_owned()))
}

/// All of a user's records.
#[derive(Clone, Debug)]
pub struct Records {
    directory: StateDirectory,
    /// The directories that setup has created around the state directory, the outermost first.
    made: Vec<PathBuf>,
}

/// The file with these directories. It is no record, and has not their ending.
const MADE_FILE: &str = "directories";

impl Records {
    /// Keeps records in a state directory.
    pub fn kept_in(state: &StateDirectory) -> Self {
        let directory = state.inner(RECORDS);
        let kept = directory.read(MADE_FILE).ok().flatten();
        // Without them, these directories stay after an undo.
        let made = kept.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        Self { directory, made }
    }

    /// Returns the directories that setup has created around the state directory.
    pub fn made(&self) -> &[PathBuf] {
        &self.made
    }

    /// Remembers with the next record directories that were created around the state directory.
    #[must_use]
    pub fn with_made(mut self, made: &[PathBuf]) -> Self {
        let is_new = |directory: &&PathBuf| !self.made.contains(directory);
        let new: Vec<_> = made.iter().filter(is_new).cloned().collect();
        self.made.extend(new);
        self
    }

    /// Remembers them now, for a run that may be killed before its first record.
    pub fn keep_made(&self) -> io::Result<()> {
        if self.made.is_empty() {
            return Ok(());
        }
        self.directory.write(MADE_FILE, &serde_json::to_vec(&self.made)?)
    }

    /// Records a change that is about to be made, and keeps the original.
    pub fn keep(&self, record: &SetupRecord, original: Option<&str>) -> io::Result<()> {
        self.keep_made()?;
        let name = name_of(&record.file);
        if let Some(text) = original {
            self.directory.write(&format!("{name}{ORIGINAL}"), text.as_bytes())?;
        }
        let json = serde_json::to_vec_pretty(record)?;
        let written = self.directory.write(&format!("{name}.json"), &json);
        if written.is_err() && matches!(self.directory.read(&format!("{name}.json")), Ok(None)) {
            // On a full disk, the original alone is of no use.
            self.directory.remove(&format!("{name}{ORIGINAL}"))?;
        }
        written
    }

    /// Returns the record of a file, if setup has changed it.
    pub fn of(&self, file: &Path) -> io::Result<Option<SetupRecord>> {
        self.read(&format!("{}.json", name_of(file)))
    }

    /// Returns all readable records, sorted by file, and the errors of the others.
    pub fn all(&self) -> io::Result<(Vec<SetupRecord>, Vec<io::Error>)> {
        let names = self.directory.names()?.into_iter();
        let names = names.filter(|(name, _)| {
            name != PROGRAM_FILE && Path::new(name).extension().is_some_and(|kind| kind == "json")
        });
        let (mut records, mut unreadable) = (Vec::new(), Vec::new());
        for (name, _) in names {
            match self.read(&name) {
                Ok(record) => records.extend(record),
                Err(error) => unreadable.push(error),
            }
        }
        records.sort_by(|one, other| one.file.cmp(&other.file));
        Ok((records, unreadable))
    }

    /// Returns the original of a file; none if there was no file, or if the kept copy is missing or altered.
    pub fn original(&self, record: &SetupRecord) -> Option<String> {
        let path = self.original_path(record);
        let bytes = bounded_file::read(&path, MAX_CLIENT_FILE_BYTES).ok()?;
        let is_whole = record.original_sha256.as_ref() == Some(&sha256(&bytes));
        String::from_utf8(bytes).ok().filter(|_| is_whole)
    }

    /// Returns the path of a file's kept original.
    pub fn original_path(&self, record: &SetupRecord) -> PathBuf {
        self.directory.path().join(format!("{}{ORIGINAL}", name_of(&record.file)))
    }

    /// Returns the path of a file's record.
    pub fn record_path(&self, record: &SetupRecord) -> PathBuf {
        self.directory.path().join(format!("{}.json", name_of(&record.file)))
    }

    /// Keeps a copy of a file before entries without a record are removed from it, for the user. Returns its path.
    pub fn keep_copy(&self, file: &Path, text: &str) -> io::Result<PathBuf> {
        self.keep_made()?;
        // By its content, so that no later copy takes its place.
        let content = sha256(text.as_bytes());
        let name = format!("{}-{}{COPY}", name_of(file), &content[..NAME_LETTERS]);
        self.directory.write(&name, text.as_bytes())?;
        Ok(self.directory.path().join(name))
    }

    /// Removes the record of a change that was undone. The folder goes at the end of the run.
    pub fn forget(&self, record: &SetupRecord) -> io::Result<()> {
        let name = name_of(&record.file);
        self.directory.remove(&format!("{name}.json"))?;
        self.directory.remove(&format!("{name}{ORIGINAL}"))?;
        Ok(())
    }

    /// Notes that setup's changes of a client are undone. The note outlasts the records, so that no later removal by form takes what the
    /// user has written.
    pub fn note_undone(&self, undone: &Undone) -> io::Result<()> {
        self.keep_made()?;
        self.directory.write(&undone.name(), &serde_json::to_vec(undone)?)
    }

    /// Removes such a note.
    pub fn forget_undone(&self, undone: &Undone) -> io::Result<()> {
        self.directory.remove(&undone.name())
    }

    /// Says whether there is such a note.
    pub fn is_undone(&self, undone: &Undone) -> bool {
        matches!(self.directory.read(&undone.name()), Ok(Some(_)))
    }

    /// Returns all such notes, without those that cannot be read.
    pub fn all_undone(&self) -> io::Result<Vec<Undone>> {
        let names = self.directory.names()?.into_iter().map(|(name, _)| name);
        let read = |name: String| {
            let bytes = self.directory.read(&name).ok().flatten()?;
            serde_json::from_slice(&bytes).ok()
        };
        Ok(names.filter(|name| name.ends_with(UNDONE)).filter_map(read).collect())
    }

    /// Removes the copies of users' files that killed setups have left: originals without their records, and temporary files. Needs
    /// setup's lock, because a running setup keeps the original before its record.
    pub fn sweep(&self) -> io::Result<()> {
        if !self.directory.sweep() {
            return Ok(());
        }
        let names: BTreeSet<_> =
            self.directory.names()?.into_iter().map(|(name, _)| name).collect();
        for name in &names {
            if let Some(of) = name.strip_suffix(ORIGINAL)
                && is_name(of)
                && !names.contains(&format!("{of}.json"))
            {
                self.directory.remove(name)?;
            }
        }
        Ok(())
    }

    /// Records the copy of this program that setup has made.
    pub fn keep_program(&self, copy: &ProgramCopy) -> io::Result<()> {
        self.keep_made()?;
        self.directory.write(PROGRAM_FILE, &serde_json::to_vec_pretty(copy)?)
    }

    /// Returns the copy of this program that setup has made.
    pub fn program(&self) -> io::Result<Option<ProgramCopy>> {
        let Some(bytes) = self.directory.read(PROGRAM_FILE)? else {
            return Ok(None);
        };
        Ok(Some(serde_json::from_slice(&bytes)?))
    }

    /// Removes the record of that copy.
    pub fn forget_program(&self) -> io::Result<()> {
        self.directory.remove(PROGRAM_FILE)
    }

    /// Removes the folder, unless a record is in it.
    pub fn remove_unused(&self) {
        let is_last = |names: Vec<(String, i64)>| names.iter().all(|(name, _)| name == MADE_FILE);
        if self.directory.names().is_ok_and(is_last) {
            let _ = self.directory.remove(MADE_FILE);
        }
        // This fails as long as another record, or a file of another command, is in the directory.
        let folder = self.directory.path();
        if std::fs::remove_dir(&folder).is_ok()
            && let Some(own) = folder.parent()
        {
            let _ = std::fs::remove_dir(own);
        }
    }

    fn read(&self, name: &str) -> io::Result<Option<SetupRecord>> {
        let Some(bytes) = self.directory.read(name)? else {
            return Ok(None);
        };
        let path = self.directory.path().join(name);
        let of_file = |why: String| {
            let message = format!("`{}`: {why}", path.shown());
            io::Error::new(io::ErrorKind::InvalidData, message)
        };
        let record: SetupRecord = serde_json::from_slice(&bytes).map_err(|error| {
            let original = path.with_extension(&ORIGINAL[1..]);
            let what_helps = if original.exists() {
                format!(
                    "so undo that change by hand: `{}` is what setup found. Then remove both",
                    original.shown()
                )
            } else {
                "and no original is kept beside it. Remove this record: without one, `setup --remove` goes by the form of the entries"
                    .to_owned()
            };
            of_file(format!("this record of a change is damaged ({error}), {what_helps}"))
        })?;
        if record.format > FORMAT {
            return Err(of_file("a newer cli-team-bridge wrote it; run that version".to_owned()));
        }
        Ok(Some(record))
    }
}

/// The file of the record of the program's copy.
const PROGRAM_FILE: &str = "program.json";

/// A copy of this program outside of a package cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramCopy {
    pub path: PathBuf,
    pub sha256: String,
    /// The hash of the earlier copy, which is there until this one is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256_before: Option<String>,
    /// The directories that were created for it, the outermost first.
    pub directories: Vec<PathBuf>,
}

impl ProgramCopy {
    /// Says whether setup has put a file with this hash there.
    pub fn is_ours(&self, sha256: &str) -> bool {
        self.sha256 == sha256 || self.sha256_before.as_deref() == Some(sha256)
    }
}

/// Returns the name under which a file's record is kept: short enough to copy by hand, and long enough to be unique.
fn name_of(file: &Path) -> String {
    let mut name = sha256(file.as_os_str().as_encoded_bytes());
    name.truncate(NAME_LETTERS);
    name
}

/// Says whether a text is the name of a record, as [`name_of`] makes it.
fn is_name(text: &str) -> bool {
    text.len() == NAME_LETTERS && text.bytes().all(|letter| b"0123456789abcdef".contains(&letter))
}

/// Returns the SHA-256 of some bytes in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn leftovers_are_not_swept_through_a_link() {
        let home = tempfile::tempdir().unwrap();
        let (real, left) = (home.path().join("setup"), "0123456789abcdef.original");
        let state = |name: &str| {
            let base = home.path().join(name).into_os_string();
            StateDirectory::find(|name| (name == "XDG_STATE_HOME").then(|| base.clone())).unwrap()
        };
        let (ours, linked) = (state("ours"), state("linked"));
        ours.inner(RECORDS).write(left, b"x").unwrap();
        linked.write("any", b"x").unwrap();
        fs::rename(ours.inner(RECORDS).path(), &real).unwrap();
        for state in [&ours, &linked] {
            symlink(&real, state.inner(RECORDS).path()).unwrap();
            Records::kept_in(state).sweep().unwrap();
            assert!(real.join(left).exists());
        }
        fs::remove_file(ours.inner(RECORDS).path()).unwrap();
        fs::rename(&real, ours.inner(RECORDS).path()).unwrap();
        Records::kept_in(&ours).sweep().unwrap();
        Records::kept_in(&ours).remove_unused();
        assert!(!ours.path().exists(), "the folders go with their last file");
    }
}
