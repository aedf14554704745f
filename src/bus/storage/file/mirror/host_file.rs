//! `host.json`: which host this mirror is, and which it was before.
//!
//! The processes that use one mirror in one boot are one host: they see each other's locks. After a reboot it is another host.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::mirror_files::{HOST_JSON, HOST_JSON_LOCK};
use crate::bus::storage::LogError;
use crate::bus::storage::file::io_failure::failed;
use crate::domain::member::{HOST_NAME_BYTES, Host, HostId};
use crate::domain::wait_times;
use crate::sys::clock;
use crate::sys::fs::bounded_file;
use crate::sys::fs::disk::{self, Writes};
use crate::sys::fs::file_lock::{Guard, LockFile};
use crate::sys::process;

/// The longest file that is read.
const MOST_BYTES: u64 = 16 * 1024;

/// Former hosts that are remembered: more than there are boots while a session of one is still listed.
const FORMER: usize = 32;

#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    now: Host,
    /// The boot of that host.
    boot: u32,
    /// The inode of its directory: a copy is another host.
    inode: u64,
    #[serde(default)]
    was: Vec<HostId>,
}

/// Which host this mirror is.
#[derive(Clone, Debug)]
pub(super) struct HostFile {
    pub(super) now: Host,
    /// The hosts that it was before.
    pub(super) was: Vec<HostId>,
    /// When the file was written that says so.
    written_ns: Option<i128>,
}

impl HostFile {
    /// Reads the file, or makes this a new host if it is of another boot.
    pub(super) fn load(directory: &Path) -> Result<Self, LogError> {
        let here = (clock::now().tick.boot, inode(directory));
        let is_here = |stored: &Stored| (stored.boot, stored.inode) == here;
        let written = written_ns(directory);
        if let Some(stored) = read(directory)?.filter(is_here) {
            return Ok(Self::of(stored, written));
        }
        let _guard = locked(directory)?;
        match read(directory)? {
            Some(stored) if is_here(&stored) => Ok(Self::of(stored, written)),
            // The sessions of the original are not those of its copy.
            Some(stored) if stored.inode != here.1 => Ok(renew(directory, None)),
            before => Ok(renew(directory, before)),
        }
    }

    fn of(stored: Stored, written_ns: Option<i128>) -> Self {
        Self { now: stored.now, was: stored.was, written_ns }
    }

    /// Reads the file anew if another process has written it since.
    pub(super) fn renew_if_changed(&mut self, directory: &Path) -> Result<(), LogError> {
        let written = written_ns(directory);
        if written != self.written_ns
            && let Some(stored) = read(directory)?
        {
            *self = Self::of(stored, written);
        }
        Ok(())
    }

    /// Makes this another host. If another process has done so meanwhile, that host counts.
    pub(super) fn begin_anew(&mut self, directory: &Path) -> Result<(), LogError> {
        let _guard = locked(directory)?;
        let before = read(directory)?;
        *self = match before {
            Some(stored) if stored.now.id != self.now.id => Self::of(stored, written_ns(directory)),
            before => renew(directory, before),
        };
        Ok(())
    }
}

fn locked(directory: &Path) -> Result<Guard, LogError> {
    let path = directory.join(HOST_JSON_LOCK);
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
    let now = Host { id: HostId(Uuid::now_v7()), name: machine_name() };
    let (boot, inode) = (clock::now().tick.boot, inode(directory));
    let stored = Stored { now: now.clone(), boot, inode, was: was.clone() };
    if let Err(error) = write(directory, &stored) {
        // Who may only read the bus takes part in nothing, and is nobody's host.
        tracing::debug!("failed to record which host this is: {error}");
    }
    HostFile { now, was, written_ns: written_ns(directory) }
}

/// Returns this machine's name, for people.
pub(in crate::bus::storage::file) fn machine_name() -> String {
    let name = process::host_name();
    let name: String = name.chars().filter(|letter| !letter.is_control()).collect();
    let short = name.split('.').next().unwrap_or_default();
    let end = short.floor_char_boundary(HOST_NAME_BYTES);
    if short.is_empty() { "unnamed".to_owned() } else { short[..end].to_owned() }
}

fn inode(directory: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    directory.metadata().map_or(0, |metadata| metadata.ino())
}

fn written_ns(directory: &Path) -> Option<i128> {
    disk::touched_ns(&path(directory)).ok()
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
