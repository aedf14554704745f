//! Prunes the history that no session needs, now rather than with a later snapshot: what retention would remove, in the same order
//! and for the same reasons (see `retention`).
//!
//! Each segment goes under the lock of the bus, and no append comes between the last look at the state and the removal. A kill at
//! any moment leaves what an interrupted retention leaves: a segment that names texts which nothing needs.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::bus::replica::StillNeeded;
use crate::bus::storage::file::io_failure::failed;
use crate::bus::storage::file::log::retention::{self, Age, Parts, SegmentFate};
use crate::bus::storage::file::log::{snapshot, unused_blobs};
use crate::bus::storage::file::open_to_read::{Opened, open};
use crate::bus::storage::file::{FileLog, Proof};
use crate::bus::storage::{Log as _, LogError, Replica};
use crate::sys::fs::disk;
use crate::sys::fs::file_lock::Guard;

/// How many small files are removed under one lock: a few milliseconds.
const FILES_AT_ONCE: usize = 64;

/// How to prune.
#[derive(Clone, Copy, Debug)]
pub struct PruneOptions {
    /// The age of what goes; none for the team's own limit.
    pub older_than: Option<Duration>,
    /// Whether to remove, or only to find out what would be removed.
    pub removes: bool,
}

/// What was removed, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Files of the log.
    pub segments: u64,
    /// Files of the log that stay.
    pub segments_kept: u64,
    pub texts: u64,
    pub transcripts: u64,
    /// The length of all files.
    pub bytes: u64,
    /// Whether no segment may go yet, because the bridge has not written two snapshots.
    pub lacks_snapshots: bool,
    /// For how long history is kept, in milliseconds.
    pub kept_ms: i64,
}

/// What pruning a bus yields.
pub enum Pruning {
    /// No bus yet.
    Absent,
    /// A bus that was not created here. It was not touched.
    Foreign,
    Done(Pruned),
}

/// Prunes the bus in a directory.
pub fn prune(directory: &Path, proof: &Proof, options: &PruneOptions) -> Result<Pruning, LogError> {
    let log = match open(directory, proof)? {
        Opened::Absent => return Ok(Pruning::Absent),
        Opened::Foreign => return Ok(Pruning::Foreign),
        Opened::Log(log) => *log,
    };
    prune_log(log, options).map(Pruning::Done)
}

/// Prunes an open bus.
pub(super) fn prune_log(mut log: FileLog, options: &PruneOptions) -> Result<Pruned, LogError> {
    let replica = log.load()?;
    // It may not know what of the history is still needed.
    if replica.skipped_events {
        return Err(LogError::Newer);
    }
    let parts = Parts {
        log: log.part("log", ""),
        snapshot: log.part("snapshot", ""),
        blobs: log.part("blobs", ""),
        tasks: log.part("tasks", ""),
    };
    let mut pruner =
        Pruner { log, replica, parts, options, seen: BTreeSet::new(), pruned: Pruned::default() };
    pruner.pruned.kept_ms = pruner.needed().kept_ms;
    pruner.segments()?;
    pruner.small_files()?;
    Ok(pruner.pruned)
}

struct Pruner<'a> {
    log: FileLog,
    replica: Replica,
    parts: Parts,
    options: &'a PruneOptions,
    /// The files that were counted: without removing them, they are found again.
    seen: BTreeSet<PathBuf>,
    pruned: Pruned,
}

impl Pruner<'_> {
    fn needed(&self) -> StillNeeded {
        let mut needed = self.replica.still_needed();
        if let Some(age) = self.options.older_than {
            needed.kept_ms = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        }
        needed
    }

    fn now_ms(&self) -> i64 {
        self.replica.state.seen_ms(self.log.now().wall_ms)
    }

    /// Takes the lock and reads what others have appended. Without removing, it needs neither.
    fn lock(&mut self) -> Result<Option<Guard>, LogError> {
        if !self.options.removes {
            return Ok(None);
        }
        let lock = &self.log.lock;
        let guard = lock.acquire(self.log.options.patience);
        let guard = guard.map_err(|error| failed("lock", &self.log.directory, error))?;
        let Some(guard) = guard else {
            return Err(LogError::Busy { holder: lock.queue().holder() });
        };
        if !lock.is_in_place() {
            return Err(LogError::Removed);
        }
        self.log.read_locked(&mut self.replica, usize::MAX)?;
        if self.replica.skipped_events {
            return Err(LogError::Newer);
        }
        Ok(Some(guard))
    }

    fn segments(&mut self) -> Result<(), LogError> {
        let (disk, parts) = (std::sync::Arc::clone(&self.log.disk), self.parts.clone());
        let present =
            retention::segments_of(&*disk, &parts).map_err(|error| listed(&parts.log, error))?;
        let mut gone = 0;
        for two in present.windows(2) {
            let _guard = self.lock()?;
            let older = snapshot::older_position(&*disk, &parts.snapshot)
                .map_err(|error| failed("read", &parts.snapshot, error))?;
            let Some(older_snapshot) = older else {
                self.pruned.lacks_snapshots = true;
                break;
            };
            let (needed, age) = (self.needed(), Age { older_snapshot, now_ms: self.now_ms() });
            let fate = retention::segment_fate(&*disk, &parts, &needed, age, (two[0], two[1]))
                .map_err(|error| failed("read", &parts.log, error))?;
            match fate {
                SegmentFate::Stays => break,
                SegmentFate::Gone => {}
                SegmentFate::Goes(going) => {
                    for file in &going.files {
                        self.count(file);
                    }
                    if self.options.removes {
                        let path = going.segment.clone();
                        retention::remove(&*disk, &parts, &going)
                            .map_err(|error| failed("remove", &path, error))?;
                    }
                }
            }
            gone += 1;
        }
        self.pruned.segments_kept = (present.len() as u64).saturating_sub(gone);
        Ok(())
    }

    /// Prunes transcripts that no task of the log names any more, and texts that no event names.
    fn small_files(&mut self) -> Result<(), LogError> {
        let (needed, now_ms, parts) = (self.needed(), self.now_ms(), self.parts.clone());
        let mut files: Vec<_> = retention::old_transcripts(&parts, &needed, now_ms).collect();
        let texts = unused_blobs::find(&*self.log.disk, &parts, &needed, now_ms);
        let texts = texts.map_err(|error| listed(&parts.blobs, error))?;
        files.extend(texts.into_iter().map(|name| parts.blobs.join(name)));
        for some in files.chunks(FILES_AT_ONCE) {
            let _guard = self.lock()?;
            // A task may have begun meanwhile.
            let open = self.needed().open_tasks;
            for file in some {
                let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                if open.iter().any(|task| task.to_string() == name) {
                    continue;
                }
                self.count(file);
                if self.options.removes {
                    let removed = retention::gone(std::fs::remove_file(file));
                    removed.map_err(|error| failed("remove", file, error))?;
                }
            }
        }
        Ok(())
    }

    /// Counts a file that goes, if it is there.
    fn count(&mut self, file: &Path) {
        let Ok((bytes, _)) = disk::size_and_touched_ns(file) else { return };
        if !self.seen.insert(file.to_owned()) {
            return;
        }
        self.pruned.bytes += bytes;
        if file.starts_with(&self.parts.blobs) {
            self.pruned.texts += 1;
        } else if file.starts_with(&self.parts.tasks) {
            self.pruned.transcripts += 1;
        } else if file.extension().is_some_and(|kind| kind == "jsonl") {
            self.pruned.segments += 1;
        }
    }
}

fn listed(directory: &Path, error: io::Error) -> LogError {
    failed("read", directory, error)
}
