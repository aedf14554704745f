//! The decision about an append, and the outcome.

use crate::bus::event::{Entry, Proposal};
use crate::bus::replica::Replica;
use crate::domain::time::Now;

/// The outcome of an append.
#[derive(Debug)]
pub enum Appended {
    /// The entry is in the log and applied to the replica. It is on disk only after `sync`.
    Written(Entry),
    /// There was nothing to write.
    Nothing,
    /// The decision was a refusal. Nothing was written.
    Refused,
    /// Another process writes, so nothing was written. Try again after [`WriteTurn::wait`](super::WriteTurn::wait).
    Contended,
}

/// The outcome of a decision.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Append these events.
    Append(Proposal),
    /// Append nothing: there is nothing to do, or it was done before.
    Nothing,
    /// The command is refused. The caller keeps the reason.
    Refused,
}

/// Decides what to append, given the replica and the time. It may be called more than once: the last verdict counts.
pub type Decide<'a> = dyn FnMut(&Replica, Now) -> Verdict + 'a;
