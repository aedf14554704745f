//! The log in files: one directory that all processes of a project share, with nothing running while no member works.
//!
//! ```text
//! bus.json              the format and the id
//! lock                  flock'ed for a write; empty; never renamed, never deleted
//! log/<first-seq>.jsonl the segments
//! log/<first-seq>.failed beside a segment that could not be synced: it is not written to any more, and replaced
//! snapshot/<seq>.json   the state at some seq; the newest two
//! agents.json           the members that are here now; a view
//! presence/<session>    locked while that session lives; its time is the heartbeat
//! bell/<session>        touched by each append that concerns that session
//! tasks/<id>.jsonl      transcripts, for reading only
//! blobs/<id>            long texts
//! ```
//!
//! Guarantees: what `sync` has returned for survives the death of any process and a power cut; an entry is there whole or not
//! at all; no seq is used twice. It deliberately breaks no lock, and repairs nothing but an unfinished last line.

mod bus_directory;
mod bus_json;
mod bus_origin;
mod directory_identity;
mod git_exclude;
pub mod known_buses;
mod log;
mod long_texts;
mod presence_files;
#[cfg(test)]
mod simulated_disk;
#[cfg(test)]
mod tests;
mod wakeup_files;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::{
    Appended, Decide, Durability, Hold, Log, LogError, LogPosition, OnRing, Presence, Replica,
    Standing, WriteTurn,
};
use crate::bus::event::{Entry, Event};
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::limits;
use crate::domain::time::Now;
use crate::domain::wait_times;
use crate::sys::clock;
use crate::sys::fs::disk::Disk;
use crate::sys::fs::file_lock::LockFile;

pub(crate) use self::bus_json::BUS_JSON;
pub use self::bus_origin::{Foreign, Origin, Proof};
pub use self::log::follower::Follower;
pub use self::log::line_format;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use self::log::snapshot::read_any as read_any_snapshot;
#[cfg(test)]
pub(crate) use self::log::snapshot::written as written_snapshot;
use self::log::{append, clean_up, read_log, retention, segments, snapshot, sync};
pub use self::wakeup_files::Listening;

/// A segment is as long as a megabyte-long line leaves room for several, and short enough to be gone through at once.
const SEGMENT_BYTES: u64 = 4 * 1024 * 1024;

/// Opening a bus reads at least about this many events without a snapshot, which takes a millisecond or two.
const SNAPSHOT_EVENTS: u64 = 2_048;

/// Opening a bus reads at most about half as much of the log as of the snapshot before it. So a large state is not written again
/// and again for a log that grows by little.
const SNAPSHOT_PERCENT: u64 = 50;

/// The options of one use of a log.
#[derive(Clone)]
pub struct Options {
    /// The length at which a segment is followed by the next.
    pub segment_bytes: u64,
    /// The append past a multiple of this writes a snapshot, ...
    pub snapshot_events: u64,
    /// ... when the log has grown by so many percent of the last one's length.
    pub snapshot_percent: u64,
    /// How long the making of a bus by another process is waited for.
    pub patience: Duration,
    /// How bells are listened to.
    pub listening: Listening,
    /// Where the time comes from.
    pub clock: Arc<dyn Fn() -> Now + Send + Sync>,
    /// Whether the bus may be on a network file system.
    pub networks: Networks,
    /// Whether the bus has to prove that it was made where it is.
    pub origin: Origin,
}

/// Whether a bus may be on a network file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Networks {
    /// It is refused there.
    Refused,
    /// The user has decided that it may be there.
    Allowed,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            segment_bytes: SEGMENT_BYTES,
            snapshot_events: SNAPSHOT_EVENTS,
            snapshot_percent: SNAPSHOT_PERCENT,
            patience: wait_times::BUS_BUSY,
            listening: Listening::Notified,
            clock: Arc::new(clock::now),
            networks: Networks::Refused,
            origin: Origin::Believed,
        }
    }
}

