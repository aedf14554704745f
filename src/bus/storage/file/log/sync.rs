//! Unsynced appends, and the one sync at a time that brings them to disk.
//!
//! A failed sync is never repeated on the same segment: the system forgets data that it could not write, so a second sync would
//! succeed and mean nothing. The segment is marked as failed for other processes too. The system reports a failure only once, so
//! their syncs would succeed, and they would append after lines that may be missing. `replace_failed_segment` copies its lines.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use super::segments;
use crate::bus::storage::file::long_texts;
use crate::bus::storage::{Durability, LogError, LogPosition};
use crate::domain::ids::TaskId;
use crate::sys::fs::disk::{Disk, DiskFile};
use crate::sys::mutex::lock;

/// If the last sync took longer than this, the bus thread does the next one. A task may block its thread for this long; it is many
/// times the cost of handing work to another thread.
const QUICK: Duration = Duration::from_millis(1);

/// Syncs the appends of one process.
pub(crate) struct Syncer {
    disk: Arc<dyn Disk>,
    blobs: PathBuf,
    transcripts: PathBuf,
    pending: Mutex<Pending>,
    /// Held while syncing, so that one sync serves all callers that came before it began. The value is the duration of the last one.
    turn: Mutex<Option<Duration>>,
}

#[derive(Default)]
struct Pending {
    /// The number of the last append of this process.
    appended: u64,
    dirty: BTreeMap<u64, Dirty>,
    /// Segments that could not be synced.
    failed: BTreeSet<u64>,
    /// The last append that may not be on disk; zero if there is none.
    unknown_through: u64,
    /// The position up to which the log is certainly on disk.
    synced: LogPosition,
    error: Option<LogError>,
}

#[derive(Clone)]
struct Dirty {
    file: Arc<dyn DiskFile>,
    path: PathBuf,
    last: u64,
    /// Where the last append ends.
    end: u64,
}

impl Syncer {
    pub(crate) fn new(disk: Arc<dyn Disk>, blobs: PathBuf, transcripts: PathBuf) -> Self {
        Self { disk, blobs, transcripts, pending: Mutex::default(), turn: Mutex::new(None) }
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        // Every change leaves it consistent, even if another thread panics.
        lock(&self.pending)
    }

    /// Notes an append that ends at this offset of a segment.
    pub(crate) fn appended(
        &self,
        (segment, end): (u64, u64),
        file: &Arc<dyn DiskFile>,
        path: PathBuf,
    ) {
        let mut pending = self.pending();
        pending.appended += 1;
        let last = pending.appended;
        if pending.failed.contains(&segment) {
            // Its sync failed after this append had chosen the segment.
            pending.unknown_through = last;
            return;
        }
        let file = Arc::clone(file);
        let dirty = Dirty { file, path, last, end };
        pending.dirty.insert(segment, dirty);
    }

    /// Says whether the log is certainly on disk up to a position.
    pub(crate) fn has_synced(&self, place: LogPosition) -> bool {
        self.pending().synced >= place
    }

    /// Notes that the log continues in a segment. Earlier failed ones were replaced, so none of their lines are unknown any more.
    pub(crate) fn continues_in(&self, segment: u64) {
        let mut pending = self.pending();
        if pending.failed.last().is_some_and(|last| *last < segment) {
            pending.unknown_through = 0;
        }
    }

    /// Says whether a segment takes no further lines.
    pub(crate) fn has_failed(&self, segment: u64) -> bool {
        self.pending().failed.contains(&segment)
    }

    /// Notes that a segment takes no further lines.
    pub(crate) fn note_failed(&self, segment: u64) {
        self.pending().failed.insert(segment);
    }

    /// Syncs a segment, including the lines of other processes, before the next one begins. Returns whether it is on disk.
    pub(crate) fn sync_segment(
        &self,
        segment: u64,
        file: &Arc<dyn DiskFile>,
        path: PathBuf,
    ) -> bool {
        let _turn = self.turn();
        let (last, end) = {
            let pending = self.pending();
            if pending.failed.contains(&segment) {
                return false;
            }
            let dirty = pending.dirty.get(&segment);
            dirty.map_or((0, 0), |dirty| (dirty.last, dirty.end))
        };
        let file = Arc::clone(file);
        let dirty = Dirty { file, path, last, end };
        self.sync_one(segment, &dirty)
    }

    /// Syncs everything. Returns whether all appends of this process are on disk.
    pub(crate) fn sync_all(&self) -> bool {
        self.flush();
        self.pending().unknown_through == 0
    }

