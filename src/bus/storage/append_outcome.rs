//! What an append is given to decide with, and what comes of it.

use crate::bus::event::{Entry, Proposal};
use crate::bus::replica::Replica;
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
    /// Another process writes. It is to be tried again after [`WriteTurn::wait`](super::WriteTurn::wait); nothing was done.
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
