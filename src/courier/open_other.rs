//! Opens the bus of another project, which must be there: a courier makes none, and changes no other file there.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::bus::storage::LogError;
use crate::bus::storage::file::{FileLog, Foreign, Networks, Options, Origin, Proof};
use crate::bus::{Bus, BusError};
use crate::domain::messaging::HeldWhy;
use crate::sys::fs::disk::{Disk, RealDisk};
use crate::sys::fs::user_state_dir::StateDirectory;

/// Where the bus of a project is.
const BUS: &str = ".claude/bridge";

/// Why a bus is not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotOpened {
    /// Somebody holds its lock, and may let go of it in a moment.
    Busy,
    Held(HeldWhy),
}

impl From<HeldWhy> for NotOpened {
    fn from(why: HeldWhy) -> Self {
        Self::Held(why)
    }
}

/// Opens the bus of a project. One that was not made there is none: nothing of it is believed.
pub(super) fn open(project: &Path) -> Result<Bus, NotOpened> {
    let project = project.canonicalize().map_err(|error| {
        tracing::debug!("no project is at `{}`: {error}", project.display());
        HeldWhy::NoBus
    })?;
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let proof = Proof { state: StateDirectory::of_process(), foreign: Foreign::PutAside };
    // Whoever made the bus has decided whether it may be on a network file system.
    let options = Options {
        origin: Origin::Proven(proof),
        networks: Networks::Allowed,
        ..Options::default()
    };
    let directory = project.join(BUS);
    if let Some(linked) = linked_file(&directory) {
        tracing::warn!(
            "`{}` is the same file as another one: its bus is not used",
            linked.display()
        );
        return Err(HeldWhy::Unusable.into());
    }
    let opened = FileLog::open_present(&directory, &disk, options).map_err(BusError::from);
    match opened.map(|log| log.map(|log| Bus::open(Box::new(log))).transpose()) {
        // A message from elsewhere would stop the sessions there, which know of none.
        Ok(Ok(Some(_))) if !FileLog::is_raised(&directory, &*disk) => Err(HeldWhy::Older.into()),
        Ok(Ok(Some(bus))) => Ok(bus),
        Ok(Ok(None)) => Err(HeldWhy::NoBus.into()),
        Ok(Err(error)) | Err(error) if is_busy(&error) => Err(NotOpened::Busy),
        Ok(Err(error)) | Err(error) => Err(why(&error).into()),
    }
}

/// Says whether a bus may be free in a moment, or shows then what has come of a write.
pub(super) fn is_busy(error: &BusError) -> bool {
    let passes =
        |error: &LogError| matches!(error, LogError::Busy { .. } | LogError::OutcomeUnknown { .. });
    matches!(error, BusError::Closed) || matches!(error, BusError::Log(error) if passes(error))
}

/// Returns a file of a bus that has another name, too. That may be a file of another bus, even of our own, whose members would be looked
/// for among the processes of this one.
fn linked_file(directory: &Path) -> Option<PathBuf> {
    let log = std::fs::read_dir(directory.join("log")).into_iter().flatten().flatten();
    let named = ["bus.json", "lock"].map(|name| directory.join(name));
    let mut files = named.into_iter().chain(log.map(|entry| entry.path()));
    files.find(|file| {
        file.symlink_metadata().is_ok_and(|found| found.is_file() && found.nlink() > 1)
    })
}

/// Says why a bus cannot be used.
pub(super) fn why(error: &BusError) -> HeldWhy {
    if matches!(error, BusError::Log(LogError::Newer)) {
        return HeldWhy::Newer;
    }
    tracing::warn!("the bus of another project cannot be used: {error}");
    HeldWhy::Unusable
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// A project whose bus has this in place of `bus.json`.
    fn project(place: &Path, called: &str, make: impl Fn(&Path)) -> PathBuf {
        let bus = place.join(called).join(BUS);
        fs::create_dir_all(&bus).unwrap();
        fs::set_permissions(&bus, fs::Permissions::from_mode(0o700)).unwrap();
        make(&bus.join("bus.json"));
        place.join(called)
    }

    #[test]
    fn what_is_no_bus_of_ours_is_not_used_and_no_reader_hangs() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path();
        assert_eq!(open(&place.join("nothing")).err(), Some(NotOpened::Held(HeldWhy::NoBus)));
        let empty = project(place, "empty", |_| {});
        assert_eq!(open(&empty).err(), Some(NotOpened::Held(HeldWhy::NoBus)));
        assert_eq!(fs::read_dir(empty.join(BUS)).unwrap().count(), 0, "nothing is made there");
        let junk = project(place, "junk", |file| fs::write(file, "junk".repeat(9_999)).unwrap());
        assert_eq!(open(&junk).err(), Some(NotOpened::Held(HeldWhy::Unusable)));
        let newer = project(place, "newer", |file| fs::write(file, "{\"format\":99}").unwrap());
        assert_eq!(open(&newer).err(), Some(NotOpened::Held(HeldWhy::Newer)));
        let pipe = project(place, "pipe", |file| {
            let made = std::process::Command::new("mkfifo").arg(file).status();
            assert!(made.unwrap().success());
        });
        assert_eq!(open(&pipe).err(), Some(NotOpened::Held(HeldWhy::Unusable)));
        let hard = project(place, "hard", |file| {
            fs::hard_link(junk.join(BUS).join("bus.json"), file).unwrap();
        });
        assert_eq!(open(&hard).err(), Some(NotOpened::Held(HeldWhy::Unusable)));
        let linked = place.join("linked");
        fs::create_dir_all(linked.join(".claude")).unwrap();
        symlink(junk.join(BUS), linked.join(BUS)).unwrap();
        assert_eq!(open(&linked).err(), Some(NotOpened::Held(HeldWhy::Unusable)));
    }
}
