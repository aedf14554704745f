//! The counterparts of all buses in the user's state directory: the known buses, and those that are gone. `bus_origin` writes and
//! reads a single one.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::bus::storage::file::bus_json;
use crate::sys::fs::disk::{RealDisk, file_system};
use crate::sys::fs::forget_deleted::{self, DirectoryState};
use crate::sys::fs::user_state_dir::StateDirectory;

/// The directory of all counterparts in the user's state directory.
const COUNTERPARTS: &str = "buses";

/// The most former places of a project that are remembered.
const MOST_FORMER: usize = 8;

/// The part of a counterpart that is read here.
#[derive(Deserialize)]
struct Kept {
    path: PathBuf,
    device: u64,
    inode: u64,
    #[serde(default)]
    file_system: u64,
}

impl Kept {
    /// Says whether the directory is still where it was.
    fn place(&self) -> DirectoryState {
        let was_on = |around: &Path| {
            let device = fs::metadata(around).map(|around| around.dev());
            let same = file_system(around).is_ok_and(|id| id != 0 && id == self.file_system);
            same || device.is_ok_and(|device| device == self.device)
        };
        match forget_deleted::look(&self.path, was_on) {
            // Another bus was created there since.
            DirectoryState::There if self.is_replaced() => DirectoryState::Gone,
            place => place,
        }
    }

    fn is_replaced(&self) -> bool {
        let now = fs::symlink_metadata(&self.path);
        now.is_ok_and(|now| now.dev() == self.device && now.ino() != self.inode)
    }
}

/// Returns the known directories in which this user's processes have created buses.
pub fn known(state: &StateDirectory) -> io::Result<Vec<PathBuf>> {
    let counterparts = state.inner(COUNTERPARTS);
    let mut known = Vec::new();
    for (name, _) in counterparts.names()? {
        let text = counterparts.read(&name)?.unwrap_or_default();
        known.extend(serde_json::from_slice(&text).map(|kept: Kept| kept.path));
    }
    known.sort();
    known.dedup();
    Ok(known)
}

/// Returns where the project of a bus was before it was moved, the last place first.
pub fn former_projects(state: &StateDirectory, directory: &Path) -> io::Result<Vec<PathBuf>> {
    let Some((_, kept)) = counterpart(state, directory)? else {
        return Ok(Vec::new());
    };
    let was = kept["was"].as_array().into_iter().flatten();
    let places = std::iter::once(&kept["path"]).chain(was).filter_map(Value::as_str).map(Path::new);
    let former = places.filter(|place| *place != directory);
    Ok(former.filter_map(|bus| Some(bus.parent()?.parent()?.to_owned())).collect())
}

/// Finds the counterpart of a bus, and its name.
fn counterpart(state: &StateDirectory, directory: &Path) -> io::Result<Option<(String, Value)>> {
    let known = bus_json::look(&RealDisk, directory).ok().flatten();
    let Some(id) = known.and_then(|known| known.id) else {
        return Ok(None);
    };
    let inode = fs::symlink_metadata(directory)?.ino();
    let name = format!("{id}-{inode}.json");
    // There is none if the bus was adopted without a record.
    let text = state.inner(COUNTERPARTS).read(&name)?;
    Ok(text.and_then(|text| Some((name, serde_json::from_slice(&text).ok()?))))
}

/// Notes the use of a bus at its current path, to which its project may have been moved.
pub fn note_use(state: &StateDirectory, directory: &Path) -> io::Result<()> {
    let counterparts = state.inner(COUNTERPARTS);
    let Some((name, mut kept)) = counterpart(state, directory)? else {
        return Ok(());
    };
    let path = directory.to_string_lossy();
    if kept["path"] == *path {
        return counterparts.renew(&name);
    }
    let before = std::mem::replace(&mut kept["path"], Value::String(path.into_owned()));
    let was = kept["was"].as_array().into_iter().flatten();
    let was = std::iter::once(&before).chain(was).filter(|place| **place != kept["path"]);
    kept["was"] = was.take(MOST_FORMER).cloned().collect();
    counterparts.write(&name, &serde_json::to_vec(&kept)?)
}

