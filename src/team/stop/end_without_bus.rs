//! The ends of a bridge's own agents, for when the bus takes no request: what it holds itself it can end without an append.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio_util::sync::CancellationToken;

use crate::domain::ids::SessionId;
use crate::sys::mutex::lock;

/// The ends of all agents that have actors. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Ends {
    ends: Arc<Mutex<BTreeMap<SessionId, OwnEnd>>>,
}

/// The end of one agent.
#[derive(Clone)]
pub(crate) struct OwnEnd {
    /// Cancelled to end its processes at once.
    pub(crate) force: CancellationToken,
    /// Cancelled when they are gone for good. What is to be written of them may be left.
    pub(crate) gone: CancellationToken,
}

impl Ends {
    /// Takes in an agent that begins; it ends at once with the whole team, too.
    pub(crate) fn begin(&self, session: SessionId, force_stop: &CancellationToken) -> OwnEnd {
        let end = OwnEnd { force: force_stop.child_token(), gone: CancellationToken::new() };
        self.with(|ends| ends.insert(session, end.clone()));
        end
    }

    /// Returns the end of an agent of this bridge.
    pub(crate) fn of(&self, session: SessionId) -> Option<OwnEnd> {
        self.with(|ends| ends.get(&session).cloned())
    }

    /// Forgets an agent whose end is written.
    pub(crate) fn forget(&self, session: SessionId) {
        self.with(|ends| ends.remove(&session));
    }

    /// Waits until of all agents that are here now no process is left.
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
