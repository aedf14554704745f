//! `host.json`: which host this mirror is, and which it was before.
//!
//! The processes that use one mirror in one boot are one host: they see each other's locks. After a reboot it is another host.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::bus::storage::LogError;
use crate::bus::storage::file::io_failure::failed;
use crate::domain::member::{HOST_NAME_BYTES, Host, HostId};
use crate::domain::wait_times;
use crate::sys::clock;
use crate::sys::fs::bounded_file;
use crate::sys::fs::disk::{self, Writes};
use crate::sys::fs::file_lock::{Guard, LockFile};
use crate::sys::process;

/// The name of the file.
const HOST_JSON: &str = "host.json";

/// The longest file that is read.
const MOST_BYTES: u64 = 16 * 1024;

/// Former hosts that are remembered: more than there are boots while a session of one is still listed.
const FORMER: usize = 32;

#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    now: Host,
    /// The boot of that host.
    boot: u32,
    #[serde(default)]
    was: Vec<HostId>,
}

/// Which host this mirror is.
#[derive(Clone, Debug)]
pub(super) struct HostFile {
    pub(super) now: Host,
    /// The hosts that it was before. None of their processes lives.
    pub(super) was: Vec<HostId>,
}

impl HostFile {
    /// Reads the file, or makes this a new host if it is of another boot.
    pub(super) fn load(directory: &Path) -> Result<Self, LogError> {
        let boot = clock::now().tick.boot;
        let is_here = |stored: &Stored| stored.boot == boot;
        if let Some(stored) = read(directory)?.filter(is_here) {
            return Ok(Self { now: stored.now, was: stored.was });
        }
        let _guard = locked(directory)?;
        match read(directory)? {
            Some(stored) if is_here(&stored) => Ok(Self { now: stored.now, was: stored.was }),
            before => Ok(renew(directory, before)),
        }
    }

    /// Makes this another host. If another process has done so meanwhile, that host counts.
    pub(super) fn begin_anew(&mut self, directory: &Path) -> Result<(), LogError> {
        let _guard = locked(directory)?;
        let before = read(directory)?;
        *self = match before {
            Some(stored) if stored.now.id != self.now.id => {
                Self { now: stored.now, was: stored.was }
            }
            before => renew(directory, before),
        };
        Ok(())
    }
}

/// A lock of its own: the opening of a bus may come while a line gets its place.
fn locked(directory: &Path) -> Result<Guard, LogError> {
    let path = directory.join("host.json.lock");
    let lock = LockFile::open(&path).map_err(|error| failed("open", &path, error))?;
    let guard = lock.acquire(wait_times::BUS_BUSY).map_err(|error| failed("lock", &path, error))?;
    guard.ok_or_else(|| LogError::Busy { holder: lock.queue().holder() })
}

fn renew(directory: &Path, before: Option<Stored>) -> HostFile {
    let mut was = before.map_or_else(Vec::new, |before| {
        let Stored { now, mut was, .. } = before;
        was.push(now.id);
        was
    });
    let surplus = was.len().saturating_sub(FORMER);
    was.drain(..surplus);
    let now = Host { id: HostId(Uuid::now_v7()), name: name() };
    let stored = Stored { now: now.clone(), boot: clock::now().tick.boot, was: was.clone() };
    if let Err(error) = write(directory, &stored) {
        // Who may only read the bus takes part in nothing, and is nobody's host.
        tracing::debug!("failed to record which host this is: {error}");
    }
    HostFile { now, was }
}

/// Returns the machine's name, for people.
fn name() -> String {
    let name = process::host_name();
    let name: String = name.chars().filter(|letter| !letter.is_control()).collect();
    let short = name.split('.').next().unwrap_or_default();
    let end = short.floor_char_boundary(HOST_NAME_BYTES);
    if short.is_empty() { "unnamed".to_owned() } else { short[..end].to_owned() }
}

fn path(directory: &Path) -> PathBuf {
    directory.join(HOST_JSON)
}

/// Reads the file. One that is damaged counts as missing: the host is then a new one.
fn read(directory: &Path) -> Result<Option<Stored>, LogError> {
    match bounded_file::read(&path(directory), MOST_BYTES) {
        Ok(text) => Ok(serde_json::from_slice(&text).ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("read", &path(directory), error)),
    }
}

fn write(directory: &Path, stored: &Stored) -> Result<(), LogError> {
    let temporary = directory.join(".host.json.tmp");
    let text = serde_json::to_vec(stored).expect("a host is plain data");
    let written = || {
        // One that a crash has left.
        match fs::remove_file(&temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        disk::create_private(&temporary, Writes::Anywhere)?.write_all(&text)?;
        fs::rename(&temporary, path(directory))
    };
    written().map_err(|error| failed("write", &path(directory), error))
}
