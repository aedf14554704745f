//! The interface of the log to the bus.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::{
    Appended, Decide, Durability, Hold, LogError, LogPosition, Mirror, Presence, Replica,
    Sequencer, Standing, WriteTurn,
};
use crate::bus::event::{Entry, Event};
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::member::Host;
use crate::domain::time::Now;

/// Called from a thread of the log after a wakeup or a possible change. It must not block.
pub type OnWakeup = Arc<dyn Fn() + Send + Sync>;

/// A log of events with its texts, presences and wakeups. Each process has one of its own.
pub trait Log: Send {
    /// Returns the time.
    fn now(&self) -> Now;

    /// Loads the newest usable snapshot, if there is one, and then reads the rest of the log.
    fn open(&mut self) -> Result<Replica, LogError>;

    /// Reads everything new into the replica.
    fn catch_up(&mut self, replica: &mut Replica) -> Result<(), LogError>;

    /// Catches up, decides, locks, catches up and decides again, writes, applies. The entry is on disk after `sync`. Does not wait
    /// for another process.
    fn append(
        &mut self,
        replica: &mut Replica,
        decide: &mut Decide<'_>,
    ) -> Result<Appended, LogError>;

    /// Returns the server that keeps the order, if the log is a mirror. Then nothing is appended but through it.
    fn sequencer(&self) -> Option<Arc<dyn Sequencer>> {
        None
    }

    /// Returns the log as a mirror, if it is one.
    fn mirror(&mut self) -> Option<&mut dyn Mirror> {
        None
    }

    /// Returns the host of this process, if the log is a mirror.
    fn host(&self) -> Option<Host> {
        None
    }

    /// Says whether a host is another one than a mirror is or was, so that nothing here shows which of its sessions live.
    fn is_elsewhere(&self, _host: &Host) -> bool {
        false
    }

    /// Takes the turn to link a mirror's host to the others, if no process has it. Dropping it gives it back.
    fn try_to_link(&self) -> Result<Option<Box<dyn Send>>, LogError> {
        Ok(None)
    }

    /// Notes that the lease of a mirror's host has been renewed, by a beat that was sent at this time since the machine was started.
    fn note_host_beat(&self, _sent_ms: u64) {}

    /// Returns how long ago that beat was sent, whichever process sent it; none if that is not known.
    fn since_host_beat(&self) -> Option<Duration> {
        None
    }

    /// Returns a handle that waits for the turn to write, usable from another thread.
    fn turn(&self) -> Arc<dyn WriteTurn>;

    /// Returns a handle that makes appends durable, usable from another thread.
    fn durability(&self) -> Arc<dyn Durability>;

    /// Reads at most `max` entries from a position on. Returns each with its position, and the position after the last.
    fn read_after(
        &mut self,
        place: LogPosition,
        max: usize,
    ) -> Result<(Vec<(LogPosition, Entry)>, LogPosition), LogError>;

    /// Returns the position of the oldest remaining entry.
    fn oldest(&mut self) -> Result<LogPosition, LogError>;

    /// Returns the positions at which the parts of the log begin, oldest first. A search reads or skips a whole part.
    fn parts(&mut self) -> Result<Vec<LogPosition>, LogError> {
        Ok(vec![self.oldest()?])
    }

    /// Says whether an entry of a part may contain a text. This is much faster than reading the part.
    fn may_hold(&mut self, _part: LogPosition, _text: &str) -> Result<bool, LogError> {
        Ok(true)
    }

    /// Reads one event of the line at a position.
    fn event_at(&mut self, place: LogPosition, index: u16) -> Result<Event, LogError>;

    /// Reads a long text.
    fn get_blob(&mut self, id: uuid::Uuid) -> Result<String, LogError>;

    /// Adds a line to the transcript of a task or a wake turn, without a sync: nothing depends on transcripts. At
    /// [`limits::TRANSCRIPT_BYTES`](crate::domain::limits::TRANSCRIPT_BYTES) the transcript ends with a line that says so.
    fn transcript(&mut self, task: &TaskId, line: &str) -> Result<(), LogError>;

    /// Locks the presence of a new session, before the session is announced.
    fn hold(&mut self, session: SessionId) -> Result<Box<dyn Hold>, LogError>;

    /// Says whether a presence is held.
    fn held(&mut self, session: SessionId) -> Presence;

    /// Returns a value that changes with each beat of a presence; none if there is no such presence.
    fn heartbeat(&mut self, session: SessionId) -> Option<i128>;

    /// Returns the last sign of life, in wall time, of a session whose presence may be free by now, and of the task that it ran: when
    /// the presence last beat, or the transcript was last written. None if neither is known.
    fn last_alive_ms(&mut self, session: SessionId, running: Option<&TaskId>) -> Option<i64>;

    /// Removes the presence and wakeup files of dead sessions: of sessions that have left, and of unknown ones whose files have not
    /// been touched for a minute. Keeps those whose presence a process holds.
    fn clear_presences(&mut self, standing: &dyn Fn(SessionId) -> Standing)
    -> Result<(), LogError>;

    /// Wakes these sessions.
    fn wake(&mut self, sessions: &BTreeSet<SessionId>);

    /// Listens for wakeups of these sessions from now on, instead of the previous ones.
    fn listen(
        &mut self,
        sessions: &BTreeSet<SessionId>,
        on_wakeup: OnWakeup,
    ) -> Result<(), LogError>;

    /// Replaces the view of members, for people and scripts.
    fn put_view(&mut self, json: &str) -> Result<(), LogError>;
}
