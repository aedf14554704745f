//! All that the bus asks of its log.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{
    Appended, Decide, Durability, Hold, LogError, LogPosition, Presence, Replica, Standing,
    WriteTurn,
};
use crate::bus::event::{Entry, Event};
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::time::Now;

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
