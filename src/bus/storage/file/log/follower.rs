//! Following a log without being on it: the state as it changes, and nothing written ever.
//!
//! It is for programs that show what happens. It has no presence, no bell and no turn to write, and makes no bus where there is none.
//! Where members wait for a bell, a follower watches `log/`, because an append may concern any member.

use std::path::Path;
use std::sync::Arc;

use notify::RecommendedWatcher;

use crate::bus::event::BodyRef;
use crate::bus::state::State;
use crate::bus::storage::file::{FileLog, Listening, Options, Origin, wakeup_files};
use crate::bus::storage::stored_text::read_text;
use crate::bus::storage::{Log as _, LogError, OnRing, Replica};
use crate::sys::fs::disk::{Disk, RealDisk};

/// A reader of a bus that is there.
pub struct Follower {
    log: FileLog,
    replica: Replica,
    /// Watches for as long as it is there.
    _watcher: Option<RecommendedWatcher>,
    listening: Listening,
}

impl Follower {
    /// Opens the bus in a directory, if there is one, and calls `on_change` from then on whenever something may have been
    /// appended. What is in the log by now is in the state.
    pub fn open(
        directory: &Path,
        origin: Origin,
        on_change: OnRing,
    ) -> Result<Option<Self>, LogError> {
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let options = Options { origin, ..Options::default() };
        let opened = FileLog::open_present(directory, &disk, options)?;
        let Some(mut log) = opened else {
            return Ok(None);
        };
        // Before the first look, so that nothing is appended between that and the watching.
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

    /// Says whether changes are told, or have to be looked for.
    pub fn listening(&self) -> Listening {
        self.listening
    }

    /// Reads new entries into the state. [`LogError::Removed`] means that this bus is not there any more.
    pub fn look(&mut self) -> Result<(), LogError> {
        if !self.log.lock.is_in_place() {
            return Err(LogError::Removed);
        }
        self.log.catch_up(&mut self.replica)
    }

    /// Returns the state as it was last looked at.
    pub fn state(&self) -> &State {
        &self.replica.state
    }

    /// Reads the text behind a header.
    pub fn text(&mut self, body: BodyRef) -> Result<String, LogError> {
        read_text(&mut self.log, body)
    }
}
