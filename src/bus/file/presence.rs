//! Presence: a file that is locked for as long as its session lives, whatever ends it.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::failed;
use crate::bus::log::{Hold, LogError, Presence};
use crate::sys::lock::LifeLock;

/// The presence of a session of this process.
pub(super) struct Held {
    life: LifeLock,
    path: PathBuf,
    bell: PathBuf,
}

impl Held {
    pub(super) fn take(path: PathBuf, bell: PathBuf) -> Result<Self, LogError> {
        let life = LifeLock::take(&path).map_err(|error| failed("hold", &path, error))?;
        Ok(Self { life, path, bell })
    }
}

impl Hold for Held {
    fn beat(&self) {
        if let Err(error) = self.life.beat() {
            tracing::warn!(%error, "failed to move the heartbeat");
        }
    }

    fn share(&self) -> Option<OwnedFd> {
        self.life
            .share()
            .inspect_err(|error| tracing::warn!(%error, "failed to share a presence"))
            .ok()
    }

    fn remove(&self) {
        for path in [&self.path, &self.bell] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    // What is left is an unlocked file of a session that has left: it means nothing.
                    tracing::warn!(%error, path = %path.display(), "failed to remove a presence");
                }
                _ => {}
            }
        }
    }
}

/// Looks whether a presence is held. When it cannot be told, the session is taken to be alive.
pub(super) fn look(path: &Path) -> Presence {
    match LifeLock::is_held(path) {
        Ok(false) => Presence::Free,
        Ok(true) => Presence::Held,
        Err(error) => {
            tracing::warn!(%error, path = %path.display(), "failed to look at a presence");
            Presence::Held
        }
    }
}