/// The log of one project in files, as one process uses it.
pub struct FileLog {
    directory: PathBuf,
    disk: Arc<dyn Disk>,
    options: Options,
    lock: LockFile,
    segments: segments::Segments,
    syncer: Arc<sync::Syncer>,
    snapshots: snapshot::Snapshots,
    clean_up: clean_up::CleanUp,
    bells: wakeup_files::Bells,
    /// The last line read, as long as it is short: what it says is often wanted next.
    last: Option<read_log::LastLine>,
    /// The end of the last line read or written.
    tail: Option<read_log::Tail>,
    /// Where the last line read ends, if it was damaged, and how many seqs to leave free behind it.
    damaged_end: Option<(LogPosition, u64)>,
    put_aside: Option<String>,
    /// The transcripts that take no more.
    full_transcripts: BTreeSet<TaskId>,
}

impl FileLog {
    /// Opens the bus in a directory (`{project}/.claude/bridge`), or makes it.
    ///
    /// `disk` has the durable files: [`RealDisk`](crate::sys::fs::disk::RealDisk) outside of tests.
    pub fn open(directory: &Path, disk: Arc<dyn Disk>, options: Options) -> Result<Self, LogError> {
        let opened = if let Origin::Proven(proof) = &options.origin {
            opening(directory, &*disk, &options, proof).open()?
        } else {
            bus_directory::prepare(directory, options.networks)?;
            let path = directory.join("lock");
            let lock = LockFile::open(&path).map_err(|error| failed("open", &path, error))?;
            let bus = bus_json::load_or_create(&*disk, directory, &lock, options.patience)?;
            bus_origin::ProvenBus { lock, bus, put_aside: None }
        };
        let mut log = Self::of(directory, (disk, opened.lock, opened.bus), options)?;
        log.put_aside = opened.put_aside;
        Ok(log)
    }

    /// Returns what the foreign bus is called now that was in this place before.
    pub fn put_aside(&self) -> Option<&str> {
        self.put_aside.as_deref()
    }

    /// Opens the bus that is in a directory, and makes nothing; none when there is no bus, or a foreign one.
    pub fn open_present(
        directory: &Path,
        disk: &Arc<dyn Disk>,
        options: Options,
    ) -> Result<Option<Self>, LogError> {
        let Some(bus) = bus_json::load(&**disk, directory)? else {
            return Ok(None);
        };
        let opened = || {
            bus_directory::look_at(directory)?;
            if let Origin::Proven(proof) = &options.origin
                && !opening(directory, &**disk, &options, proof).is_believed()?
            {
                return Ok(None);
            }
            let lock_path = directory.join("lock");
            let lock = LockFile::open_present(&lock_path)
                .map_err(|error| failed("open", &lock_path, error))?;
            Self::of(directory, (Arc::clone(disk), lock, bus), options).map(Some)
        };
        match opened() {
            // It has gone away meanwhile.
            Err(LogError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Ok(None)
            }
            Err(LogError::Removed) => Ok(None),
            outcome => outcome,
        }
    }

    fn of(
        directory: &Path,
        (disk, lock, bus): (Arc<dyn Disk>, LockFile, uuid::Uuid),
        options: Options,
    ) -> Result<Self, LogError> {
        let segments = segments::Segments::open(Arc::clone(&disk), directory.join("log"))?;
        let parts = retention::Parts {
            log: directory.join("log"),
            snapshot: directory.join("snapshot"),
            blobs: directory.join("blobs"),
            tasks: directory.join("tasks"),
        };
        Ok(Self {
            lock,
            segments,
            syncer: Arc::new(sync::Syncer::new(
                Arc::clone(&disk),
                directory.join("blobs"),
                directory.join("tasks"),
            )),
            snapshots: snapshot::Snapshots::new(Arc::clone(&disk), parts.snapshot.clone(), bus),
            clean_up: clean_up::CleanUp::new(Arc::clone(&disk), parts),
            bells: wakeup_files::Bells::new(directory.join("bell"), options.listening),
            last: None,
            tail: None,
            damaged_end: None,
            put_aside: None,
            full_transcripts: BTreeSet::new(),
            directory: directory.to_owned(),
            disk,
            options,
        })
    }

    fn part(&self, part: &str, name: &str) -> PathBuf {
        self.directory.join(part).join(name)
    }
}

impl Log for FileLog {
    fn now(&self) -> Now {
        (self.options.clock)()
    }

