//! Presence: a file that is locked while its session lives. The lock ends with the process, however that ends.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::io_failure::failed;
use crate::bus::storage::{Hold, LogError, Presence, Standing};
use crate::domain::ids::SessionId;
use crate::sys::fs::disk;
use crate::sys::fs::file_lock::LifeLock;

/// The age at which the files of an unknown session are left over: a presence is created shortly before it is locked, and a wakeup
/// file before its session is known.
const FRESH_MS: i128 = 60_000;

/// The presence of a session of this process.
pub(crate) struct Held {
    lock: LifeLock,
    path: PathBuf,
    wakeup: PathBuf,
}

impl Held {
    pub(crate) fn take(path: PathBuf, wakeup: PathBuf) -> Result<Self, LogError> {
        let lock = LifeLock::take(&path).map_err(|error| failed("lock", &path, error))?;
        Ok(Self { lock, path, wakeup })
    }
}

impl Hold for Held {
    fn beat(&self) {
        if let Err(error) = self.lock.beat() {
            tracing::warn!(%error, "failed to update the heartbeat");
        }
    }

    fn share(&self) -> Option<OwnedFd> {
        self.lock
            .share()
            .inspect_err(|error| tracing::warn!(%error, "failed to pass on a presence"))
            .ok()
    }

    fn remove(&self) {
        for path in [&self.path, &self.wakeup] {
            remove(path);
        }
    }
}

/// Says whether a presence is held. If the check fails, the session counts as live.
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

/// Returns the time of a presence's last beat. A file with an unreadable time counts as missing.
pub(crate) fn heartbeat(path: &Path) -> Option<i128> {
    disk::touched_ns(path).ok()
}

/// Removes the files of dead sessions from a bus directory: presences that no process holds, and wakeup files. Their age is counted
/// from the newest file, the heartbeat of a live session, so that a clock that is ahead makes no file old.
pub(crate) fn clear(
    directory: &Path,
    standing: &dyn Fn(SessionId) -> Standing,
    now_ms: i64,
) -> Result<(), LogError> {
    let parts = ["bell", "presence"].map(|part| directory.join(part));
    let newest_ms = parts.iter().filter_map(|part| newest_ms(part)).max();
    let now_ms = newest_ms.map_or(i128::MIN, |newest_ms| newest_ms.min(i128::from(now_ms)));
    for part in parts {
        let entries = match fs::read_dir(&part) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries.map_err(|error| failed("list", &part, error))?,
        };
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

/// Returns when any file in a directory was last touched.
fn newest_ms(directory: &Path) -> Option<i128> {
    let entries = fs::read_dir(directory).ok()?;
    let times = entries.flatten().filter_map(|entry| touched_ms(&entry.path()));
    times.max()
}

fn touched_ms(path: &Path) -> Option<i128> {
    let touched_ns = disk::touched_ns(path).ok()?;
    Some(touched_ns / 1_000_000)
}

/// Removes a file of a dead session. A failure does no harm.
fn remove(path: &Path) {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(%error, path = %path.display(), "failed to remove a presence");
        }
        _ => {}
    }
}