/// Removes the counterparts of buses that are long gone. Returns their number. Checks a bounded number of directories.
pub fn forget_the_gone(state: &StateDirectory, now_ms: i64) -> io::Result<usize> {
    let place_of = |_: &str, text: &[u8]| {
        let kept: Option<Kept> = serde_json::from_slice(text).ok();
        kept.map_or(DirectoryState::Unknown, |kept| kept.place())
    };
    forget_deleted::forget(&state.inner(COUNTERPARTS), now_ms, place_of)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bus::storage::file::{FileLog, Foreign, Options, Origin, Proof};

    struct User {
        base: tempfile::TempDir,
        state: StateDirectory,
    }

    impl User {
        fn new() -> Self {
            let base = tempfile::tempdir().unwrap();
            let state = StateDirectory::find(|name| (name == "HOME").then(|| base.path().into()));
            let state = state.unwrap();
            Self { base, state }
        }

        fn bus(&self, project: &str) -> PathBuf {
            self.base.path().join(project).join(".claude/bridge")
        }

        /// Opens or creates a bus, and closes it. Returns whether a foreign one was put aside.
        fn open(&self, project: &str) -> bool {
            let (state, foreign) = (Some(self.state.clone()), Foreign::PutAside);
            let options =
                Options { origin: Origin::Proven(Proof { state, foreign }), ..Options::default() };
            fs::create_dir_all(self.base.path().join(project)).unwrap();
            let log = FileLog::open(&self.bus(project), Arc::new(RealDisk), options);
            log.unwrap().put_aside().is_some()
        }

        fn known(&self) -> Vec<PathBuf> {
            known(&self.state).unwrap()
        }
    }

    #[test]
    fn the_counterparts_of_deleted_projects_are_forgotten_and_no_others() {
        let user = User::new();
        for project in ["kept", "deleted", "made anew"] {
            user.open(project);
        }
        let all = ["deleted", "kept", "made anew"];
        assert_eq!(user.known(), all.map(|name| user.bus(name)));
        fs::remove_dir_all(user.base.path().join("deleted")).unwrap();
        // It is not removed, so that the new one has another inode.
        fs::rename(user.bus("made anew"), user.base.path().join("old")).unwrap();
        user.open("made anew");

        let soon = crate::sys::clock::now().wall_ms;
        assert_eq!(forget_the_gone(&user.state, soon).unwrap(), 0);
        assert_eq!(forget_the_gone(&user.state, i64::MAX).unwrap(), 2);
        assert_eq!(user.known(), ["kept", "made anew"].map(|name| user.bus(name)));
        assert!(!user.open("kept") && !user.open("made anew"));
    }

    #[test]
    fn a_bus_that_was_moved_is_remembered_where_it_is_used() {
        let user = User::new();
        user.open("here");
        let [here, there] = ["here", "there"].map(|name| user.base.path().join(name));
        fs::rename(here, there).unwrap();
        note_use(&user.state, &user.bus("there")).unwrap();
        assert_eq!(user.known(), [user.bus("there")]);
        assert_eq!(forget_the_gone(&user.state, i64::MAX).unwrap(), 0);
        assert!(!user.open("there"), "it is its own still");
        let former = |project: &str| former_projects(&user.state, &user.bus(project)).unwrap();
        assert_eq!(former("there"), [user.base.path().join("here")]);
        let [there, last] = ["there", "last"].map(|name| user.base.path().join(name));
        fs::rename(&there, last).unwrap();
        let both = [there, user.base.path().join("here")];
        assert_eq!(former("last"), both, "before its use is noted");
        note_use(&user.state, &user.bus("last")).unwrap();
        assert_eq!(former("last"), both);
    }

    #[test]
    fn a_bus_on_a_disk_that_is_not_there_is_not_forgotten() {
        let user = User::new();
        user.open("away");
        fs::remove_dir_all(user.base.path().join("away")).unwrap();
        let counterparts = user.state.inner(COUNTERPARTS);
        let (name, _) = counterparts.names().unwrap().remove(0);
        let text = counterparts.read(&name).unwrap().unwrap();
        let mut kept: Value = serde_json::from_slice(&text).unwrap();
        kept["device"] = u32::MAX.into();
        kept["file_system"] = 1.into();
        counterparts.write(&name, &serde_json::to_vec(&kept).unwrap()).unwrap();
        assert_eq!(forget_the_gone(&user.state, i64::MAX).unwrap(), 0);
    }
}
