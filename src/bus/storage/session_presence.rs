//! The presence of a session: a process holds it while the session lives, so that others see when it is dead.

use std::os::fd::OwnedFd;

/// Whether a session's presence is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// A process holds it.
    Held,
    /// No process does: the session is dead.
    Free,
}

/// The standing of a session that has files in the bus directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Live,
    /// It has left, and never comes back.
    Left,
    /// It left long ago, or has not joined yet.
    Unknown,
}

/// Keeps a presence held; dropping it frees it.
pub trait Hold: Send + Sync {
    /// Moves the heartbeat.
    fn beat(&self);
    /// Returns another handle to the same holding, for a child process: it is free only when both are closed. None where a
    /// process cannot inherit one.
    fn share(&self) -> Option<OwnedFd> {
        None
    }
    /// Removes the presence for good, after the session has left.
    fn remove(&self);
}
