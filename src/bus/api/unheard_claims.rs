//! The claims of one session of which its client may not have heard: one whose answer does not come to it is released.
//!
//! Several calls may claim the same request. The last of them has its fate in its hands: what becomes of the answers of the others
//! matters no more, so that nobody is robbed of a claim that it was told of.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::bus::Receipt;
use super::membership::Membership;
use super::retry_pauses::Again;
use crate::bus::error::BusError;
use crate::bus::event::Event;
use crate::bus::rules::Operation;
use crate::domain::ids::{CallId, RequestId};
use crate::domain::message::MessageKind;

/// Cheap to clone; clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Claims {
    /// Held while the session claims or releases anything, so that no claim is told while its release is on its way.
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
    fn hangs_on(&self, request: &RequestId, call: CallId) -> bool {
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
    fn know(&self, request: &RequestId) {
        self.unheard().remove(request);
    }

    fn unheard(&self) -> MutexGuard<'_, BTreeMap<RequestId, CallId>> {
        // Every change leaves it whole.
        self.unheard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Membership {
    /// Gives up a claim whose answer did not come to the client, unless a later call has it. What the bus cannot take now is tried
    /// again beside all else, for as long as a hand-over would last.
    pub(crate) async fn release(
        &self,
        call: CallId,
        claimed: Option<RequestId>,
    ) -> Result<(), BusError> {
        let Some(request) = claimed else {
            return Ok(());
        };
        let outcome = self.try_to_release(call, &request).await;
        if let Err(BusError::Log(error)) = outcome {
            tracing::debug!("failed to release {request}, will retry: {error}");
            let membership = self.clone();
            tokio::spawn(async move { membership.release_later(call, &request).await });
            return Ok(());
        }
        outcome
    }

    async fn release_later(&self, call: CallId, request: &RequestId) {
        let mut again = Again::begin();
        while again.comes().await {
            match self.try_to_release(call, request).await {
                Err(BusError::Log(_)) => {}
                _ => return,
            }
        }
        tracing::warn!(
            "{request} stays claimed by {}, which never received the answer",
            self.name()
        );
    }

    async fn try_to_release(&self, call: CallId, request: &RequestId) -> Result<(), BusError> {
        let claims = self.claims();
        let _turn = claims.turn().await;
        if !claims.hangs_on(request, call) {
            return Ok(());
        }
        let outcome = self.ask(Operation::Release(request.clone(), call)).await;
        if !matches!(outcome, Err(BusError::Log(_))) {
            claims.end(request, call);
        }
        outcome.map(drop)
    }

    /// Notes what this session has written about requests: it knows of its claims of those.
    pub(crate) fn note_wrote(&self, receipt: &Receipt) {
        for event in &receipt.events {
            let Event::MessageSent(sent) = event else {
                continue;
            };
            let Some(thread) = sent.thread.as_ref() else {
                continue;
            };
            let about = self.bus().look(|state| {
                let first = state.message(thread);
                let first = first.filter(|first| first.kind == MessageKind::Request);
                first.and_then(|first| first.request.clone())
            });
            if let Some(request) = about
                && sent.from.member() == Some(self.name())
            {
                self.claims().know(&request);
            }
        }
    }
}
