//! Bells: a file for each session, which a process touches when it appends something that concerns the session.
//!
//! Ringing costs one call and wakes one process. A lost ring is a delay, never a loss: every process also looks by itself now and then.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::io_failure::failed;
use crate::bus::storage::{LogError, OnRing};
use crate::domain::ids::SessionId;
use crate::domain::wait_times;
use crate::sys::backoff::Backoff;
use crate::sys::fs::disk::{self, Writes};
use crate::sys::mutex::lock;

/// The pauses of polling while nothing happens.
const POLLS: Backoff = Backoff::new(wait_times::POLL, wait_times::LONGEST_POLL);

/// How deep to watch a directory for appends to its files. Linux reports them for the directory; macOS, by kqueue, only for each
/// file that is watched itself. Its other interface, `FSEvents`, reports a write only when the file is closed.
const DEPTH: RecursiveMode =
    if cfg!(target_os = "linux") { RecursiveMode::NonRecursive } else { RecursiveMode::Recursive };

/// How bells are listened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listening {
    /// By the system's file notifications; by polling when there are none.
    Notified,
    Polled,
}

/// The bells of one bus, as one process rings and hears them.
pub(crate) struct Bells {
    directory: PathBuf,
    listening: Listening,
    heard: BTreeSet<SessionId>,
    on_ring: Arc<Mutex<Option<OnRing>>>,
    ear: WakeupSource,
}

enum WakeupSource {
    None,
    Watcher(RecommendedWatcher),
    /// The thread ends when the sender is dropped.
    Poller {
        _alive: mpsc::Sender<()>,
    },
}

impl Bells {
    pub(crate) fn new(directory: PathBuf, listening: Listening) -> Self {
        Self {
            directory,
            listening,
            heard: BTreeSet::new(),
            on_ring: Arc::default(),
            ear: WakeupSource::None,
        }
    }

    fn path(&self, session: SessionId) -> PathBuf {
        self.directory.join(session.to_string())
    }

    pub(crate) fn ring(&self, sessions: &BTreeSet<SessionId>) {
        for session in sessions {
            match disk::touch_path(&self.path(*session)) {
                // No process listens there.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => tracing::warn!(%error, "failed to wake a session"),
                Ok(()) => {}
            }
        }
    }

    pub(crate) fn listen(
        &mut self,
        sessions: &BTreeSet<SessionId>,
        on_ring: OnRing,
    ) -> Result<(), LogError> {
        for session in sessions {
            let path = self.path(*session);
            disk::open_or_create_private(&path, Writes::AtTheEnd)
                .map_err(|error| failed("create", &path, error))?;
        }
        *lock(&self.on_ring) = Some(on_ring);
        if self.listening == Listening::Notified {
            match self.watch(sessions) {
                Ok(()) => {
                    self.heard.clone_from(sessions);
                    return Ok(());
                }
                Err(error) => {
                    tracing::warn!(%error, "file notifications are unavailable; polling instead");
                    self.listening = Listening::Polled;
                }
            }
        }
        self.heard.clone_from(sessions);
        self.poll()
    }

    fn watch(&mut self, sessions: &BTreeSet<SessionId>) -> notify::Result<()> {
        if !matches!(self.ear, WakeupSource::Watcher(_)) {
            let on_ring = Arc::clone(&self.on_ring);
            let watcher =
                notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                    if is_ring(&event) {
                        call(&on_ring);
                    }
                })?;
            self.ear = WakeupSource::Watcher(watcher);
        }
        let paths: Vec<_> = self.heard.difference(sessions).map(|id| self.path(*id)).collect();
        let fresh: Vec<_> = sessions.difference(&self.heard).map(|id| self.path(*id)).collect();
        let WakeupSource::Watcher(watcher) = &mut self.ear else {
            return Ok(());
        };
        for path in paths {
            // The watch of a bell that was removed is gone already.
            let _ = watcher.unwatch(&path);
        }
        for path in fresh {
            watcher.watch(&path, RecursiveMode::NonRecursive)?;
        }
        Ok(())
    }

    /// Starts a thread that looks at the times of the bells, in place of whatever listened before.
    fn poll(&mut self) -> Result<(), LogError> {
        let paths: Vec<_> = self.heard.iter().map(|id| self.path(*id)).collect();
        let on_ring = Arc::clone(&self.on_ring);
        let (alive, ended) = mpsc::channel();
        let mut known = times(&paths);
        std::thread::Builder::new()
            .name("bus-bells".to_owned())
            .spawn(move || {
                let mut polls = POLLS;
                while ended.recv_timeout(polls.next_pause()) == Err(RecvTimeoutError::Timeout) {
                    let now = times(&paths);
                    if now != known {
                        known = now;
                        polls.reset();
                        call(&on_ring);
                    }
                }
            })
            .map_err(|error| failed("listen to", &self.directory, error))?;
        self.ear = WakeupSource::Poller { _alive: alive };
        Ok(())
    }
}

/// Calls with everything that is appended to the segments in a directory, for as long as the watcher is kept.
pub(crate) fn watch_log(directory: &Path, on_change: OnRing) -> notify::Result<RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        if is_ring(&event) {
            on_change();
        }
    })?;
    watcher.watch(directory, DEPTH)?;
    Ok(watcher)
}

/// Reading is no ring; an error may have hidden one.
fn is_ring(event: &notify::Result<notify::Event>) -> bool {
    !matches!(event, Ok(event) if matches!(event.kind, EventKind::Access(_)))
}

fn call(on_ring: &Mutex<Option<OnRing>>) {
    let on_ring = lock(on_ring).clone();
    if let Some(on_ring) = on_ring {
        on_ring();
    }
}

fn times(paths: &[PathBuf]) -> Vec<Option<i128>> {
    paths.iter().map(|path| disk::touched_ns(path).ok()).collect()
}
