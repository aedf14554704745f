//! The user's approvals of files that a project brings. Each covers one path and the hash of its bytes.
//!
//! Each approval is a file of its own in the user's state directory, so concurrent writers never lose one.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use sha2::{Digest as _, Sha256};

use crate::config::{Brought, Config, ProjectFile, quoted};
use crate::sys::fs::forget_deleted::{self, DirectoryState};
use crate::sys::fs::user_state_dir::{self, StateDirectory};
use crate::sys::mutex::lock;

/// The folder of the approvals in the state directory.
const FOLDER: &str = "trusted";

/// The user's approvals. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    /// `None` if no state directory exists: then nothing is approved.
    kept_in: Option<StateDirectory>,
    /// The approvals already reported as unreadable, until they can be read: a caller may retry many times a second.
    reported: Arc<Mutex<BTreeSet<String>>>,
}

/// Why an approval cannot be read. The path is left out: it is for people, and in the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the user's approval of that file cannot be read from the user's state directory (the bridge's \
        stderr names it): {0}"
)]
pub struct UnreadableApproval(String);

impl UnreadableApproval {
    /// Returns the sentence for the user whose approval it is.
    pub fn message_for_user(&self) -> String {
        format!("your approval of that file cannot be read from your state directory: {}", self.0)
    }
}

impl Trust {
    pub fn kept_in(state: Option<&StateDirectory>) -> Self {
        Self { kept_in: state.map(|state| state.inner(FOLDER)), reported: Arc::default() }
    }

    /// Returns whether the user has approved these bytes at this path. An unreadable approval is an error, neither yes nor no: a
    /// moment later it may be readable.
    pub fn has(&self, file: &Brought) -> Result<bool, UnreadableApproval> {
        let Some(directory) = &self.kept_in else {
            return Ok(false);
        };
        let name = name_of(file);
        let read = directory.read(&name);
        let mut reported = lock(&self.reported);
        match read {
            Ok(text) => {
                reported.remove(&name);
                Ok(text.is_some_and(|text| text == record(file).as_bytes()))
            }
            Err(error) => {
                if reported.insert(name) {
                    tracing::warn!("cannot read your approvals: {error}");
                }
                Err(UnreadableApproval(user_state_dir::without_path(&error)))
            }
        }
    }

    /// Records that the user approves these bytes at this path. The record is on disk when this returns.
    pub fn add(&self, file: &Brought) -> io::Result<()> {
        let Some(directory) = &self.kept_in else {
            let why = "there is no directory to keep it in: set HOME or XDG_STATE_HOME";
            return Err(io::Error::new(io::ErrorKind::NotFound, why));
        };
        directory.write(&name_of(file), record(file).as_bytes())
    }

    /// Returns all approvals: the SHA-256 of each file, and its quoted path.
    pub fn all(&self) -> io::Result<Vec<(String, String)>> {
        let mut all = Vec::new();
        for (_, record) in self.records()? {
            let read = record.trim_end().split_once(' ');
            all.extend(read.map(|(sha256, place)| (sha256.to_owned(), place.to_owned())));
        }
        all.sort_by(|one, other| (&one.1, &one.0).cmp(&(&other.1, &other.0)));
        Ok(all)
    }

    /// Revokes every approval of a file at this path, whatever its bytes; returns the number of approvals revoked.
    pub fn revoke(&self, place: &Path) -> io::Result<usize> {
        self.revoke_quoted(&quoted(place))
    }

    /// Does the same with a quoted path as [`Trust::all`] returns it. Not every path can be recovered from its quoted form.
    pub fn revoke_quoted(&self, place: &str) -> io::Result<usize> {
        let Some(directory) = &self.kept_in else {
            return Ok(0);
        };
        let ending = format!(" {place}\n");
        let mut revoked = 0;
        for (name, record) in self.records()? {
            if record.ends_with(&ending) {
                directory.remove(&name)?;
                revoked += 1;
            }
        }
        Ok(revoked)
    }

    /// Removes the approvals of files whose project was deleted long ago; returns their number.
    pub fn forget_the_gone(&self, now_ms: i64) -> io::Result<usize> {
        let Some(directory) = &self.kept_in else {
            return Ok(0);
        };
        forget_deleted::forget(directory, now_ms, |_, record| {
            let record = std::str::from_utf8(record).unwrap_or_default();
            let place = record.trim_end().split_once(' ').map(|(_, place)| place);
            let path = place.and_then(|place| place.strip_prefix('"')?.strip_suffix('"'));
            match path {
                // An empty directory may be the mount point of a disk that is missing. Anything else in it rules that out.
                Some(path) if !path.contains('\\') => {
                    forget_deleted::look(Path::new(path), holds_something)
                }
                _ => DirectoryState::Unknown,
            }
        })
    }

    /// Returns the file names of all approvals, and their records.
    fn records(&self) -> io::Result<Vec<(String, String)>> {
        let Some(directory) = &self.kept_in else {
            return Ok(Vec::new());
        };
        let mut records = Vec::new();
        for (name, _) in directory.names()? {
            let text = directory.read(&name)?;
            let text = text.and_then(|text| String::from_utf8(text).ok());
            records.extend(text.map(|text| (name, text)));
        }
        Ok(records)
    }

    /// Marks a configuration's project files as approved, if all are that need it.
    pub fn settle(&self, config: &mut Config) {
        // An unreadable approval does not count; `has` logs it.
        let agreed = |file: &ProjectFile| self.has(&file.file).unwrap_or(false);
        if config.unagreed().all(agreed) {
            config.agree();
        }
    }
}

fn holds_something(directory: &Path) -> bool {
    std::fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_some())
}

