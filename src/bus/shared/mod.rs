//! The part that the bus handle and the threads behind it share: the log with its replica, and the channels to the threads.

mod bus_shared;
mod core;
mod jobs;
pub(crate) mod read_trouble;
mod receipt;
mod unsettled;
pub(crate) mod withdrawal;

pub(crate) use self::bus_shared::BusShared;
#[cfg(test)]
pub(crate) use self::core::append_command;
pub(crate) use self::core::{Core, ProposedCommand};
pub(crate) use self::jobs::{Job, Queued, no_thread};
pub use self::receipt::Receipt;
pub(crate) use self::unsettled::{Act, named_acts};
