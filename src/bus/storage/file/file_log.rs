//! The file log as one process uses it: opens the bus in a directory, and passes each operation to its file.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::bus_directory::{TRANSCRIPTS, transcript_name};
use super::damage_report::DamageReport;
use super::io_failure::failed;
use super::log::file_write_turn::FileWriteTurn;
use super::log::last_line::{LastLine, Tail};
use super::log::{clean_up, retention, segments, snapshot, sync};
use super::mirror::host_beat;
use super::mirror::mirror_files::HOST_LOCK;
use super::mirror::mirror_parts::MirrorParts;
use super::origin::bus_origin;
use super::{
    Options, Origin, Proof, bus_directory, bus_json, long_texts, presence_files, wakeup_files,
};
use crate::bus::event::{Entry, Event};
use crate::bus::storage::{
    Appended, Decide, Durability, Hold, Log, LogError, LogPosition, Mirror, OnWakeup, OrderedBy,
    Presence, Replica, Sequencer, Standing, WriteTurn,
};
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::limits;
use crate::domain::member::Host;
use crate::domain::time::Now;
use crate::sys::fs::disk::{self, Disk};
use crate::sys::fs::file_lock::LockFile;

/// The log of one project in files, as one process uses it.
pub struct FileLog {
    pub(super) directory: PathBuf,
    pub(super) disk: Arc<dyn Disk>,
    pub(super) options: Options,
    pub(super) lock: LockFile,
    pub(super) segments: segments::Segments,
    pub(super) syncer: Arc<sync::Syncer>,
    pub(super) snapshots: snapshot::Snapshots,
    pub(super) clean_up: clean_up::CleanUp,
    pub(super) wakeups: wakeup_files::Wakeups,
    /// The last line read, if it is short: its texts are often read next.
    pub(super) last: Option<LastLine>,
    /// The end of the last line read or written.
    pub(super) tail: Option<Tail>,
    /// Where the last line read ends, if it was damaged, and how many seqs to leave free after it.
    pub(super) damaged_end: Option<(LogPosition, u64)>,
    /// The damaged lines that were read.
    pub(super) damage: DamageReport,
    pub(super) put_aside: Option<String>,
    /// Whether the bus has this version's format, as far as this process has looked.
    pub(super) is_raised: bool,
    /// What makes the log a mirror, if it is one.
    pub(super) mirror: Option<MirrorParts>,
    /// The transcripts that have reached their limit.
    pub(super) full_transcripts: BTreeSet<TaskId>,
}

impl FileLog {
    /// Opens the bus in a directory (`{project}/.claude/bridge`), or creates it.
    ///
    /// `disk` holds the durable files. It is [`RealDisk`](crate::sys::fs::disk::RealDisk) outside of tests.
    pub fn open(directory: &Path, disk: Arc<dyn Disk>, options: Options) -> Result<Self, LogError> {
        let opened = if let Origin::Proven(proof) = &options.origin {
            opening(directory, &*disk, &options, proof).open()?
        } else {
            bus_directory::prepare(directory, options.networks)?;
            let path = directory.join("lock");
            let lock = LockFile::open(&path).map_err(|error| failed("open", &path, error))?;
            let bus = bus_json::load_or_create(&*disk, directory, &lock, &options)?;
            bus_origin::ProvenBus { lock, bus, put_aside: None }
        };
        let mut log = Self::of(directory, (disk, opened.lock, opened.bus), options)?;
        log.put_aside = opened.put_aside;
        Ok(log)
    }

    /// Returns the new name of the foreign bus that was put aside.
    pub fn put_aside(&self) -> Option<&str> {
        self.put_aside.as_deref()
    }

    /// Returns who keeps the order, if the bus is a mirror.
    pub fn order(&self) -> Option<&OrderedBy> {
        self.mirror.as_ref().map(MirrorParts::order)
    }

    /// Says whether a process links the host of a mirror to the others.
    pub fn is_linked(directory: &Path) -> bool {
        let lock = LockFile::open_present(&directory.join(HOST_LOCK));
        lock.is_ok_and(|lock| matches!(lock.try_acquire(), Ok(None)))
    }

