//! The one door to storage: what a bus needs of its log, whichever engine keeps it.
//!
//! An engine stores entries and brings replicas up to date. It decides nothing: what to append comes from its caller, and neither
//! the rules nor the state is known here.

#[cfg(test)]
pub(crate) mod contract;
pub mod faulty_log;
pub mod file;
pub(crate) mod format_versions;
pub mod in_memory;
mod log_error;
pub(crate) mod stored_text;

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::sync::Arc;

pub use self::log_error::LogError;
pub use super::event::{LogPosition, Proposal};
pub use super::replica::Replica;

use super::event::{Entry, Event};
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::time::Now;

/// What came of an append.
#[derive(Debug)]
pub enum Appended {
    /// It is in the log, and applied to the replica. It is on disk only after `sync`.
    Written(Entry),
    /// The decision has nothing to write.
    Nothing,
    /// The decision was a refusal; nothing was done.
    Refused,
    /// Another process writes. It is to be tried again after [`WriteTurn::wait`]; nothing was done.
    Contended,
}

/// What a decision comes to.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// These events are to be appended.
    Append(Proposal),
    /// All of it was done before, or there is nothing to do.
    Nothing,
    /// The command is refused. Why is its owner's business.
    Refused,
}

/// Decides what to append, given the replica and the time. It may be called more than once: the last verdict counts.
pub type Decide<'a> = dyn FnMut(&Replica, Now) -> Verdict + 'a;

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

/// The slow part of the log, usable from any thread: it waits for the disk, or reads much of it. One `sync` serves all callers that
/// wait for it.
pub trait Durability: Send + Sync {
    /// Returns when everything that was appended through this log before the call is on disk.
    fn sync(&self) -> Result<(), LogError>;

    /// Does the same, unless it is likely to take longer than waking another thread for it would: then there is no answer.
    fn sync_if_quick(&self) -> Option<Result<(), LogError>>;

    /// Stores a long text durably, before the event that names it.
    fn put_blob(&self, id: uuid::Uuid, text: &str) -> Result<(), LogError>;

    /// Reads the transcript of a task, which may be long.
    fn read_transcript(&self, task: &TaskId) -> Result<String, LogError>;
}

/// The turn to write, usable from any thread: for a caller that may wait as long as another process writes.
pub trait WriteTurn: Send + Sync {
    /// Returns when it is this process's turn: the next append has it.
    fn wait(&self) -> Result<(), LogError>;

    /// Releases a turn that no append has used.
    fn release(&self);

    /// Names the process that writes, for callers that have waited in vain.
    fn holder(&self) -> String;
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

/// Called from a thread of the log when a bell rang or something may have changed. It must not block.
pub type OnRing = Arc<dyn Fn() + Send + Sync>;

/// A log of events with what belongs to it. Not shared: each process has its own, in one place.
pub trait Log: Send {
    /// Returns the time.
    fn now(&self) -> Now;

    /// Loads the newest usable snapshot, or begins before the first entry; then reads the rest.
    fn open(&mut self) -> Result<Replica, LogError>;

    /// Reads everything new into the replica.
    fn catch_up(&mut self, replica: &mut Replica) -> Result<(), LogError>;

    /// Catches up, decides, locks, catches up and decides again, writes, applies. What is written is on disk after `sync`. It
    /// does not wait for another process.
    fn append(
        &mut self,
        replica: &mut Replica,
        decide: &mut Decide<'_>,
    ) -> Result<Appended, LogError>;

    /// Returns the handle to wait for a turn with, usable from another thread.
    fn turn(&self) -> Arc<dyn WriteTurn>;

    /// Returns the handle that makes appends durable, usable from another thread.
    fn durability(&self) -> Arc<dyn Durability>;

    /// Reads entries from a place on, at most `max` lines, with the place of each and the place that follows the last.
    fn read_after(
        &mut self,
        place: LogPosition,
        max: usize,
    ) -> Result<(Vec<(LogPosition, Entry)>, LogPosition), LogError>;

    /// Returns the place of the oldest entry that is still there.
    fn oldest(&mut self) -> Result<LogPosition, LogError>;

    /// Returns where the parts of the log begin that are read or passed over as a whole, oldest first.
    fn parts(&mut self) -> Result<Vec<LogPosition>, LogError> {
        Ok(vec![self.oldest()?])
    }

    /// Says whether a text may stand in an entry of the part that begins at a place; much faster than reading it.
    fn may_hold(&mut self, _part: LogPosition, _text: &str) -> Result<bool, LogError> {
        Ok(true)
    }

    /// Reads one event of the line at a place.
    fn event_at(&mut self, place: LogPosition, index: u16) -> Result<Event, LogError>;

    /// Reads a long text.
    fn get_blob(&mut self, id: uuid::Uuid) -> Result<String, LogError>;

    /// Adds a line to the transcript of a task or a wake turn. Not durable by itself: a transcript is for reading only. It ends with
    /// a line that says so when it is longer than [`limits::TRANSCRIPT_BYTES`](crate::domain::limits::TRANSCRIPT_BYTES).
    fn transcript(&mut self, task: &TaskId, line: &str) -> Result<(), LogError>;

    /// Takes the presence of a new session, before it is announced.
    fn hold(&mut self, session: SessionId) -> Result<Box<dyn Hold>, LogError>;

    /// Looks whether a presence is held.
    fn held(&mut self, session: SessionId) -> Presence;

    /// Returns something that is another after each beat of a held presence; none when there is no such presence.
    fn heartbeat(&mut self, session: SessionId) -> Option<i128>;

    /// Removes what dead sessions have left of presences and bells, where no process holds them: of
    /// sessions that have left, and of unknown ones that were not touched for a minute.
    fn clear_presences(&mut self, standing: &dyn Fn(SessionId) -> Standing)
    -> Result<(), LogError>;

    /// Rings the bells of these sessions.
    fn ring(&mut self, sessions: &BTreeSet<SessionId>);

    /// Listens to the bells of these sessions from now on, in place of those before.
    fn listen(&mut self, sessions: &BTreeSet<SessionId>, on_ring: OnRing) -> Result<(), LogError>;

    /// Replaces the view of members, for people and scripts.
    fn put_view(&mut self, json: &str) -> Result<(), LogError>;
}
