//! The presence of a session: a process holds it while the session lives, which shows other processes when the session is dead.

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
    /// Returns another handle to the held presence, for a child process: the presence is free only once both are closed. None if a
    /// process cannot inherit one.
    fn share(&self) -> Option<OwnedFd> {
        None
    }
    /// Removes the presence after the session has left.
    fn remove(&self);
}
