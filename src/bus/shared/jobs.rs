//! The jobs of the bus's threads.

use std::io;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::receipt::Receipt;
use super::withdrawal::Withdrawal;
use crate::bus::error::BusError;
use crate::bus::rules::Command;
use crate::bus::storage::LogError;

/// A job for the bus thread.
pub(crate) enum Job {
    /// Syncs all entries appended so far.
    Sync { reply: oneshot::Sender<Result<(), LogError>> },
    /// Catches up: a wakeup came while the replica was in use.
    Look,
    /// Writes the view of members: one has joined or left.
    View,
    /// Ends the thread, after all earlier jobs.
    Close { reply: oneshot::Sender<()> },
}

/// A command that waits for its turn to write.
pub(crate) struct Queued {
    pub(crate) command: Command,
    pub(crate) withdrawal: Arc<Withdrawal>,
    pub(crate) reply: oneshot::Sender<Result<Receipt, BusError>>,
}

/// Returns the error for a bus thread that could not be started.
pub(crate) fn no_thread(source: io::Error) -> LogError {
    LogError::Io { action: "start a thread for", path: "bus".into(), source: source.into() }
}
