//! Whether the user of this bridge can be asked something.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the bridge's client can show its user questions. Cheap to clone; clones share the state.
#[derive(Clone, Debug, Default)]
pub struct UserReachable {
    reachable: Arc<AtomicBool>,
}

impl UserReachable {
    /// Sets whether the user can be asked from now on.
    pub fn set_reachable(&self, reachable: bool) {
        // No other memory depends on this flag.
        self.reachable.store(reachable, Ordering::Relaxed);
    }

    pub fn is_reachable(&self) -> bool {
        self.reachable.load(Ordering::Relaxed)
    }
}
