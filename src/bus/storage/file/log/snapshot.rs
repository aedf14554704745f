//! Snapshots: the state at some position of the log, so that opening a bus reads only later entries.
//!
//! A snapshot is written beside the log, after the log up to it is on disk: temporary file, sync, rename, sync of the directory. A
//! crash at any step leaves the log as it was, and at most a temporary file, which a later snapshot removes.
//!
//! Different versions use a bus together. A snapshot with a fitting checksum that this version does not understand comes from a newer
//! one, and is not damaged. Its head names two levels of the state: its own, and the least level of a version that may continue from
//! it. A version below its own level loses fields that it does not know, so it writes no snapshots.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::line_format;
use super::sync::Syncer;
use crate::bus::state::State;
use crate::bus::storage::format_versions::{LEAST_SNAPSHOT_LEVEL, SNAPSHOT_FORMAT, SNAPSHOT_LEVEL};
use crate::bus::storage::{LogPosition, Replica};
use crate::sys::fs::disk::{Disk, DiskFile};

/// The number of kept snapshots: if the newest turns out to be damaged, the one before is used.
const KEPT: usize = 2;

/// How often to list the directory if other processes keep replacing its snapshots.
const LOOKS: usize = 3;

/// How much of a snapshot to read for its position, which stands at the beginning.
const HEAD_BYTES: usize = 512;

/// The size of one write.
const CHUNK_BYTES: usize = 64 * 1024;

#[derive(Serialize)]
struct WrittenSnapshot<'a> {
    format: u32,
    bus: Uuid,
    place: LogPosition,
    next_seq: u64,
    level: u32,
    least: u32,
    state: &'a State,
}

/// The part that is read first, and says whether this version understands the rest.
#[derive(Deserialize)]
struct Head {
    format: u32,
    #[serde(default = "first")]
    level: u32,
    #[serde(default = "first")]
    least: u32,
}

/// The part that is read where the state is not needed.
#[derive(Deserialize)]
struct Beginning {
    format: u32,
    place: LogPosition,
    #[serde(default = "first")]
    level: u32,
}

/// The part that names its bus.
#[derive(Deserialize)]
struct Named {
    bus: Uuid,
}

fn first() -> u32 {
    1
}

#[derive(Deserialize)]
struct Read {
    bus: Uuid,
    place: LogPosition,
    next_seq: u64,
    state: State,
}

/// The outcome of reading a snapshot.
pub(crate) enum Decoded {
    /// A state to continue from.
    Usable(Box<Replica>),
    /// The checksum is wrong, or the snapshot is of another bus.
    Damaged,
    /// The checksum fits, but only newer versions may use it.
    Newer,
}

/// The replica to begin with, if there is one.
#[derive(Default)]
pub(crate) struct Newest {
    /// The newest usable snapshot.
    pub(crate) replica: Option<Replica>,
    /// Whether there is a newer one that only newer versions may use.
    pub(crate) is_for_newer: bool,
}

/// The snapshots of one bus, and the thread that writes one.
pub(crate) struct Snapshots {
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    bus: Uuid,
    writer: Option<JoinHandle<()>>,
}

impl Snapshots {
    pub(crate) fn new(disk: Arc<dyn Disk>, directory: PathBuf, bus: Uuid) -> Self {
        Self { disk, directory, bus, writer: None }
    }

    /// Returns the newest usable snapshot as a replica.
    pub(crate) fn newest(&self) -> Newest {
        let mut newest = Newest::default();
        for _ in 0..LOOKS {
            let mut is_replaced = false;
            for seq in seqs(&*self.disk, &self.directory).unwrap_or_default() {
                let path = path(&self.directory, seq);
                match self.disk.read(&path) {
                    Ok(bytes) => match decode(&bytes, self.bus) {
                        Decoded::Usable(replica) => {
                            newest.replica = Some(*replica);
                            return newest;
                        }
                        Decoded::Newer => newest.is_for_newer = true,
                        Decoded::Damaged => {
                            tracing::warn!(path = %path.display(), "skipped a damaged snapshot");
                        }
                    },
                    // Two newer ones have replaced it meanwhile.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => is_replaced = true,
                    Err(error) => {
                        tracing::warn!(path = %path.display(), %error, "failed to read a snapshot");
                    }
                }
            }
            if !is_replaced {
                break;
            }
        }
        newest
    }

