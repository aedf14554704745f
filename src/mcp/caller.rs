//! The caller of a tool: its call on the bus, and the reports on its progress.

use std::convert::Infallible;
use std::time::Duration;

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext, RoleServer};

use tokio::time::Instant;

use crate::bus::{Bus, Call, Membership};
use crate::domain::wait_times;

/// One call of a tool, from the tool's point of view.
pub struct Caller {
    /// The call on the bus, which receives messages and acts for the member.
    pub call: Call,
    /// Sends progress reports to the client.
    pub progress: Progress,
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

    /// Awaits some work that takes `limit` at most. If the client asked for progress, it hears regularly that the work goes on: some
    /// clients give up after a minute of silence.
    pub async fn during<T>(
        &self,
        limit: Duration,
        message: &str,
        work: impl Future<Output = T>,
    ) -> T {
        tokio::select! {
            biased;
            done = work => done,
            never = self.keep_reporting(limit, message), if self.is_requested() => match never {},
        }
    }

    async fn keep_reporting(&self, limit: Duration, message: &str) -> Infallible {
        let began = Instant::now();
        loop {
            tokio::time::sleep(wait_times::PROGRESS).await;
            let done = began.elapsed().as_secs_f64();
            self.report(done, limit.as_secs_f64(), message).await;
        }
    }

    /// Reports that `done` of `total` is done. A failure is only logged.
    pub async fn report(&self, done: f64, total: f64, message: &str) {
        let Some((peer, token)) = &self.to else {
            return;
        };
        let notice = ProgressNotificationParam::new(token.clone(), done)
            .with_total(total)
            .with_message(message);
        if let Err(error) = peer.notify_progress(notice).await {
            // The client is gone, which ends the call by itself.
            tracing::debug!("failed to report progress: {error}");
        }
    }
}
