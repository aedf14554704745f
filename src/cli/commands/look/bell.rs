//! Waits for changes of a log on this thread.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use crate::bus::storage::OnWakeup;

/// Rings at every possible change.
pub(super) struct Bell {
    changes: Receiver<()>,
}

impl Bell {
    /// Makes a bell, and what rings it.
    pub(super) fn new() -> (Self, OnWakeup) {
        // A change that nobody has waited for yet stands for all later ones.
        let (rope, changes) = sync_channel(1);
        let ring: OnWakeup = Arc::new(move || {
            let _ = rope.try_send(());
        });
        (Self { changes }, ring)
    }

    /// Waits for a change, for so long at most.
    pub(super) fn wait(&self, most: Duration) {
        // A timeout is a reason to look, too.
        let _ = self.changes.recv_timeout(most);
    }
}
