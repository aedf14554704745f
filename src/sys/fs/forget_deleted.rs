//! Removes files from a directory of the user's state when the places in the file system that they are about are gone for good.
//!
//! A missing place may come back: a disk that is not mounted, a directory that was moved for a while. So a file is removed only when
//! its place was not seen for long, by the file's own time, and the file system around that place is there.

use std::fs;
use std::io;
use std::path::Path;

use super::user_state_dir::StateDirectory;

/// How long a place has to be gone: three times as long as a log is kept by default, so nothing that waits in it is lost.
const UNSEEN_MS: i64 = 90 * DAY_MS;

/// A file is not touched more often than this, however often its place is seen.
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// The most files that are looked at in one go: those that were seen longest ago.
const MOST: usize = 1_000;

/// What became of what a file remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectoryState {
    /// It is in its place.
    There,
    /// Another is in its place, or none, although the file system is there.
    Gone,
    /// That cannot be known.
    Unknown,
}

/// Says whether a path is there; `is_same` says of the nearest directory around it that is, whether that is on the file system
/// that the path was on.
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

/// Removes the files of a directory whose places are long gone, and notes of the others that they were seen now. `place_of` says
/// of a name and a text what became of what they remember. Returns how many were removed.
pub fn forget(
    directory: &StateDirectory,
    now_ms: i64,
    place_of: impl Fn(&str, &[u8]) -> DirectoryState,
) -> io::Result<usize> {
    let mut names = directory.names()?;
    names.sort_by_key(|(_, touched_ms)| *touched_ms);
    let mut removed = 0;
    for (name, touched_ms) in names.into_iter().take(MOST) {
        // One that is being replaced, or that is not ours to read, stays.
        let Ok(Some(text)) = directory.read(&name) else {
            continue;
        };
        let age_ms = now_ms.saturating_sub(touched_ms);
        match place_of(&name, &text) {
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
    fn only_what_is_long_gone_is_forgotten() {
        let home = tempfile::tempdir().unwrap();
        let state = StateDirectory::find(|name| (name == "HOME").then(|| home.path().into()));
        let state = state.unwrap();
        for name in ["there", "gone", "unknown"] {
            state.write(name, b"x").unwrap();
        }
        let touched_ms = |wanted: &str| {
            let names = state.names().unwrap();
            names.iter().find(|(name, _)| name == wanted).map(|(_, touched)| *touched)
        };
        let place_of = |name: &str, _: &[u8]| match name {
            "there" => DirectoryState::There,
            "gone" => DirectoryState::Gone,
            _ => DirectoryState::Unknown,
        };
        let now_ms = touched_ms("gone").unwrap();
        assert_eq!(forget(&state, now_ms + UNSEEN_MS, place_of).unwrap(), 0);
        assert_eq!(forget(&state, now_ms + UNSEEN_MS + 60_000, place_of).unwrap(), 1);
        assert_eq!(touched_ms("gone"), None);
        assert!(touched_ms("unknown").is_some() && touched_ms("there").is_some());
    }

    #[test]
    fn a_place_is_gone_only_where_its_file_system_is() {
        let root = tempfile::tempdir().unwrap();
        let gone = root.path().join("a/b/c");
        assert_eq!(look(root.path(), |_| false), DirectoryState::There);
        assert_eq!(look(&gone, |around| around == root.path()), DirectoryState::Gone);
        assert_eq!(look(&gone, |_| false), DirectoryState::Unknown);
        fs::write(root.path().join("a"), "").unwrap();
        assert_eq!(look(&gone, |_| true), DirectoryState::Unknown);
    }
}
