//! Following a log as a reader that is not a member: the state as it changes, without a single write.
//!
//! It is for programs that show events. It has no presence, no wakeup file and no turn to write, and does not create a bus. Where
//! members wait for a wakeup, a follower watches `log/`, because an append may concern any member.

use std::path::Path;
use std::sync::Arc;

use notify::RecommendedWatcher;

use crate::bus::event::BodyRef;
use crate::bus::state::State;
use crate::bus::storage::file::{FileLog, Listening, Options, Origin, wakeup_files};
use crate::bus::storage::stored_text::read_text;
use crate::bus::storage::{Log as _, LogError, OnWakeup, Replica};
use crate::sys::fs::disk::{Disk, RealDisk};

/// A reader of an existing bus.
pub struct Follower {
    log: FileLog,
    replica: Replica,
    /// Watches until it is dropped.
    _watcher: Option<RecommendedWatcher>,
    listening: Listening,
}

impl Follower {
    /// Opens the bus in a directory, if there is one, with the state of all present entries. From then on it calls `on_change` after
    /// every possible append.
    pub fn open(
        directory: &Path,
        origin: Origin,
        on_change: OnWakeup,
    ) -> Result<Option<Self>, LogError> {
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let options = Options { origin, ..Options::default() };
        let opened = FileLog::open_present(directory, &disk, options)?;
        let Some(mut log) = opened else {
            return Ok(None);
        };
        // Watch before the first read, so that no append falls between the two.
        let watcher = match wakeup_files::watch_log(&log.part("log", ""), on_change) {
            Ok(watcher) => Some(watcher),
            Err(error) => {
                tracing::warn!(%error, "file notifications are unavailable; polling instead");
                None
            }
        };
        let replica = match log.load() {
            Err(LogError::Removed) => return Ok(None),
            outcome => outcome?,
        };
        Ok(Some(Self {
            listening: match watcher {
                Some(_) => Listening::Notified,
                None => Listening::Polled,
            },
            _watcher: watcher,
            replica,
            log,
        }))
    }

    /// Returns how the follower learns of changes. A polled one has to look by itself.
    pub fn listening(&self) -> Listening {
        self.listening
    }

    /// Reads new entries into the state. [`LogError::Removed`] means that the bus is gone.
    pub fn look(&mut self) -> Result<(), LogError> {
        if !self.log.lock.is_in_place() {
            return Err(LogError::Removed);
        }
        self.log.catch_up(&mut self.replica)
    }

    /// Returns the state as of the last look.
    pub fn state(&self) -> &State {
        &self.replica.state
    }

    /// Reads the text behind a header.
    pub fn text(&mut self, body: BodyRef) -> Result<String, LogError> {
        read_text(&mut self.log, body)
    }
}
