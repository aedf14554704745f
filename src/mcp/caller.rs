//! The caller of a tool: its call on the bus, and how it is told of progress.

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext, RoleServer};

use crate::bus::{Bus, Call, Membership};

/// One call of a tool, as the tool sees it.
pub struct Caller {
    /// What happens on the bus in the caller's name.
    pub call: Call,
    /// How the caller hears of progress.
    pub progress: Progress,
}

impl Caller {
    /// Returns whose call it is.
    pub fn membership(&self) -> &Membership {
        self.call.membership()
    }

    /// Returns the bus.
    pub fn bus(&self) -> &Bus {
        self.call.membership().bus()
    }
}

/// Tells a client that asked for it how far a call has come.
pub struct Progress {
    to: Option<(Peer<RoleServer>, ProgressToken)>,
}

impl Progress {
    /// Returns the way that a request asks for.
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        let token = context.meta.get_progress_token();
        Self { to: token.map(|token| (context.peer.clone(), token)) }
    }

    /// Says whether the caller asked for progress.
    pub fn is_wanted(&self) -> bool {
        self.to.is_some()
    }

    /// Reports that `done` of `total` is done. That nobody listens is no error.
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
