//! Whether the user of this bridge can be asked something.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the bridge's client shows its user questions. Cheap to clone; clones are the same.
#[derive(Clone, Debug, Default)]
pub struct UserReachable {
    reachable: Arc<AtomicBool>,
}

impl UserReachable {
    /// Notes whether the user can be asked from now on.
    pub fn set_reachable(&self, reachable: bool) {
        // A hint that guards nothing else.
        self.reachable.store(reachable, Ordering::Relaxed);
    }

    /// Says whether the user can be asked.
    pub fn is_reachable(&self) -> bool {
        self.reachable.load(Ordering::Relaxed)
    }
}
