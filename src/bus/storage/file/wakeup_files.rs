//! Wakeups: a file for each session, which a process touches when it appends something that concerns the session.
//!
//! A wakeup costs one system call and wakes one process. A lost one is a delay, never a loss: every process also looks by itself at
//! regular intervals.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::io_failure::failed;
use crate::bus::storage::{LogError, OnWakeup};
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

/// How a process listens for wakeups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listening {
    /// By the system's file notifications, or by polling if there are none.
    Notified,
    Polled,
}

/// The wakeup files of one bus, as one process touches and watches them.
pub(crate) struct Wakeups {
    directory: PathBuf,
    listening: Listening,
    watched: BTreeSet<SessionId>,
    on_wakeup: Arc<Mutex<Option<OnWakeup>>>,
    source: WakeupSource,
}

enum WakeupSource {
    None,
    Watcher(RecommendedWatcher),
    /// The thread ends when the sender is dropped.
    Poller {
        _alive: mpsc::Sender<()>,
    },
}

impl Wakeups {
    pub(crate) fn new(directory: PathBuf, listening: Listening) -> Self {
        Self {
            directory,
            listening,
            watched: BTreeSet::new(),
            on_wakeup: Arc::default(),
            source: WakeupSource::None,
        }
    }

    fn path(&self, session: SessionId) -> PathBuf {
        self.directory.join(session.to_string())
    }

    pub(crate) fn wake(&self, sessions: &BTreeSet<SessionId>) {
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
        on_wakeup: OnWakeup,
    ) -> Result<(), LogError> {
        for session in sessions {
            let path = self.path(*session);
            disk::open_or_create_private(&path, Writes::AtTheEnd)
                .map_err(|error| failed("create", &path, error))?;
        }
        *lock(&self.on_wakeup) = Some(on_wakeup);
        if self.listening == Listening::Notified {
            match self.watch(sessions) {
                Ok(()) => {
                    self.watched.clone_from(sessions);
                    return Ok(());
                }
                Err(error) => {
                    tracing::warn!(%error, "file notifications are unavailable; polling instead");
                    self.listening = Listening::Polled;
                }
            }
        }
        self.watched.clone_from(sessions);
        self.poll()
    }

    fn watch(&mut self, sessions: &BTreeSet<SessionId>) -> notify::Result<()> {
        if !matches!(self.source, WakeupSource::Watcher(_)) {
            let on_wakeup = Arc::clone(&self.on_wakeup);
            let watcher =
                notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                    if is_wakeup(&event) {
                        call(&on_wakeup);
                    }
                })?;
            self.source = WakeupSource::Watcher(watcher);
        }
        let paths: Vec<_> = self.watched.difference(sessions).map(|id| self.path(*id)).collect();
        let fresh: Vec<_> = sessions.difference(&self.watched).map(|id| self.path(*id)).collect();
        let WakeupSource::Watcher(watcher) = &mut self.source else {
            return Ok(());
        };
        for path in paths {
            // The watch of a removed file is already gone.
            let _ = watcher.unwatch(&path);
        }
        for path in fresh {
            watcher.watch(&path, RecursiveMode::NonRecursive)?;
        }
        Ok(())
    }

    /// Starts a thread that watches the times of the files, instead of the previous watcher.
    fn poll(&mut self) -> Result<(), LogError> {
        let paths: Vec<_> = self.watched.iter().map(|id| self.path(*id)).collect();
        let on_wakeup = Arc::clone(&self.on_wakeup);
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
                        call(&on_wakeup);
                    }
                }
            })
            .map_err(|error| failed("listen to", &self.directory, error))?;
        self.source = WakeupSource::Poller { _alive: alive };
        Ok(())
    }
}

/// Calls `on_change` after each append to a segment in a directory, as long as the watcher is kept.
pub(crate) fn watch_log(
    directory: &Path,
    on_change: OnWakeup,
) -> notify::Result<RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        if is_wakeup(&event) {
            on_change();
        }
    })?;
    watcher.watch(directory, DEPTH)?;
    Ok(watcher)
}

/// Says whether an event may be a wakeup. A read is none; an error may hide one.
fn is_wakeup(event: &notify::Result<notify::Event>) -> bool {
    !matches!(event, Ok(event) if matches!(event.kind, EventKind::Access(_)))
}

fn call(on_wakeup: &Mutex<Option<OnWakeup>>) {
    let on_wakeup = lock(on_wakeup).clone();
    if let Some(on_wakeup) = on_wakeup {
        on_wakeup();
    }
}

fn times(paths: &[PathBuf]) -> Vec<Option<i128>> {
    paths.iter().map(|path| disk::touched_ns(path).ok()).collect()
}
