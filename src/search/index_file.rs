//! Where the index of a bus is, and who may use it: one private file for each bus in the user's cache directory, and a lock beside it.
//!
//! One process at a time has the lock, from before the file is opened until after it is closed. So a damaged index can be replaced
//! while another search waits. A kill at any moment leaves a database that the next one recovers, or a lock file that nobody holds.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use uuid::Uuid;

use super::search_error::SearchError;
use crate::sys::clock;
use crate::sys::fs::disk::{self, Writes, touched_ns};
use crate::sys::fs::file_lock::{Guard, LockFile};
use crate::sys::fs::user_state_dir::StateDirectory;

/// The directory in the cache directory.
const FOLDER: &str = "search";

/// An index that no search has used for so long goes: its bus may be gone.
const UNUSED_DAYS: i64 = 90;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The files that `SQLite` has beside the database, by their endings.
const ENDINGS: [&str; 4] = ["", "-journal", "-wal", "-shm"];

/// Where indexes are kept.
#[derive(Clone, Debug)]
pub enum IndexPlace {
    /// In this cache directory of the user.
    Kept(StateDirectory),
    /// Nowhere: each search makes its own in memory.
    Memory,
}

impl IndexPlace {
    /// Returns the place of this process's user; memory without a home directory.
    pub fn of_process() -> Self {
        StateDirectory::cache_of_process()
            .map_or(Self::Memory, |cache| Self::Kept(cache.inner(FOLDER)))
    }
}

/// The file of one index, locked.
pub(super) struct IndexFile {
    path: PathBuf,
    _guard: Guard,
}

impl IndexFile {
    /// Finds the file for a bus, creates it if necessary, and locks it. Waits for another search, and calls `on_wait` once before.
    pub(super) fn lock(
        cache: &StateDirectory,
        bus: Uuid,
        patience: Duration,
        on_wait: &mut dyn FnMut(),
    ) -> Result<Self, SearchError> {
        // SQLite follows no link.
        let directory = fs::canonicalize(cache.prepare()?)?;
        let (path, lock_path) =
            (directory.join(format!("{bus}.sqlite")), directory.join(format!("{bus}.lock")));
        loop {
            let lock = LockFile::open(&lock_path)?;
            let guard = if let Some(guard) = lock.try_acquire()? {
                guard
            } else {
                on_wait();
                lock.acquire(patience)?.ok_or(SearchError::Busy)?
            };
            // The user may have deleted it meanwhile.
            if !lock.is_in_place() {
                continue;
            }
            sweep(&directory, &format!("{bus}."));
            let file = disk::open_or_create_private(&path, Writes::Anywhere)?;
            disk::touch(&file)?;
            return Ok(Self { path, _guard: guard });
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the file by an empty one.
    pub(super) fn clear(&self) -> io::Result<()> {
        for path in self.files() {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        disk::create_private(&self.path, Writes::Anywhere).map(drop)
    }

    /// Removes the file, as far as that is possible.
    pub(super) fn remove(&self) {
        for path in self.files() {
            // The next search makes it anew, or removes it.
            let _ = fs::remove_file(path);
        }
    }

    fn files(&self) -> impl Iterator<Item = PathBuf> {
        ENDINGS.into_iter().map(|ending| {
            let mut path = self.path.clone().into_os_string();
            path.push(ending);
            PathBuf::from(path)
        })
    }
}

/// Removes the files of indexes that have not been used for long. A failure does no harm.
fn sweep(directory: &Path, own: &str) {
    let before_ms = clock::now().wall_ms.saturating_sub(UNUSED_DAYS * DAY_MS);
    let Ok(entries) = fs::read_dir(directory) else { return };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let names: Vec<_> = names.filter(|name| !name.starts_with(own)).collect();
    for name in names.iter().filter(|name| name.ends_with(".sqlite")) {
        let is_old = touched_ns(&directory.join(name))
            .is_ok_and(|touched_ns| touched_ns / 1_000_000 < i128::from(before_ms));
        let lock = directory.join(name.replace(".sqlite", ".lock"));
        let held = LockFile::open_present(&lock).and_then(|lock| lock.try_acquire());
        if !is_old || matches!(held, Ok(None)) {
            continue;
        }
        for ending in ENDINGS {
            let _ = fs::remove_file(directory.join(format!("{name}{ending}")));
        }
        let _ = fs::remove_file(lock);
    }
}
