//! Snapshots: the state at some place of the log, so that opening a bus reads only what came after.
//!
//! One is written beside the log, after the log up to it is on disk: temporary file, sync, rename, sync of the directory. A crash
//! at any step leaves the log as it was and at most a temporary file, which a later snapshot clears away.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::retention::{self, Parts};
use super::sync::Syncer;
use crate::bus::line;
use crate::bus::log::{Place, Replica};
use crate::bus::state::State;
use crate::sys::disk::{Disk, DiskFile};

/// The form of a snapshot. One of another form is passed over: the log has everything.
const FORMAT: u32 = 1;

/// Snapshots that are kept: when the newest turns out to be broken, there is the one before.
const KEPT: usize = 2;

/// How much is written at once.
const CHUNK_BYTES: usize = 64 * 1024;

#[derive(Serialize)]
struct Written<'a> {
    format: u32,
    bus: Uuid,
    place: Place,
    next_seq: u64,
    state: &'a State,
}

#[derive(Deserialize)]
struct Read {
    format: u32,
    bus: Uuid,
    place: Place,
    next_seq: u64,
    state: State,
}

/// The snapshots of one bus, and the thread that writes one.
pub(super) struct Snapshots {
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    bus: Uuid,
    parts: Parts,
    writer: Option<JoinHandle<()>>,
}

impl Snapshots {
    pub(super) fn new(disk: Arc<dyn Disk>, parts: Parts, bus: Uuid) -> Self {
        Self {
            disk,
            directory: parts.snapshot.clone(),
            bus,
            parts,
            writer: None,
        }
    }

    /// Returns the newest usable snapshot as a replica.
    pub(super) fn newest(&self) -> Option<Replica> {
        let names = self.disk.list(&self.directory).unwrap_or_default();
        let mut seqs: Vec<u64> = names.iter().filter_map(|name| parse(name)).collect();
        seqs.sort_unstable();
        seqs.into_iter().rev().find_map(|seq| {
            let path = path(&self.directory, seq);
            match self.disk.read(&path) {
                Ok(bytes) => {
                    let replica = decode(&bytes, self.bus);
                    if replica.is_none() {
                        tracing::warn!(path = %path.display(), "passed over a damaged snapshot");
                    }
                    replica
                }
                // Two newer ones have taken its place meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "failed to read a snapshot");
                    None
                }
            }
        })
    }

    /// Writes a snapshot on a thread of its own, once all of it is on disk; not while one is being written.
    ///
    /// What nobody needs any more of the log goes after that: `now_ms` is the wall time.
    pub(super) fn write(&mut self, replica: &Replica, syncer: &Arc<Syncer>, now_ms: i64) {
        let busy = |writer: &JoinHandle<()>| !writer.is_finished();
        if self.writer.as_ref().is_some_and(busy) {
            return;
        }
        self.finish();
        let (disk, directory, bus) = (Arc::clone(&self.disk), self.directory.clone(), self.bus);
        let (replica, syncer) = (replica.clone(), Arc::clone(syncer));
        let parts = self.parts.clone();
        let writer = move || {
            // A state with something in it that is perhaps not in the log is no snapshot of the log.
            if !syncer.sync_all() {
                return;
            }
            if let Err(error) = write(&*disk, &directory, bus, &replica) {
                tracing::warn!(%error, "failed to write a snapshot: the next one may succeed");
                return;
            }
            match retention::apply(&*disk, &parts, &replica.state, now_ms) {
                Ok(Some(segment)) => tracing::debug!(segment, "removed an old segment"),
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(%error, "failed to remove an old segment: the next snapshot tries again");
                }
            }
        };
        match std::thread::Builder::new()
            .name("bus-snapshot".to_owned())
            .spawn(writer)
        {
            Ok(writer) => self.writer = Some(writer),
            Err(error) => tracing::warn!(%error, "failed to start writing a snapshot"),
        }
    }

    /// Waits for the snapshot that is being written: a few syncs at the most.
    pub(super) fn finish(&mut self) {
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::warn!("writing a snapshot panicked");
        }
    }
}

