//! The claims of one session that its client may not know of: a claim is released if its answer does not arrive.
//!
//! Several calls may claim the same. Only the answer of the last one counts, so that no client loses a claim that it knows
//! of.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::domain::ids::{CallId, RequestId};
use crate::domain::member::Label;
use crate::sys::mutex::lock;

/// What a call can claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Claimable {
    Request(RequestId),
    Lane(Label),
}

impl fmt::Display for Claimable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(id) => id.fmt(formatter),
            Self::Lane(lane) => write!(formatter, "the lane @{lane}"),
        }
    }
}

/// Cheap to clone; clones share their state.
#[derive(Clone, Default)]
pub(crate) struct Claims {
    /// Held while the session claims or releases something, so that no claim is reported while its release is on the way.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// The last call to claim each anew.
    unheard: Arc<Mutex<BTreeMap<Claimable, CallId>>>,
}

impl Claims {
    /// Waits until no other call of the session claims or releases something.
    pub(crate) async fn turn(&self) -> tokio::sync::OwnedMutexGuard<()> {
        Arc::clone(&self.turn).lock_owned().await
    }

    /// Notes that a call is about to claim something. Returns whether the claim depends on the answer of this call: it is new, or the
    /// client may not have the answer of the earlier call that made it.
    pub(crate) fn begin(&self, claimed: &Claimable, call: CallId, is_held: bool) -> bool {
        let mut unheard = self.unheard();
        let is_new = !is_held || unheard.contains_key(claimed);
        if is_new {
            unheard.insert(claimed.clone(), call);
        }
        is_new
    }

    /// Says whether a claim still depends on the answer of this call.
    pub(crate) fn depends_on(&self, claimed: &Claimable, call: CallId) -> bool {
        self.unheard().get(claimed) == Some(&call)
    }

    /// Notes that no claim depends on the answer of this call any more: the client has it, or the claim failed.
    pub(crate) fn end(&self, claimed: &Claimable, call: CallId) {
        let mut unheard = self.unheard();
        if unheard.get(claimed) == Some(&call) {
            unheard.remove(claimed);
        }
    }

    /// Notes that the client knows of its claim, which now depends on no answer.
    pub(crate) fn know(&self, claimed: &Claimable) {
        self.unheard().remove(claimed);
    }

    fn unheard(&self) -> MutexGuard<'_, BTreeMap<Claimable, CallId>> {
        // Each change is a single insertion or removal, so a panic cannot leave it half-changed.
        lock(&self.unheard)
    }
}
