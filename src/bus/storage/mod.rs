//! The one door to storage: what a bus needs of its log, whichever engine keeps it.

#[cfg(test)]
pub(crate) mod contract;
pub mod faulty_log;
pub mod file;
pub mod in_memory;

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::event::{Entry, Event};
use super::rules::Refusal;
use super::state::State;
use crate::domain::ids::{CommandId, SessionId, TaskId};
use crate::domain::name::Name;
use crate::domain::time::Now;

/// A place in the log: the first byte of a line.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(into = "(u64, u64)", from = "(u64, u64)")]
pub struct LogPosition {
    /// The first seq of the segment.
    pub segment: u64,
    /// The offset in it, in bytes.
    pub offset: u64,
}

impl From<(u64, u64)> for LogPosition {
    fn from((segment, offset): (u64, u64)) -> Self {
        Self { segment, offset }
    }
}

impl From<LogPosition> for (u64, u64) {
    fn from(place: LogPosition) -> Self {
        (place.segment, place.offset)
    }
}

/// A state and the place in the log up to which it has been read.
#[derive(Clone, Debug, Default)]
pub struct Replica {
    /// The state.
    pub state: State,
    /// Where the next line begins.
    pub place: LogPosition,
    /// The seq of the next event. Zero stands for an empty log; the first event has seq 1.
    pub next_seq: u64,
    /// What was passed over: lines with damage.
    pub damaged_lines: u64,
    /// Whether events were skipped, or fields of a snapshot, that this version does not know; such a replica writes no snapshot.
    pub skipped_events: bool,
}

/// What a command wants to append.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The command.
    pub id: CommandId,
    /// Who commands.
    pub by: Option<SessionId>,
    /// What happens. Never empty.
    pub events: Vec<Event>,
}

/// What came of an append.
#[derive(Debug)]
pub enum Appended {
    /// It is in the log, and applied to the replica. It is on disk only after `sync`.
    Written(Entry),
    /// The decision has nothing to write.
    Nothing,
    /// The rules say no.
    Refused(Refusal),
    /// Another process writes. It is to be tried again after [`WriteTurn::wait`]; nothing was done.
    Contended,
}

/// What a decision is, given the state and the time: events, nothing, or a refusal. It may be called more than once.
pub type Decide<'a> = dyn FnMut(&State, Now) -> Result<Option<Proposal>, Refusal> + 'a;

/// Whether a session's presence is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Somebody holds it.
    Held,
    /// Nobody does: the session is dead.
    Free,
}

/// What the state says of a session that has something in the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It lives.
    Live,
    /// It has left, and never comes back.
    Left,
    /// It left long ago, or has not joined yet.
    Unknown,
}

/// Why the log could not do something.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LogError {
    /// Another process holds the lock for too long.
    #[error("the bus is busy: {holder} holds its lock; try again")]
    Busy {
        /// Who, as far as the lock tells.
        holder: String,
    },
    /// The directory of the bus is no longer the one that was opened.
    #[error("the bus was removed while this session was using it")]
    Removed,
    /// A newer version wrote something that this one must not pass over.
    #[error("a newer cli-team-bridge uses this bus: restart this one")]
    Newer,
    /// The directory cannot be trusted or used.
    #[error("cannot use the bus directory `{path}`: {reason}")]
    Refused {
        /// Which.
        path: PathBuf,
        /// Why, and what to do.
        reason: String,
    },
    /// Sessions of another machine use the bus, so that its deadlines would not count and its dead not be known.
    #[error(
        "the bus is in use on another machine or in a virtual machine, where `{member}` is live: \
            use it from one machine at a time"
    )]
    OtherMachine {
        /// One of its members.
        member: Name,
    },
    /// One entry does not fit into a line.
    #[error("the command is {bytes} bytes long, over the limit of {limit} for one append")]
    TooLong {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        limit: usize,
    },
    /// It may or may not be on disk.
    #[error("writing to disk failed, so it is unknown whether this took effect: {source}")]
    OutcomeUnknown {
        /// What the system said.
        source: Arc<std::io::Error>,
    },
    /// What is asked for is not in the log any more.
    #[error("the log no longer holds this")]
    Gone,
    /// The operating system said no.
    #[error("failed to {action} `{path}`: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: Arc<std::io::Error>,
    },
}

/// The slow part of the log, usable from any thread: what waits for the disk, or reads much of it. One `sync` serves everybody who waits for it.
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

/// The turn to write, usable from any thread: for who may wait for it as long as another process writes.
pub trait WriteTurn: Send + Sync {
    /// Returns when it is this process's turn: the next append has it.
    fn wait(&self) -> Result<(), LogError>;

    /// Gives back a turn that no append has used.
    fn give_back(&self);

    /// Says who writes, for those who have waited in vain.
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

    /// Removes what dead sessions have left of presences and bells, if nobody holds them: of those who have left, and of unknown
    /// ones that were not touched for a minute.
    fn clear_presences(&mut self, standing: &dyn Fn(SessionId) -> Standing)
    -> Result<(), LogError>;

    /// Rings the bells of these sessions.
    fn ring(&mut self, sessions: &BTreeSet<SessionId>);

    /// Listens to the bells of these sessions from now on, in place of those before.
    fn listen(&mut self, sessions: &BTreeSet<SessionId>, on_ring: OnRing) -> Result<(), LogError>;

    /// Replaces the view of members, for people and scripts.
    fn put_view(&mut self, json: &str) -> Result<(), LogError>;
}