impl Drop for Snapshots {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Returns the place of the older of the two newest snapshots; none when there are not two that can be read.
pub(super) fn older_place(disk: &dyn Disk, directory: &Path) -> io::Result<Option<Place>> {
    /// What is read of it here: the state is not needed.
    #[derive(Deserialize)]
    struct Head {
        format: u32,
        place: Place,
    }
    let names = disk.list(directory)?;
    let mut seqs: Vec<u64> = names.iter().filter_map(|name| parse(name)).collect();
    seqs.sort_unstable();
    let Some(older) = seqs.len().checked_sub(KEPT).map(|index| seqs[index]) else {
        return Ok(None);
    };
    let bytes = match disk.read(&path(directory, older)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let object = bytes
        .strip_suffix(b"\n")
        .filter(|object| line::checked(object).is_some());
    let head: Option<Head> = object.and_then(|object| serde_json::from_slice(object).ok());
    Ok(head
        .filter(|head| head.format == FORMAT)
        .map(|head| head.place))
}

fn write(disk: &dyn Disk, directory: &Path, bus: Uuid, replica: &Replica) -> io::Result<()> {
    let written = Written {
        format: FORMAT,
        bus,
        place: replica.place,
        next_seq: replica.next_seq,
        state: &replica.state,
    };
    // Only one process passes this seq, so nobody else writes to that name.
    let temporary = directory.join(format!("{:020}.tmp", replica.next_seq));
    match disk.unlink(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = disk.create_new(&temporary)?;
    let sealing = line::Sealing::new(FileEnd(&*file));
    let mut object = io::BufWriter::with_capacity(CHUNK_BYTES, sealing);
    serde_json::to_writer(&mut object, &written)?;
    object
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?
        .finish()?;
    file.sync()?;
    disk.rename(&temporary, &path(directory, replica.next_seq))?;
    disk.sync_directory(directory)?;
    clear_away(disk, directory)
}

/// Where the writing of a file goes on.
struct FileEnd<'a>(&'a dyn DiskFile);

impl io::Write for FileEnd<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Removes all but the newest snapshots, and what crashes left of older ones.
fn clear_away(disk: &dyn Disk, directory: &Path) -> io::Result<()> {
    let names = disk.list(directory)?;
    let mut seqs: Vec<u64> = names.iter().filter_map(|name| parse(name)).collect();
    seqs.sort_unstable();
    let Some(oldest_kept) = seqs.len().checked_sub(KEPT).map(|index| seqs[index]) else {
        return Ok(());
    };
    for name in names {
        let number = name
            .strip_suffix(".tmp")
            .and_then(|digits| digits.parse().ok());
        if parse(&name).or(number).is_some_and(|seq| seq < oldest_kept) {
            match disk.unlink(&directory.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

fn decode(bytes: &[u8], bus: Uuid) -> Option<Replica> {
    let object = bytes.strip_suffix(b"\n")?;
    line::checked(object)?;
    let mut read: Read = serde_json::from_slice(object).ok()?;
    if read.format != FORMAT || read.bus != bus {
        return None;
    }
    read.state.rebuild();
    Some(Replica {
        state: read.state,
        place: read.place,
        next_seq: read.next_seq,
        damaged_lines: 0,
        skipped_events: false,
    })
}

fn path(directory: &Path, seq: u64) -> PathBuf {
    directory.join(format!("{seq:020}.json"))
}

fn parse(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".json")?;
    (digits.len() == 20).then(|| digits.parse().ok()).flatten()
}

/// Reads a snapshot of the bus that it names itself.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn read_any(bytes: &[u8]) -> Option<Replica> {
    #[derive(Deserialize)]
    struct Head {
        bus: Uuid,
    }
    let head: Head = serde_json::from_slice(bytes).ok()?;
    decode(bytes, head.bus)
}

/// Writes a snapshot of a bus without a number.
#[cfg(test)]
pub(crate) fn written(replica: &Replica) -> Vec<u8> {
    let written = Written {
        format: FORMAT,
        bus: Uuid::nil(),
        place: replica.place,
        next_seq: replica.next_seq,
        state: &replica.state,
    };
    line::seal(serde_json::to_string(&written).expect("a state can be written"))
}
