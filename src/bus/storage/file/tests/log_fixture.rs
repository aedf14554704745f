//! The fixture of the file log's tests: a project with a bus, and a clock that they set.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::bus::storage::file::{FileLog, Options};
use crate::bus::storage::{Log, LogError, Replica};
use crate::domain::time::Now;
use crate::sys::clock;
use crate::sys::fs::disk::RealDisk;

pub(super) const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// A clock that a test sets. It begins in the past, so the files of the test are in its future.
#[derive(Clone)]
pub(super) struct Clock(pub(super) Arc<Mutex<Now>>);

impl Clock {
    pub(super) fn new() -> Self {
        let mut now = clock::now();
        now.wall_ms = 20_000 * i64::try_from(DAY_MS).unwrap();
        Self(Arc::new(Mutex::new(now)))
    }

    pub(super) fn now(&self) -> Now {
        *self.0.lock().unwrap()
    }

    pub(super) fn as_option(&self) -> Arc<dyn Fn() -> Now + Send + Sync> {
        let clock = self.clone();
        Arc::new(move || clock.now())
    }

    /// Lets time pass while the machine runs.
    pub(super) fn pass(&self, ms: u64) {
        self.jump(i64::try_from(ms).unwrap());
        self.0.lock().unwrap().tick.ms += ms;
    }

    pub(super) fn pass_days(&self, days: u64) {
        self.pass(days * DAY_MS);
    }

    /// Sets the wall clock, as a user does.
    pub(super) fn jump(&self, ms: i64) {
        self.0.lock().unwrap().wall_ms += ms;
    }

    /// Boots the machine after it was off for this long.
    pub(super) fn boot_after(&self, ms: u64) {
        self.jump(i64::try_from(ms).unwrap());
        let tick = &mut self.0.lock().unwrap().tick;
        tick.boot = tick.boot.wrapping_add(1);
        tick.ms = 5;
    }

    /// Returns a clock of the same machine that is this far ahead.
    pub(super) fn ahead(&self, ms: i64) -> Arc<dyn Fn() -> Now + Send + Sync> {
        let clock = self.clone();
        Arc::new(move || {
            let mut now = clock.now();
            now.wall_ms += ms;
            now
        })
    }
}

/// A project with a bus.
pub(super) struct Project {
    _project: tempfile::TempDir,
    pub(super) bus: PathBuf,
}

impl Project {
    pub(super) fn new() -> Self {
        let project = tempfile::tempdir().unwrap();
        let bus = project.path().join(".claude").join("bridge");
        Self { _project: project, bus }
    }

    pub(super) fn try_open(&self) -> Result<FileLog, LogError> {
        FileLog::open(&self.bus, Arc::new(RealDisk), Options::default())
    }

    pub(super) fn open(&self) -> (FileLog, Replica) {
        let mut log = self.try_open().unwrap();
        let replica = Log::open(&mut log).unwrap();
        (log, replica)
    }

    /// Opens the bus with short segments and frequent snapshots, so that there are many of both.
    pub(super) fn open_short(&self) -> (FileLog, Replica) {
        let options = Options {
            segment_bytes: 1_000,
            snapshot_events: 8,
            snapshot_percent: 0,
            ..Options::default()
        };
        let mut log = FileLog::open(&self.bus, Arc::new(RealDisk), options).unwrap();
        let replica = Log::open(&mut log).unwrap();
        (log, replica)
    }

    pub(super) fn names(&self, part: &str) -> Vec<PathBuf> {
        let mut names: Vec<_> =
            fs::read_dir(self.bus.join(part)).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.sort();
        names
    }
}

/// Reads the whole log without a snapshot.
pub(super) fn replay(log: &mut FileLog) -> Replica {
    let mut replica = Replica::default();
    log.catch_up(&mut replica).unwrap();
    replica
}

pub(super) fn assert_same(one: &Replica, other: &Replica) {
    assert_eq!(one.place, other.place);
    assert_eq!(one.next_seq, other.next_seq);
    assert_eq!(one.state, other.state);
}

/// Returns all paths in a directory, recursively.
pub(super) fn tree(directory: &Path) -> Vec<PathBuf> {
    let mut all = vec![directory.to_owned()];
    let mut next = 0;
    while let Some(path) = all.get(next) {
        if path.is_dir() {
            let entries = fs::read_dir(path).unwrap();
            all.extend(entries.map(|entry| entry.unwrap().path()));
        }
        next += 1;
    }
    all.sort();
    all
}
