//! Stops a bridge's own agents when the bus accepts no request: for these no append is needed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio_util::sync::CancellationToken;

use crate::domain::ids::SessionId;
use crate::sys::mutex::lock;

/// The ends of all agents that have actors. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Ends {
    ends: Arc<Mutex<BTreeMap<SessionId, OwnEnd>>>,
}

/// The end of one agent.
#[derive(Clone)]
pub(crate) struct OwnEnd {
    /// Cancelled to end its processes at once.
    pub(crate) force: CancellationToken,
    /// Cancelled when they are gone and will not be restarted. Events about them may still be pending.
    pub(crate) gone: CancellationToken,
}

impl Ends {
    /// Adds an agent that starts. A force stop of the whole team ends it too.
    pub(crate) fn begin(&self, session: SessionId, force_stop: &CancellationToken) -> OwnEnd {
        let end = OwnEnd { force: force_stop.child_token(), gone: CancellationToken::new() };
        self.with(|ends| ends.insert(session, end.clone()));
        end
    }

    /// Returns the end of an agent of this bridge.
    pub(crate) fn of(&self, session: SessionId) -> Option<OwnEnd> {
        self.with(|ends| ends.get(&session).cloned())
    }

    /// Forgets an agent whose end is recorded.
    pub(crate) fn forget(&self, session: SessionId) {
        self.with(|ends| ends.remove(&session));
    }

    /// Waits until every agent present now has no process left.
    pub(crate) async fn all_gone(&self) {
        let all: Vec<_> = self.with(|ends| ends.values().cloned().collect());
        for end in all {
            end.gone.cancelled().await;
        }
    }

    fn with<R>(&self, act: impl FnOnce(&mut BTreeMap<SessionId, OwnEnd>) -> R) -> R {
        act(&mut lock(&self.ends))
    }
}