    /// Says whether another snapshot is worth writing: the log has grown by this percentage of the newest one's length, as counted by
    /// `grown_since`, or no snapshot is readable. After one of a newer version this version never writes one: a process that began with
    /// it would lack the fields of the newer one.
    pub(crate) fn is_due(
        &self,
        percent: u64,
        grown_since: impl FnOnce(LogPosition) -> Option<u64>,
    ) -> bool {
        let Some((head, length)) = self.newest_head() else {
            return true;
        };
        let Some((_, version)) = head.split_once("{\"format\":") else {
            return true;
        };
        let end = version.find(|letter: char| !letter.is_ascii_digit());
        let format: u32 = version[..end.unwrap_or(0)].parse().unwrap_or(SNAPSHOT_FORMAT);
        if format > SNAPSHOT_FORMAT {
            return false;
        }
        let head = head.split_once(",\"state\":");
        let head = head.and_then(|(head, _)| serde_json::from_str(&format!("{head}}}")).ok());
        let Some(Beginning { place, level, .. }) = head else {
            return true;
        };
        let enough = length / 100 * percent;
        level <= SNAPSHOT_LEVEL && grown_since(place).is_none_or(|grown| grown >= enough)
    }

    /// Returns the first bytes of the newest snapshot, and its length.
    fn newest_head(&self) -> Option<(String, u64)> {
        let newest = *seqs(&*self.disk, &self.directory).ok()?.first()?;
        let file = self.disk.open(&path(&self.directory, newest)).ok()?;
        let mut head = vec![0; HEAD_BYTES];
        let read = file.read_at(&mut head, 0).ok()?;
        let head = String::from_utf8_lossy(&head[..read]).into_owned();
        Some((head, file.length().ok()?))
    }

    /// Writes a snapshot on a separate thread, once the log is on disk, unless one is being written. `afterwards` runs there as soon as
    /// the snapshot is on disk.
    pub(crate) fn write(
        &mut self,
        replica: &Replica,
        syncer: &Arc<Syncer>,
        afterwards: impl FnOnce(&Replica) + Send + 'static,
    ) {
        let busy = |writer: &JoinHandle<()>| !writer.is_finished();
        if self.writer.as_ref().is_some_and(busy) {
            return;
        }
        self.finish();
        let (disk, directory, bus) = (Arc::clone(&self.disk), self.directory.clone(), self.bus);
        let (replica, syncer) = (replica.clone(), Arc::clone(syncer));
        let writer = move || {
            // The state may contain an entry that is not on disk, and then is no snapshot of the log.
            if !syncer.sync_all() {
                return;
            }
            match write(&*disk, &directory, bus, &replica) {
                Ok(()) => afterwards(&replica),
                Err(error) => {
                    tracing::warn!(%error, "failed to write a snapshot; the next one may succeed");
                }
            }
        };
        match std::thread::Builder::new().name("bus-snapshot".to_owned()).spawn(writer) {
            Ok(writer) => self.writer = Some(writer),
            Err(error) => tracing::warn!(%error, "failed to start writing a snapshot"),
        }
    }