    /// Says whether a bus has this version's format: sessions of earlier formats would stop at what is new in it.
    pub fn is_raised(directory: &Path, disk: &dyn Disk) -> bool {
        bus_json::is_raised(disk, directory)
    }

    /// Says whether the files of a bus, which may be foreign, say that a server keeps its order.
    pub fn is_mirror(directory: &Path, disk: &dyn Disk) -> bool {
        bus_json::kind(disk, directory).order.is_some()
    }

    /// Opens an existing bus without creating anything. Returns none if there is no bus, or a foreign one.
    pub fn open_present(
        directory: &Path,
        disk: &Arc<dyn Disk>,
        options: Options,
    ) -> Result<Option<Self>, LogError> {
        bus_directory::look_at_place(directory)?;
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
            // It was removed meanwhile.
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
        let kind = bus_json::kind(&*disk, directory);
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
            wakeups: wakeup_files::Wakeups::new(directory.join("bell"), options.listening),
            last: None,
            tail: None,
            damaged_end: None,
            damage: DamageReport::default(),
            put_aside: None,
            is_raised: kind.is_raised,
            mirror: kind.order.map(|order| MirrorParts::of(order, directory)).transpose()?,
            full_transcripts: BTreeSet::new(),
            directory: directory.to_owned(),
            disk,
            options,
        })
    }

    pub(super) fn part(&self, part: &str, name: &str) -> PathBuf {
        self.directory.join(part).join(name)
    }
}

impl Log for FileLog {
    fn now(&self) -> Now {
        let now = (self.options.clock)();
        self.mirror.as_ref().map_or(now, |mirror| mirror.time(now))
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

    fn sequencer(&self) -> Option<Arc<dyn Sequencer>> {
        self.mirror.as_ref().map(|mirror| Arc::clone(&mirror.sequencer))
    }

    fn mirror(&mut self) -> Option<&mut dyn Mirror> {
        self.mirror.is_some().then_some(self as &mut dyn Mirror)
    }

    fn host(&self) -> Option<Host> {
        self.mirror.as_ref().map(MirrorParts::host)
    }

    fn is_elsewhere(&self, host: &Host) -> bool {
        self.mirror.as_ref().is_some_and(|mirror| mirror.is_elsewhere(host.id))
    }

    fn try_to_link(&self) -> Result<Option<Box<dyn Send>>, LogError> {
        let path = self.directory.join(HOST_LOCK);
        let lock = LockFile::open(&path).and_then(|lock| lock.try_acquire());
        let turn = lock.map_err(|error| failed("lock", &path, error))?;
        Ok(turn.map(|turn| Box::new(turn) as Box<dyn Send>))
    }

    fn note_host_beat(&self, sent_ms: u64) {
        if let Err(error) = host_beat::note(&self.directory, sent_ms) {
            tracing::debug!(%error, "failed to note the beat of the host");
        }
    }

    fn since_host_beat(&self) -> Option<Duration> {
        host_beat::since(&self.directory)
    }

    fn turn(&self) -> Arc<dyn WriteTurn> {
        Arc::new(FileWriteTurn::of(&self.lock, &self.directory))
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
        let path = self.part(TRANSCRIPTS, &transcript_name(task));
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

    fn last_alive_ms(&mut self, session: SessionId, running: Option<&TaskId>) -> Option<i64> {
        let transcript = running.map(|task| self.part(TRANSCRIPTS, &transcript_name(task)));
        let written_ns = transcript.and_then(|path| disk::touched_ns(&path).ok());
        let alive_ns = self.heartbeat(session).max(written_ns)?;
        i64::try_from(alive_ns / 1_000_000).ok()
    }

    fn clear_presences(
        &mut self,
        standing: &dyn Fn(SessionId) -> Standing,
    ) -> Result<(), LogError> {
        presence_files::clear(&self.directory, standing, self.now().wall_ms)
    }

    fn wake(&mut self, sessions: &BTreeSet<SessionId>) {
        self.wakeups.wake(sessions);
    }

    fn listen(
        &mut self,
        sessions: &BTreeSet<SessionId>,
        on_wakeup: OnWakeup,
    ) -> Result<(), LogError> {
        self.wakeups.listen(sessions, on_wakeup)
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
