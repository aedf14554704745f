//! The membership of a server: it is taken while the server already answers its client, and taken again after a failure.

use std::sync::atomic::{AtomicBool, Ordering};
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

/// What a model is told with its first call after that.
const FOUND_DEAD: &str = "The server of the team did not hear from this machine for too long, so the team has found it dead: \
    what you had claimed is free for others, and agents that you led were ended, their tasks with them. You are in the team again. \
    Look at what has changed, and call again.";

/// The membership of a server. Cheap to clone.
#[derive(Clone)]
pub struct LazyMembership {
    shared: Arc<Inner>,
}

struct Inner {
    take: Box<dyn Fn() -> BoxFuture<'static, Result<Membership, ToolError>> + Send + Sync>,
    taking: Mutex<Taking>,
    /// That the membership was taken again because the machine was found dead, and nobody was told so yet.
    was_found_dead: AtomicBool,
}

impl LazyMembership {
    /// Makes a membership that is taken with `take`, now and again after each failure.
    pub fn new<F>(take: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Membership, ToolError>> + Send + 'static,
    {
        let take = Box::new(move || take().boxed());
        let taking = Mutex::new(take().shared());
        Self { shared: Arc::new(Inner { take, taking, was_found_dead: AtomicBool::new(false) }) }
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
        match error {
            ToolError::Bus(BusError::Log(LogError::Removed)) => {
                let taking = self.taking().clone();
                self.renew(&taking);
            }
            ToolError::Bus(BusError::Refused(Refusal::Left)) => self.join_again_if_found_dead(),
            _ => {}
        }
    }

    /// Joins again whenever the other machines have found this one dead, until the server ends.
    pub async fn keep_joined(self) {
        loop {
            tokio::time::sleep(wait_times::LOOK_FOR_BURIAL).await;
            self.join_again_if_found_dead();
        }
    }

    /// Joins again after a machine was out of reach for too long: its sessions have ended, and their clients go on.
    fn join_again_if_found_dead(&self) {
        let taking = self.taking().clone();
        let taken = taking.peek().and_then(|outcome| outcome.as_ref().ok());
        let Some(dead) = taken.filter(|taken| taken.was_found_dead()) else { return };
        // Its name is free with its presence.
        dead.bus().release(dead.session());
        self.shared.was_found_dead.store(true, Ordering::Release);
        self.renew(&taking);
    }

    /// Says, once, that the membership is another one than the model knows.
    pub(super) fn tell_if_found_dead(&self) -> Result<(), ToolError> {
        if !self.shared.was_found_dead.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        Err(ToolError::Unavailable(FOUND_DEAD.to_owned()))
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
