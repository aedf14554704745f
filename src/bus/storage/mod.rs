//! The only door to storage: the log of a bus, whichever engine keeps it.
//!
//! An engine stores entries and brings replicas up to date. It decides nothing: its caller decides what to append, and storage knows
//! neither the rules nor the state.

mod append_outcome;
mod bus_log;
#[cfg(test)]
pub(crate) mod contract;
mod durability;
pub mod faulty_log;
pub mod file;
pub(crate) mod format_versions;
pub mod in_memory;
mod log_error;
pub mod postgres;
mod sequencer;
mod session_presence;
pub(in crate::bus) mod session_standing;
pub(crate) mod stored_text;
mod write_turn;

pub use self::append_outcome::{Appended, Decide, Verdict};
pub use self::bus_log::{Log, OnWakeup};
pub use self::durability::Durability;
pub use self::log_error::LogError;
pub(super) use self::log_error::{MAKE_ROOM, MOUNT_IT};
pub use self::sequencer::{
    BYTES_AT_ONCE, BYTES_IN_TURN, HostLease, HostLink, LINES_AT_ONCE, Mirror, NextLines, OrderedBy,
    Proposed, ProposedLine, Sequenced, SequencedLine, Sequencer, TeamOfHosts,
};
pub use self::session_presence::{Hold, Presence, Standing};
pub use self::write_turn::WriteTurn;
pub use super::event::{LogPosition, Proposal};
pub use super::replica::Replica;
