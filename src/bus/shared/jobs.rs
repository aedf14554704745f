//! What the threads of the bus are asked to do.

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
    /// To bring to disk what was appended before.
    Sync { reply: oneshot::Sender<Result<(), LogError>> },
    /// To catch up: a bell rang while the replica was in use.
    Look,
    /// To write the view of members: a member has come or gone.
    View,
    /// To end, after everything before it.
    Close { reply: oneshot::Sender<()> },
}

/// A command that waits for its turn to write.
pub(crate) struct Queued {
    pub(crate) command: Command,
    pub(crate) withdrawal: Arc<Withdrawal>,
    pub(crate) reply: oneshot::Sender<Result<Receipt, BusError>>,
}

/// Names what follows from that a thread of the bus could not be started.
pub(crate) fn no_thread(source: io::Error) -> LogError {
    LogError::Io { action: "start a thread for", path: "bus".into(), source: source.into() }
}
