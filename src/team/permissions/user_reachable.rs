//! When the user of this bridge can be asked something.

use std::sync::{Arc, Mutex};

use crate::sys::mutex::lock;

/// When the bridge's client can show its user a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    #[default]
    Never,
    /// As the answer to a call of a tool.
    WithNextCall,
    AtOnce,
}

/// When the user can be asked. Cheap to clone; clones share the state.
#[derive(Clone, Debug, Default)]
pub struct UserReachable {
    reach: Arc<Mutex<Reach>>,
}

impl UserReachable {
    /// Sets when the user can be asked from now on.
    pub fn set(&self, reach: Reach) {
        *lock(&self.reach) = reach;
    }

    pub fn reach(&self) -> Reach {
        *lock(&self.reach)
    }
}