    /// Waits for the snapshot that is being written: for a few syncs at most.
    pub(crate) fn finish(&mut self) {
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

/// Returns the bus id in the newest readable snapshot, for a bus that has lost the file with its id.
pub(crate) fn bus_id(disk: &dyn Disk, directory: &Path) -> Option<Uuid> {
    let seqs = seqs(disk, directory).ok()?;
    seqs.into_iter().find_map(|seq| {
        let bytes = disk.read(&path(directory, seq)).ok()?;
        let object = bytes.strip_suffix(b"\n")?;
        line_format::checked(object)?;
        serde_json::from_slice(object).ok().map(|Named { bus }| bus)
    })
}

/// Returns the position of the older of the two newest snapshots; none unless both are readable.
pub(crate) fn older_position(disk: &dyn Disk, directory: &Path) -> io::Result<Option<LogPosition>> {
    let Some(older) = seqs(disk, directory)?.get(KEPT - 1).copied() else {
        return Ok(None);
    };
    let bytes = match disk.read(&path(directory, older)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let object = bytes.strip_suffix(b"\n").filter(|object| line_format::checked(object).is_some());
    let beginning: Option<Beginning> =
        object.and_then(|object| serde_json::from_slice(object).ok());
    Ok(beginning
        .filter(|beginning| beginning.format <= SNAPSHOT_FORMAT)
        .map(|beginning| beginning.place))
}

/// Writes the contents of a snapshot.
pub(crate) fn write_to(out: impl io::Write, bus: Uuid, replica: &Replica) -> io::Result<()> {
    let written = WrittenSnapshot {
        format: SNAPSHOT_FORMAT,
        bus,
        place: replica.place,
        next_seq: replica.next_seq,
        level: SNAPSHOT_LEVEL,
        least: LEAST_SNAPSHOT_LEVEL,
        state: &replica.state,
    };
    let mut object = io::BufWriter::with_capacity(CHUNK_BYTES, line_format::Sealing::new(out));
    serde_json::to_writer(&mut object, &written)?;
    object.into_inner().map_err(io::IntoInnerError::into_error)?.finish()
}

fn write(disk: &dyn Disk, directory: &Path, bus: Uuid, replica: &Replica) -> io::Result<()> {
    // Only one process appends this seq, so no other writes to that name.
    let temporary = directory.join(format!("{:020}.tmp", replica.next_seq));
    match disk.unlink(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = disk.create_new(&temporary)?;
    write_to(FileEnd(&*file), bus, replica)?;
    file.sync()?;
    disk.rename(&temporary, &path(directory, replica.next_seq))?;
    disk.sync_directory(directory)?;
    clear_away(disk, directory)
}

/// Writes to the end of a file.
struct FileEnd<'a>(&'a dyn DiskFile);

impl io::Write for FileEnd<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Removes all but the newest snapshots, and temporary files that older ones left after a crash.
fn clear_away(disk: &dyn Disk, directory: &Path) -> io::Result<()> {
    let Some(oldest_kept) = seqs(disk, directory)?.get(KEPT - 1).copied() else {
        return Ok(());
    };
    for name in disk.list(directory)? {
        let number = name.strip_suffix(".tmp").and_then(|digits| digits.parse().ok());
        if parse(&name).or(number).is_some_and(|seq| seq < oldest_kept) {
            match disk.unlink(&directory.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Reads a snapshot of a bus.
pub(crate) fn decode(bytes: &[u8], bus: Uuid) -> Decoded {
    let object = bytes.strip_suffix(b"\n");
    let Some(object) = object.filter(|object| line_format::checked(object).is_some()) else {
        return Decoded::Damaged;
    };
    let Ok(head) = serde_json::from_slice::<Head>(object) else {
        return Decoded::Newer;
    };
    if head.format > SNAPSHOT_FORMAT || head.least > SNAPSHOT_LEVEL {
        return Decoded::Newer;
    }
    let Ok(mut read) = serde_json::from_slice::<Read>(object) else {
        return Decoded::Newer;
    };
    if read.bus != bus {
        return Decoded::Damaged;
    }
    read.state.rebuild();
    Decoded::Usable(Box::new(Replica {
        state: read.state,
        place: read.place,
        next_seq: read.next_seq,
        damaged_lines: 0,
        skipped_events: head.level > SNAPSHOT_LEVEL,
    }))
}

/// Returns the level of the state in a snapshot, if it can be read.
pub(crate) fn level(bytes: &[u8]) -> Option<u32> {
    let head: Head = serde_json::from_slice(bytes.strip_suffix(b"\n")?).ok()?;
    Some(head.level)
}

/// Returns the paths of the present snapshots, the newest first.
pub(crate) fn paths(disk: &dyn Disk, directory: &Path) -> io::Result<Vec<PathBuf>> {
    let seqs = seqs(disk, directory)?;
    Ok(seqs.into_iter().map(|seq| path(directory, seq)).collect())
}

/// Returns the seqs of the present snapshots, the newest first.
fn seqs(disk: &dyn Disk, directory: &Path) -> io::Result<Vec<u64>> {
    let names = match disk.list(directory) {
        // As in a copy by a program that copies files alone.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        names => names?,
    };
    let mut seqs: Vec<u64> = names.iter().filter_map(|name| parse(name)).collect();
    seqs.sort_unstable_by(|one, other| other.cmp(one));
    Ok(seqs)
}

fn path(directory: &Path, seq: u64) -> PathBuf {
    directory.join(format!("{seq:020}.json"))
}

fn parse(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".json")?;
    (digits.len() == 20).then(|| digits.parse().ok()).flatten()
}

/// Reads a snapshot of any bus.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn read_any(bytes: &[u8]) -> Option<Replica> {
    #[derive(Deserialize)]
    struct Named {
        bus: Uuid,
    }
    let named: Named = serde_json::from_slice(bytes).ok()?;
    match decode(bytes, named.bus) {
        Decoded::Usable(replica) => Some(*replica),
        Decoded::Damaged | Decoded::Newer => None,
    }
}

/// Writes a snapshot of a bus without an id.
#[cfg(test)]
pub(crate) fn written(replica: &Replica) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_to(&mut bytes, Uuid::nil(), replica).expect("a state can be written");
    bytes
}
