//! The claims of one session that its client may not have heard of: a claim is released when its answer does not arrive.
//!
//! Several calls may claim the same request. Only the answer of the last one counts, so that no client loses a claim that it has
//! heard of.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::domain::ids::{CallId, RequestId};
use crate::sys::mutex::lock;

/// Cheap to clone; clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Claims {
    /// Held while the session claims or releases anything, so that no claim is reported while its release is on its way.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// The last call to claim each request anew.
    unheard: Arc<Mutex<BTreeMap<RequestId, CallId>>>,
}

impl Claims {
    /// Waits until nothing else of the session claims or releases.
    pub(crate) async fn turn(&self) -> tokio::sync::OwnedMutexGuard<()> {
        Arc::clone(&self.turn).lock_owned().await
    }

    /// Notes that a call is about to claim a request, which its session holds or not. Says whether the claim hangs on its answer: it
    /// is new, or that of an earlier call whose answer its client may not have.
    pub(crate) fn begin(&self, request: &RequestId, call: CallId, is_held: bool) -> bool {
        let mut unheard = self.unheard();
        let is_new = !is_held || unheard.contains_key(request);
        if is_new {
            unheard.insert(request.clone(), call);
        }
        is_new
    }

    /// Says whether a claim still hangs on the answer of this call.
    pub(crate) fn hangs_on(&self, request: &RequestId, call: CallId) -> bool {
        self.unheard().get(request) == Some(&call)
    }

    /// Notes that nothing hangs on the answer of this call any more: its client has it, or there is no claim.
    pub(crate) fn end(&self, request: &RequestId, call: CallId) {
        let mut unheard = self.unheard();
        if unheard.get(request) == Some(&call) {
            unheard.remove(request);
        }
    }

    /// Notes that the claimer knows of its claim: it hangs on no answer.
    pub(crate) fn know(&self, request: &RequestId) {
        self.unheard().remove(request);
    }

    fn unheard(&self) -> MutexGuard<'_, BTreeMap<RequestId, CallId>> {
        // Every change leaves it whole.
        lock(&self.unheard)
    }
}
