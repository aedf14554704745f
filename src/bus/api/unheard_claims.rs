//! The claims of one session that its client may not know of: a claim is released if its answer does not arrive.
//!
//! Several calls may claim the same request. Only the answer of the last one counts, so that no client loses a claim that it knows
//! of.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::domain::ids::{CallId, RequestId};
use crate::sys::mutex::lock;

/// Cheap to clone; clones share their state.
#[derive(Clone, Default)]
pub(crate) struct Claims {
    /// Held while the session claims or releases a request, so that no claim is reported while its release is on the way.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// The last call to claim each request anew.
    unheard: Arc<Mutex<BTreeMap<RequestId, CallId>>>,
}

impl Claims {
    /// Waits until no other call of the session claims or releases a request.
    pub(crate) async fn turn(&self) -> tokio::sync::OwnedMutexGuard<()> {
        Arc::clone(&self.turn).lock_owned().await
    }

    /// Notes that a call is about to claim a request. Returns whether the claim depends on the answer of this call: it is new, or the
    /// client may not have the answer of the earlier call that made it.
    pub(crate) fn begin(&self, request: &RequestId, call: CallId, is_held: bool) -> bool {
        let mut unheard = self.unheard();
        let is_new = !is_held || unheard.contains_key(request);
        if is_new {
            unheard.insert(request.clone(), call);
        }
        is_new
    }

    /// Says whether a claim still depends on the answer of this call.
    pub(crate) fn depends_on(&self, request: &RequestId, call: CallId) -> bool {
        self.unheard().get(request) == Some(&call)
    }

    /// Notes that no claim depends on the answer of this call any more: the client has it, or the claim failed.
    pub(crate) fn end(&self, request: &RequestId, call: CallId) {
        let mut unheard = self.unheard();
        if unheard.get(request) == Some(&call) {
            unheard.remove(request);
        }
    }

    /// Notes that the client knows of its claim, which now depends on no answer.
    pub(crate) fn know(&self, request: &RequestId) {
        self.unheard().remove(request);
    }

    fn unheard(&self) -> MutexGuard<'_, BTreeMap<RequestId, CallId>> {
        // Each change is a single insertion or removal, so a panic cannot leave it half-changed.
        lock(&self.unheard)
    }
}