    fn open(&mut self) -> Result<Replica, LogError> {
        self.load()
    }

    fn catch_up(&mut self, replica: &mut Replica) -> Result<(), LogError> {
        self.read_new(replica, usize::MAX).map(drop)
    }

    fn append(
        &mut self,
        replica: &mut Replica,
        decide: &mut Decide<'_>,
    ) -> Result<Appended, LogError> {
        self.append_decided(replica, decide)
    }

    fn turn(&self) -> Arc<dyn WriteTurn> {
        Arc::new(append::FileWriteTurn::of(&self.lock, &self.directory))
    }

    fn durability(&self) -> Arc<dyn Durability> {
        Arc::clone(&self.syncer) as Arc<dyn Durability>
    }

    fn read_after(
        &mut self,
        place: LogPosition,
        max: usize,
    ) -> Result<(Vec<(LogPosition, Entry)>, LogPosition), LogError> {
        self.entries_after(place, max)
    }

    fn oldest(&mut self) -> Result<LogPosition, LogError> {
        self.segments.refresh()?;
        let segment = self.segments.oldest().unwrap_or(0);
        Ok(LogPosition { segment, offset: 0 })
    }

    fn parts(&mut self) -> Result<Vec<LogPosition>, LogError> {
        self.segments.refresh()?;
        Ok(self.segments.beginnings())
    }

    fn may_hold(&mut self, part: LogPosition, text: &str) -> Result<bool, LogError> {
        self.segments.may_hold(part.segment, text)
    }

    fn event_at(&mut self, place: LogPosition, index: u16) -> Result<Event, LogError> {
        self.read_event(place, index)
    }

    fn get_blob(&mut self, id: uuid::Uuid) -> Result<String, LogError> {
        long_texts::read(&*self.disk, &self.part("blobs", &id.to_string()))
    }

    fn transcript(&mut self, task: &TaskId, line: &str) -> Result<(), LogError> {
        if self.full_transcripts.contains(task) {
            return Ok(());
        }
        let path = self.part("tasks", &format!("{task}.jsonl"));
        if long_texts::add_line(&path, line, limits::TRANSCRIPT_BYTES)? == long_texts::Added::Full {
            self.full_transcripts.insert(task.clone());
        }
        Ok(())
    }

    fn hold(&mut self, session: SessionId) -> Result<Box<dyn Hold>, LogError> {
        let name = session.to_string();
        let held =
            presence_files::Held::take(self.part("presence", &name), self.part("bell", &name))?;
        Ok(Box::new(held))
    }

    fn held(&mut self, session: SessionId) -> Presence {
        presence_files::look(&self.part("presence", &session.to_string()))
    }

    fn heartbeat(&mut self, session: SessionId) -> Option<i128> {
        presence_files::heartbeat(&self.part("presence", &session.to_string()))
    }

    fn clear_presences(
        &mut self,
        standing: &dyn Fn(SessionId) -> Standing,
    ) -> Result<(), LogError> {
        presence_files::clear(&self.directory, standing, self.now().wall_ms)
    }

    fn ring(&mut self, sessions: &BTreeSet<SessionId>) {
        self.bells.ring(sessions);
    }

    fn listen(&mut self, sessions: &BTreeSet<SessionId>, on_ring: OnRing) -> Result<(), LogError> {
        self.bells.listen(sessions, on_ring)
    }

    fn put_view(&mut self, json: &str) -> Result<(), LogError> {
        long_texts::put_view(&self.directory.join("agents.json"), json)
    }
}

fn opening<'a>(
    directory: &'a Path,
    disk: &'a dyn Disk,
    options: &'a Options,
    proof: &'a Proof,
) -> bus_origin::Opening<'a> {
    bus_origin::Opening { directory, disk, options, proof }
}

/// Names what the operating system said no to; a file that cannot be trusted is refused.
fn failed(action: &'static str, path: &Path, error: io::Error) -> LogError {
    let path = path.to_owned();
    if error.kind() == io::ErrorKind::InvalidData {
        return LogError::Refused { path, reason: error.to_string() };
    }
    LogError::Io { action, path, source: Arc::new(error) }
}
