//! The membership of a server: it is taken while the server already answers its client, and taken again after a failure.

use std::sync::{Arc, Mutex, MutexGuard};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};

use super::error::ToolError;
use crate::bus::rules::Refusal;
use crate::bus::storage::LogError;
use crate::bus::{BusError, Membership};
use crate::domain::ids::SessionId;
use crate::domain::wait_times;
use crate::sys::mutex::lock;

/// The pending or finished attempt to take the membership.
type Taking = Shared<BoxFuture<'static, Result<Membership, ToolError>>>;

/// The membership of a server. Cheap to clone.
#[derive(Clone)]
pub struct LazyMembership {
    shared: Arc<Inner>,
}

struct Inner {
    take: Box<dyn Fn() -> BoxFuture<'static, Result<Membership, ToolError>> + Send + Sync>,
    taking: Mutex<Taking>,
}

impl LazyMembership {
    /// Makes a membership that is taken with `take`, now and again after each failure.
    pub fn new<F>(take: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Membership, ToolError>> + Send + 'static,
    {
        let take = Box::new(move || take().boxed());
        let taking = Mutex::new(take().shared());
        Self { shared: Arc::new(Inner { take, taking }) }
    }

    /// Makes one from a membership that is taken already.
    pub fn taken(membership: Membership) -> Self {
        Self::new(move || std::future::ready(Ok(membership.clone())))
    }

    /// Returns the membership as soon as it is taken. After an error the next call tries again.
    pub async fn membership(&self) -> Result<Membership, ToolError> {
        let taking = self.taking().clone();
        let outcome = taking.clone().await;
        if outcome.is_err() {
            self.renew(&taking);
        }
        outcome
    }

    /// Returns the membership if it is taken already.
    pub fn current(&self) -> Option<Membership> {
        let taking = self.taking();
        taking.peek().and_then(|outcome| outcome.as_ref().ok().cloned())
    }

    /// Waits until the server has another membership than that of this session.
    pub async fn until_replaced(&self, session: SessionId) {
        let is_same = || self.current().is_none_or(|current| current.session() == session);
        while is_same() {
            tokio::time::sleep(wait_times::LOOK_FOR_REMOVED_BUS).await;
        }
    }

    /// Handles a failed call: after the bus was removed the membership is void, and the next call takes one on the new bus.
    pub(super) fn call_failed(&self, error: &ToolError) {
        let is_void = match error {
            ToolError::Bus(BusError::Log(LogError::Removed)) => true,
            // A machine that was out of reach for too long: its sessions have ended, and their clients go on.
            ToolError::Bus(BusError::Refused(Refusal::Left)) => {
                self.current().is_some_and(|current| current.bus().host().is_some())
            }
            _ => false,
        };
        if is_void {
            let taking = self.taking().clone();
            self.renew(&taking);
        }
    }

    fn renew(&self, failed: &Taking) {
        let mut current = self.taking();
        // Another call may have taken it again meanwhile.
        if current.ptr_eq(failed) {
            *current = (self.shared.take)().shared();
        }
    }

    fn taking(&self) -> MutexGuard<'_, Taking> {
        // It is only ever replaced as a whole, so a poisoned one is valid.
        lock(&self.shared.taking)
    }
}
