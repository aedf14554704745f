//! The order of a log that several machines share: a server that gives each line its place.
//!
//! Each machine keeps a mirror of the log in files. A line goes to the sequencer first, and into the mirror once the order is known.

use std::time::Instant;

use super::{Decide, LogError, Replica};
use crate::bus::event::Entry;
use crate::domain::ids::CommandId;

/// A line that is to come next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedLine {
    /// The seq of its first event.
    pub seq: u64,
    /// The seq of the event after its last.
    pub next_seq: u64,
    pub command: CommandId,
    /// The whole line, with its checksum and its newline.
    pub bytes: Vec<u8>,
    /// The long texts that it names.
    pub texts: Vec<uuid::Uuid>,
}

/// The answer of a sequencer to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequenced {
    /// The line has its place, durably.
    Accepted,
    /// Other lines came first.
    Behind,
}

/// A line as the sequencer has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequencedLine {
    pub seq: u64,
    pub bytes: Vec<u8>,
    /// The long texts that it names.
    pub texts: Vec<uuid::Uuid>,
}

/// The common order of a log. All calls wait for a server, so only threads that may block use it.
pub trait Sequencer: Send + Sync {
    /// Gives a line its place, if it comes next. The same command has one place, however often it is asked for.
    fn put(&self, line: &ProposedLine, until: Instant) -> Result<Sequenced, LogError>;

    /// Returns the next lines from a seq on; none if there are none yet.
    fn lines_from(&self, seq: u64, until: Instant) -> Result<Vec<SequencedLine>, LogError>;

    /// Stores a long text, before the line that names it.
    fn put_text(&self, id: uuid::Uuid, text: &str, until: Instant) -> Result<(), LogError>;

    /// Reads a long text.
    fn text(&self, id: uuid::Uuid, until: Instant) -> Result<String, LogError>;
}

/// What is to come next, as far as this process knows.
#[derive(Debug)]
pub enum Proposed {
    /// This line.
    Line(ProposedLine),
    /// Nothing.
    Nothing,
    /// The decision was a refusal.
    Refused,
}

/// A log in files whose order a sequencer keeps. The caller holds the turn to write, and nobody else writes meanwhile.
pub trait Mirror {
    /// Begins or ends the turn to write, which the calling thread has waited for. Says whether it has it.
    fn hold_turn(&mut self, is_held: bool) -> Result<bool, LogError>;

    /// Reads what is there, and decides what is to come next.
    fn propose(
        &mut self,
        replica: &mut Replica,
        decide: &mut Decide<'_>,
    ) -> Result<Proposed, LogError>;

    /// Writes lines that have their place, those that are missing, and reads them into the replica. Returns their entries.
    fn take(
        &mut self,
        replica: &mut Replica,
        lines: &[SequencedLine],
    ) -> Result<Vec<Entry>, LogError>;

    /// Says whether a long text is here.
    fn has_text(&self, id: uuid::Uuid) -> bool;
}
