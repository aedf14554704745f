//! Presence: a file that is locked for as long as its session lives, whatever ends it.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::io_failure::failed;
use crate::bus::storage::{Hold, LogError, Presence, Standing};
use crate::domain::ids::SessionId;
use crate::sys::fs::disk;
use crate::sys::fs::file_lock::LifeLock;

/// A presence is made a moment before it is locked, and a bell before its session is known: what is older than this is left over.
const FRESH_MS: i128 = 60_000;

/// The presence of a session of this process.
pub(crate) struct Held {
    life: LifeLock,
    path: PathBuf,
    bell: PathBuf,
}

impl Held {
    pub(crate) fn take(path: PathBuf, bell: PathBuf) -> Result<Self, LogError> {
        let life = LifeLock::take(&path).map_err(|error| failed("lock", &path, error))?;
        Ok(Self { life, path, bell })
    }
}

impl Hold for Held {
    fn beat(&self) {
        if let Err(error) = self.life.beat() {
            tracing::warn!(%error, "failed to update the heartbeat");
        }
    }

    fn share(&self) -> Option<OwnedFd> {
        self.life
            .share()
            .inspect_err(|error| tracing::warn!(%error, "failed to pass on a presence"))
            .ok()
    }

    fn remove(&self) {
        for path in [&self.path, &self.bell] {
            remove(path);
        }
    }
}

/// Looks whether a presence is held. When it cannot be told, the session is taken to be alive.
pub(crate) fn look(path: &Path) -> Presence {
    match LifeLock::is_held(path) {
        Ok(false) => Presence::Free,
        Ok(true) => Presence::Held,
        Err(error) => {
            tracing::warn!(%error, path = %path.display(), "failed to check a presence");
            Presence::Held
        }
    }
}

/// Returns when a presence last beat. A file without its time counts as one that is not there.
pub(crate) fn heartbeat(path: &Path) -> Option<i128> {
    disk::touched_ns(path).ok()
}

/// Removes what dead sessions have left in a bus directory: presences that nobody holds, and bells. What of them is old is told by
/// the newest, which is the heartbeat of a session that lives: a clock that is ahead makes nothing old.
pub(crate) fn clear(
    directory: &Path,
    standing: &dyn Fn(SessionId) -> Standing,
    now_ms: i64,
) -> Result<(), LogError> {
    let parts = ["bell", "presence"].map(|part| directory.join(part));
    let newest_ms = parts.iter().filter_map(|part| newest_ms(part)).max();
    let now_ms = newest_ms.map_or(i128::MIN, |newest_ms| newest_ms.min(i128::from(now_ms)));
    for part in parts {
        let entries = fs::read_dir(&part).map_err(|error| failed("list", &part, error))?;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let session = name.to_str().and_then(|name| name.parse().ok());
            let Some(session) = session.map(SessionId) else {
                continue;
            };
            let is_left_over = match standing(session) {
                Standing::Live => false,
                Standing::Left => true,
                Standing::Unknown => is_old(&entry.path(), now_ms),
            };
            let presence = directory.join("presence").join(session.to_string());
            if is_left_over && look(&presence) == Presence::Free {
                remove(&entry.path());
            }
        }
    }
    Ok(())
}

fn is_old(path: &Path, now_ms: i128) -> bool {
    touched_ms(path).is_some_and(|touched_ms| now_ms.saturating_sub(touched_ms) > FRESH_MS)
}

/// Returns when something in a directory was last touched.
fn newest_ms(directory: &Path) -> Option<i128> {
    let entries = fs::read_dir(directory).ok()?;
    let times = entries.flatten().filter_map(|entry| touched_ms(&entry.path()));
    times.max()
}

fn touched_ms(path: &Path) -> Option<i128> {
    let touched_ns = disk::touched_ns(path).ok()?;
    Some(touched_ns / 1_000_000)
}

/// Removes a file that means nothing any more; what cannot be removed means as little.
fn remove(path: &Path) {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(%error, path = %path.display(), "failed to remove a presence");
        }
        _ => {}
    }
}
