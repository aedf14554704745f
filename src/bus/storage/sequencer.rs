//! The order of a log that several machines share: a server that gives each line its place.
//!
//! Each machine keeps a mirror of the log in files. A line goes to the sequencer first, and into the mirror once the order is known.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Decide, LogError, Replica};
use crate::bus::event::Entry;
use crate::domain::ids::CommandId;
use crate::domain::member::{Host, HostId};
use crate::domain::time::Tick;

/// Which server keeps the order of a bus, as `bus.json` of each mirror says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderedBy {
    /// The address of the server, without a password.
    pub server: String,
    /// The name of the log on that server.
    pub team: String,
    /// The id of that log: another one under the same name is not continued.
    pub epoch: Uuid,
}

/// A line that is to come next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedLine {
    /// The seq of its first event.
    pub seq: u64,
    /// The seq of the event after its last.
    pub next_seq: u64,
    /// The command of the line before.
    pub after: Option<CommandId>,
    pub command: CommandId,
    /// The whole line, with its checksum and its newline.
    pub bytes: Vec<u8>,
    /// The long texts that it names.
    pub texts: Vec<Uuid>,
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
    pub texts: Vec<Uuid>,
}

/// How many lines a sequencer returns at once.
pub const LINES_AT_ONCE: usize = 64;

/// How many bytes of lines it returns at once, unless the first line alone has more: few enough for a slow connection, which must bring
/// them before the deadline.
pub const BYTES_AT_ONCE: usize = 256 * 1024;

/// The same in the turn, where all machines wait for whoever reads. A line may have half a megabyte, and is not read there.
pub const BYTES_IN_TURN: usize = 64 * 1024;

/// The next lines of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NextLines {
    pub lines: Vec<SequencedLine>,
    /// Whether more may follow, which was too much for one answer.
    pub has_more: bool,
}

/// The common order of a log. All calls wait for a server, so only threads that may block use it.
pub trait Sequencer: Send + Sync {
    /// Gives a line its place, if it comes next. The same command has one place, however often it is asked for.
    fn put(&self, line: &ProposedLine, until: Instant) -> Result<Sequenced, LogError>;

    /// Returns the next lines from a seq on, at most [`LINES_AT_ONCE`] and [`BYTES_AT_ONCE`]. `after` is the command of the line before it:
    /// a server that has another one there has lost its newest part.
    fn lines_from(
        &self,
        seq: u64,
        after: Option<CommandId>,
        until: Instant,
    ) -> Result<NextLines, LogError>;

    /// Waits for the turn among all machines, and returns the next lines from a seq on, as [`lines_from`](Self::lines_from) does. As long
    /// as it is held, only the holder's line gets a place: whoever has lost a race is sure of the next. None if it did not come in time.
    /// It is given back at once if more has to be read than [`BYTES_IN_TURN`].
    ///
    /// The next [`put`](Self::put) ends it, and [`let_go`](Self::let_go) does. The server takes it from a holder that stands still.
    fn take_turn(
        &self,
        seq: u64,
        after: Option<CommandId>,
        until: Instant,
    ) -> Result<Option<NextLines>, LogError>;

    /// Gives the turn back, if it is held. Says whether it was: then nobody's line has got a place since the lines were read.
    fn let_go(&self, until: Instant) -> bool;

    /// Stores a long text, before the line that names it. It ends the turn, so that the text stays whatever becomes of that.
    fn put_text(&self, id: Uuid, text: &str, until: Instant) -> Result<(), LogError>;

    /// Reads a long text.
    fn text(&self, id: Uuid, until: Instant) -> Result<String, LogError>;

    /// Returns the time of the team: the server's, plus what has run here since its last answer. None before its first.
    fn tick(&self) -> Option<Tick>;

    /// Waits for the first answer of the server, so that there is a time.
    fn learn_time(&self, until: Instant) -> Result<Tick, LogError>;

    /// Returns the link of a host to the others, of which each host needs one.
    fn link(&self) -> Result<Box<dyn HostLink>, LogError>;
}

/// The lease of a host, as another host sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostLease {
    pub host: Host,
    /// Changes with each beat.
    pub beat: i64,
    /// How long it has not beaten, by the server's clock and since the server runs.
    pub silent: Duration,
    /// Whether the connection that holds it is open; none if that cannot be known.
    pub is_connected: Option<bool>,
    /// Whether another host has found it dead.
    pub is_buried: bool,
}

/// What a host learns with its beat.
#[derive(Clone, Debug)]
pub struct TeamOfHosts {
    /// The seq of the next line of the log.
    pub next_seq: u64,
    /// Whether another host has found this one dead. Then its sessions have ended.
    pub is_buried: bool,
    pub others: Vec<HostLease>,
}

/// The link of one host to the others: its lease, and what is new. One process of each host has it.
pub trait HostLink: Send {
    /// Renews the lease, or takes it.
    fn beat(&mut self, host: &Host, until: Instant) -> Result<TeamOfHosts, LogError>;

    /// Returns the seq of the next line of the log.
    fn next_seq(&mut self, until: Instant) -> Result<u64, LogError>;

    /// Buries a host, unless it has beaten since. Says whether it is buried now.
    fn bury(&mut self, host: HostId, beat: i64, until: Instant) -> Result<bool, LogError>;

    /// Gives the lease back.
    fn leave(&mut self, host: HostId, until: Instant) -> Result<(), LogError>;

    /// Returns once there may be something new, at the latest after a time: the seq of the next line, if it was told.
    fn wait_for_news(&mut self, at_most: Duration) -> Option<u64>;
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
    fn has_text(&self, id: Uuid) -> bool;

    /// Makes this another host, after the former one was buried.
    fn begin_anew(&mut self) -> Result<(), LogError>;
}
