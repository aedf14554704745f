//! The caller of a tool: its call on the bus, the reports on its progress, and the questions for its user that end a wait.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext, RoleServer};

use tokio::time::Instant;

use super::ask_user::User;
use super::error::ToolError;
use super::interrupted_wait::{DoneBefore, InterruptedWait};
use crate::bus::{Bus, Call, Membership};
use crate::domain::wait_times;
use crate::sys::fs::project::ProjectFiles;

/// One call of a tool, from the tool's point of view.
pub struct Caller {
    /// The call on the bus, which receives messages and acts for the member.
    pub call: Call,
    /// The files of the project, if members can name some to each other here.
    pub files: Option<ProjectFiles>,
    /// Sends progress reports to the client.
    pub progress: Progress,
    /// Ends a wait when the client's user has to be asked.
    pub(super) interruptions: Interruptions,
}

impl Caller {
    /// Returns the membership of the calling member.
    pub fn membership(&self) -> &Membership {
        self.call.membership()
    }

    pub fn bus(&self) -> &Bus {
        self.call.membership().bus()
    }
}

/// Reports the progress of a call to a client that asked for it.
pub struct Progress {
    to: Option<(Peer<RoleServer>, ProgressToken)>,
}

impl Progress {
    /// Returns the progress reports that a request asks for, if any.
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        let token = context.meta.get_progress_token();
        Self { to: token.map(|token| (context.peer.clone(), token)) }
    }

    /// Says whether the client asked for progress.
    pub fn is_requested(&self) -> bool {
        self.to.is_some()
    }

    /// Awaits some work that takes `limit` at most. If the client asked for progress, it hears regularly that the work goes on, and what
    /// `message` says by then: some clients give up after a minute of silence.
    pub async fn during<T>(
        &self,
        limit: Duration,
        message: impl Fn() -> String,
        work: impl Future<Output = T>,
    ) -> T {
        tokio::select! {
            biased;
            done = work => done,
            never = self.keep_reporting(limit, message), if self.is_requested() => match never {},
        }
    }

    async fn keep_reporting(&self, limit: Duration, message: impl Fn() -> String) -> Infallible {
        let began = Instant::now();
        loop {
            tokio::time::sleep(wait_times::PROGRESS).await;
            self.report(began.elapsed(), limit, &message()).await;
        }
    }

    /// Reports for how long a call has waited. A failure is only logged.
    ///
    /// It names no total: a share of the longest wait would look like the share of the work that is done.
    pub async fn report(&self, waited: Duration, limit: Duration, message: &str) {
        let Some((peer, token)) = &self.to else {
            return;
        };
        let message = format!("{message} ({} of at most {} s)", waited.as_secs(), limit.as_secs());
        let notice = ProgressNotificationParam::new(token.clone(), waited.as_secs_f64())
            .with_message(message);
        if let Err(error) = peer.notify_progress(notice).await {
            // The client is gone, which ends the call by itself.
            tracing::debug!("failed to report progress: {error}");
        }
    }
}

/// The questions for the client's user that end a wait: a stateless client shows a form only as the answer to a call.
#[derive(Default)]
pub(super) struct Interruptions {
    /// The user, if the client is such a client.
    user: Option<Arc<User>>,
    /// The wait that this call goes on with.
    earlier: Option<InterruptedWait>,
}

impl Interruptions {
    pub(super) fn new(user: Option<Arc<User>>, earlier: Option<InterruptedWait>) -> Self {
        Self { user, earlier }
    }

    /// Returns what the call had done before it was interrupted.
    pub(super) fn done_before(&self) -> DoneBefore {
        self.earlier.as_ref().map(|earlier| earlier.done.clone()).unwrap_or_default()
    }

    /// Returns how long the call may wait: after an interruption for the rest of the time.
    pub(super) fn rest_of(&self, limit: Duration) -> Duration {
        self.earlier.as_ref().map_or(limit, |earlier| limit.min(earlier.left()))
    }

    /// Awaits a wait of `limit` at most. A new question for the user drops it, so it has to be cancel-safe; what it has received by then
    /// is requeued with the failed call.
    pub(super) async fn during<T>(
        &self,
        membership: &Membership,
        (limit, done): (Duration, DoneBefore),
        wait: impl Future<Output = T>,
    ) -> Result<T, ToolError> {
        let earlier = self.earlier.as_ref();
        let may_end = earlier.is_none_or(InterruptedWait::may_be_repeated);
        let Some(user) = self.user.as_ref().filter(|_| may_end) else {
            return Ok(wait.await);
        };
        let began = Instant::now();
        tokio::select! {
            // The notice of the question may be the very message that ends the wait.
            biased;
            () = user.has_question(membership) => {
                let left = limit.saturating_sub(began.elapsed());
                let wait = InterruptedWait::after(earlier, left, done);
                Err(ToolError::UserIsAsked(Box::new(wait)))
            }
            done = wait => Ok(done),
        }
    }
}