/// Returns the file name of an approval: a hash over the path and the bytes.
fn name_of(file: &Brought) -> String {
    let mut hash = Sha256::new();
    hash.update(file.path.as_os_str().as_encoded_bytes());
    hash.update([0]);
    hash.update(&file.sha256);
    data_encoding::HEXLOWER.encode(&hash.finalize())
}

/// Returns the record of an approval, readable for people too.
fn record(file: &Brought) -> String {
    format!("{} {}\n", file.sha256, file.quoted())
}

/// An action that needs the user's approval of a file.
#[derive(Clone, Debug)]
pub struct Consent {
    pub file: Brought,
    /// The action that was not taken, as a clause.
    pub(super) what: String,
    /// The command that asks the user for approval.
    pub(super) command: String,
    /// All that the approval covers, line by line.
    pub lines: Vec<String>,
    pub(super) trust: Trust,
}

impl Consent {
    /// Records the user's approval.
    pub fn give(&self) -> io::Result<()> {
        self.trust.add(&self.file)
    }

    /// Returns the sentence for the user whose approval is missing.
    pub fn message_for_user(&self) -> String {
        format!("{}, and you have not approved that file", self.what)
    }

    /// Returns the sentence for a record that the user and models read.
    pub fn message_for_all(&self) -> String {
        format!("{}, and the user has not approved that file (`{}`)", self.what, self.command)
    }
}

/// The sentence for a model.
impl fmt::Display for Consent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, and your user has not approved that file. The user reviews and approves it with \
                `{}`",
            self.what, self.command
        )
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn an_approval_covers_exact_bytes_at_one_path() {
        let home = tempfile::tempdir().unwrap();
        let state = StateDirectory::find(|name| (name == "HOME").then(|| home.path().into()));
        let trust = Trust::kept_in(state.as_ref());
        let path = home.path().join("bridge.toml");
        std::fs::write(&path, "one").unwrap();
        let file = Brought::of(&path, b"one");
        assert_eq!(trust.has(&file), Ok(false));
        trust.add(&file).unwrap();
        assert_eq!(trust.has(&file), Ok(true));
        assert_eq!(trust.has(&Brought::of(&path, b"two")), Ok(false));
        let elsewhere = Brought::of(Path::new("/elsewhere"), b"one");
        assert_eq!(trust.has(&elsewhere), Ok(false));
        trust.add(&Brought::of(&path, b"two")).unwrap();
        assert_eq!(trust.has(&file), Ok(true), "an approval revokes no other");
        assert_eq!(Trust::default().has(&file), Ok(false));
        assert!(Trust::default().add(&file).is_err());
    }

    #[test]
    fn an_unreadable_approval_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        let state = StateDirectory::find(|name| (name == "HOME").then(|| home.path().into()));
        let trust = Trust::kept_in(state.as_ref());
        let file = Brought::at("/a/bridge.toml".into(), b"1");
        trust.add(&file).unwrap();
        let directory = state.unwrap().path();
        let open_to = |mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&directory, mode).unwrap();
        };
        open_to(0o770);
        let message = trust.has(&file).unwrap_err().to_string();
        assert!(message.contains(": others may write to it"), "{message}");
        assert!(!message.contains(home.path().to_str().unwrap()), "{message}");
        open_to(0o700);
        assert_eq!(trust.has(&file), Ok(true));
    }

    #[test]
    fn approvals_are_listed_and_all_of_one_path_are_revoked_together() {
        let home = tempfile::tempdir().unwrap();
        let state = StateDirectory::find(|name| (name == "HOME").then(|| home.path().into()));
        let trust = Trust::kept_in(state.as_ref());
        assert_eq!(trust.all().unwrap(), []);
        let [one, other] = ["/a/one.toml", "/a/two.toml"].map(Path::new);
        let files = [
            Brought::at(one.into(), b"1"),
            Brought::at(one.into(), b"2"),
            Brought::at(other.into(), b"1"),
        ];
        for file in &files {
            trust.add(file).unwrap();
        }
        let listed = trust.all().unwrap();
        let places: Vec<_> = listed.iter().map(|(_, place)| place.as_str()).collect();
        assert_eq!(places, ["\"/a/one.toml\"", "\"/a/one.toml\"", "\"/a/two.toml\""]);
        assert_eq!(listed[2].0, files[2].sha256);
        assert_eq!(trust.revoke(one).unwrap(), 2);
        assert_eq!(trust.revoke(one).unwrap(), 0);
        let left = files.map(|file| trust.has(&file).unwrap());
        assert_eq!(left, [false, false, true]);
        assert_eq!(Trust::default().revoke(one).unwrap(), 0);
    }

    #[test]
    fn an_approval_is_forgotten_long_after_its_project_was_deleted() {
        let home = tempfile::tempdir().unwrap();
        let state = StateDirectory::find(|name| (name == "HOME").then(|| home.path().into()));
        let trust = Trust::kept_in(state.as_ref());
        let [there, gone, empty] = ["there", "gone/a", "disk/a"].map(|name| home.path().join(name));
        std::fs::write(&there, "").unwrap();
        // A disk that is not mounted leaves its empty mount point.
        std::fs::create_dir(home.path().join("disk")).unwrap();
        for path in [&there, &gone, &empty] {
            trust.add(&Brought::at(path.clone(), b"x")).unwrap();
        }
        let long = i64::MAX;
        assert_eq!(trust.forget_the_gone(long).unwrap(), 1);
        let left = [there, gone, empty].map(|path| {
            let file = Brought::at(path, b"x");
            trust.has(&file).unwrap()
        });
        assert_eq!(left, [true, false, true]);
    }
}
