//! Removes records from a directory of the user's state when the paths that they are about no longer exist.
//!
//! A missing path may come back: with a disk that is not mounted now, or a directory that was moved for a while. So a record is removed
//! only when its path has not been seen for long, by the record's own file time, and the file system of the path is present.

use std::fs;
use std::io;
use std::path::Path;

use super::user_state_dir::StateDirectory;

/// How long a path must be gone: three times the default retention of a log, so no waiting message is lost.
const UNSEEN_MS: i64 = 90 * DAY_MS;

/// A record is touched at most this often.
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// The most records checked in one go, beginning with those seen longest ago.
const MOST: usize = 1_000;

/// The state of the directory that a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectoryState {
    /// It is at its path.
    There,
    /// Another directory or none is at its path, although the file system is present.
    Gone,
    Unknown,
}

/// Returns the state of a path. `is_same` says whether its nearest existing ancestor is on the file system that the path was on.
pub fn look(path: &Path, is_same: impl FnOnce(&Path) -> bool) -> DirectoryState {
    match fs::symlink_metadata(path) {
        Ok(_) => DirectoryState::There,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut around = path.ancestors().skip(1);
            let around = around.find(|around| fs::symlink_metadata(around).is_ok());
            match around {
                Some(around) if is_same(around) => DirectoryState::Gone,
                _ => DirectoryState::Unknown,
            }
        }
        Err(_) => DirectoryState::Unknown,
    }
}

/// Removes the records whose paths are long gone, and renews those whose paths exist. `state_of` returns the state for a record's name
/// and text. Returns the number of removed records.
pub fn forget(
    directory: &StateDirectory,
    now_ms: i64,
    state_of: impl Fn(&str, &[u8]) -> DirectoryState,
) -> io::Result<usize> {
    let mut names = directory.names()?;
    names.sort_by_key(|(_, touched_ms)| *touched_ms);
    let mut removed = 0;
    for (name, touched_ms) in names.into_iter().take(MOST) {
        // A record that is being replaced, or that we may not read, stays.
        let Ok(Some(text)) = directory.read(&name) else {
            continue;
        };
        let age_ms = now_ms.saturating_sub(touched_ms);
        match state_of(&name, &text) {
            DirectoryState::There if age_ms > DAY_MS => directory.renew(&name)?,
            DirectoryState::Gone if age_ms > UNSEEN_MS => {
                directory.remove(&name)?;
                removed += 1;
            }
            _ => {}
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_records_of_paths_that_are_long_gone_are_removed() {
        let home = tempfile::tempdir().unwrap();
        let state = StateDirectory::find(|name| (name == "HOME").then(|| home.path().into()));
        let state = state.unwrap();
        for name in ["there", "gone", "unknown"] {
            state.write(name, b"x").unwrap();
        }
        let touched_ms = |record: &str| {
            let names = state.names().unwrap();
            names.iter().find(|(name, _)| name == record).map(|(_, touched)| *touched)
        };
        let state_of = |name: &str, _: &[u8]| match name {
            "there" => DirectoryState::There,
            "gone" => DirectoryState::Gone,
            _ => DirectoryState::Unknown,
        };
        let now_ms = touched_ms("gone").unwrap();
        assert_eq!(forget(&state, now_ms + UNSEEN_MS, state_of).unwrap(), 0);
        assert_eq!(forget(&state, now_ms + UNSEEN_MS + 60_000, state_of).unwrap(), 1);
        assert_eq!(touched_ms("gone"), None);
        assert!(touched_ms("unknown").is_some() && touched_ms("there").is_some());
    }

    #[test]
    fn a_path_is_gone_only_if_its_file_system_is_present() {
        let root = tempfile::tempdir().unwrap();
        let gone = root.path().join("a/b/c");
        assert_eq!(look(root.path(), |_| false), DirectoryState::There);
        assert_eq!(look(&gone, |around| around == root.path()), DirectoryState::Gone);
        assert_eq!(look(&gone, |_| false), DirectoryState::Unknown);
        fs::write(root.path().join("a"), "").unwrap();
        assert_eq!(look(&gone, |_| true), DirectoryState::Unknown);
    }
}