    fn flush(&self) {
        self.flush_in(&mut self.turn());
    }

    fn flush_in(&self, took: &mut Option<Duration>) {
        let begun = Instant::now();
        let dirty = self.pending().dirty.clone();
        for (segment, dirty) in dirty {
            self.sync_one(segment, &dirty);
        }
        *took = Some(begun.elapsed());
    }

    fn turn(&self) -> MutexGuard<'_, Option<Duration>> {
        lock(&self.turn)
    }

    /// Returns the outcome of the appends up to `target`.
    fn outcome(&self, target: u64) -> Result<(), LogError> {
        let pending = self.pending();
        match &pending.error {
            Some(error) if target > 0 && target <= pending.unknown_through => Err(error.clone()),
            _ => Ok(()),
        }
    }

    fn sync_one(&self, segment: u64, dirty: &Dirty) -> bool {
        let outcome =
            dirty.file.sync().map_err(|error| LogError::OutcomeUnknown { source: Arc::new(error) });
        // Data on disk is lost if no name leads to it.
        let outcome =
            outcome.and_then(|()| self.is_in_place(dirty)).and_then(|()| self.has_no_mark(dirty));
        let mut pending = self.pending();
        match outcome {
            Ok(()) => {
                pending.synced = pending.synced.max(LogPosition { segment, offset: dirty.end });
                if pending.dirty.get(&segment).is_some_and(|now| now.last <= dirty.last) {
                    pending.dirty.remove(&segment);
                }
                true
            }
            Err(error) => {
                // Appends that came during the sync are as uncertain as those before it.
                let last = pending.dirty.remove(&segment).map(|dirty| dirty.last);
                if let Some(last) = last {
                    pending.unknown_through = pending.unknown_through.max(last);
                }
                pending.failed.insert(segment);
                pending.error = Some(error);
                drop(pending);
                self.mark_as_failed(dirty);
                false
            }
        }
    }

    /// Leaves a mark beside a segment that could not be synced, for other processes. A failing disk may refuse the mark; then only this
    /// process knows.
    fn mark_as_failed(&self, dirty: &Dirty) {
        // Without its directory the whole bus is gone.
        if let Err(error) = self.mark(&dirty.path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %dirty.path.display(), %error, "failed to note that a segment could not be synced");
        }
    }

    /// Leaves a mark beside a segment, which survives a power cut when this returns.
    pub(crate) fn mark(&self, segment: &Path) -> io::Result<()> {
        let path = segments::mark(segment);
        match self.disk.create_new(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        self.disk.sync_directory(path.parent().unwrap_or(&path))
    }

    /// Fails for a segment that another process could not sync: the system may have reported the failure only there.
    fn has_no_mark(&self, dirty: &Dirty) -> Result<(), LogError> {
        if self.disk.identity(&segments::mark(&dirty.path)).is_err() {
            return Ok(());
        }
        Err(LogError::OutcomeUnknown {
            source: Arc::new(io::Error::other("another process failed to sync the same segment")),
        })
    }

    fn is_in_place(&self, dirty: &Dirty) -> Result<(), LogError> {
        let opened = dirty.file.identity();
        match (self.disk.identity(&dirty.path), opened) {
            (Ok(named), Ok(opened)) if named == opened => Ok(()),
            (Err(error), _) if error.kind() != io::ErrorKind::NotFound => {
                Err(LogError::OutcomeUnknown { source: Arc::new(error) })
            }
            _ => Err(LogError::Removed),
        }
    }
}

impl Durability for Syncer {
    fn sync(&self) -> Result<(), LogError> {
        let target = self.pending().appended;
        self.flush();
        self.outcome(target)
    }

    fn sync_if_quick(&self) -> Option<Result<(), LogError>> {
        let target = self.pending().appended;
        let mut took = match self.turn.try_lock() {
            Ok(took) => took,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        if took.is_none_or(|took| took > QUICK) {
            return None;
        }
        self.flush_in(&mut took);
        drop(took);
        Some(self.outcome(target))
    }

    fn put_blob(&self, id: uuid::Uuid, text: &str) -> Result<(), LogError> {
        long_texts::put_blob(&*self.disk, &self.blobs, id, text)
    }

    fn read_transcript(&self, task: &TaskId) -> Result<String, LogError> {
        long_texts::read_transcript(&self.transcripts.join(format!("{task}.jsonl")))
    }
}
