//! Records on the bus that a session has the tools, once, as soon as its client has listed or called them.

use super::server_handle::Server;
use crate::bus::rules::Operation;
use crate::bus::{BusError, Membership};
use crate::domain::member::Tools;
use crate::domain::wait_times;

impl Server {
    /// Records that a session has our tools, after a call proved it.
    pub(super) fn prove_tools(&self, membership: &Membership) {
        if !are_unproven(membership) {
            return;
        }
        let (server, membership, ending) =
            (self.clone(), membership.clone(), self.ending().clone());
        self.tasks().spawn(async move {
            tokio::select! {
                () = server.announce_tools(&membership) => {}
                () = ending.cancelled() => {}
            }
        });
    }

    /// Records on the bus that this session has our tools, unless it is recorded already. Tries until it succeeds.
    pub(super) async fn announce_tools(&self, membership: &Membership) {
        let Ok(_alone) = self.shared.announcing.try_lock() else {
            return;
        };
        let session = membership.session();
        let mut has_failed = false;
        while are_unproven(membership) {
            let ask = Operation::Tools { session, tools: Tools::Ready };
            match membership.ask(ask).await {
                Ok(_) => return,
                Err(error @ (BusError::Refused(_) | BusError::Closed)) => {
                    tracing::debug!("the bus did not record that the tools are ready: {error}");
                    return;
                }
                Err(error) if has_failed => tracing::debug!("the tools are ready: {error}"),
                Err(error) => tracing::warn!("failed to record that the tools are ready: {error}"),
            }
            has_failed = true;
            tokio::time::sleep(wait_times::ANNOUNCE_TOOLS_AGAIN).await;
        }
    }
}

/// Says whether the bus has no record yet that a session has our tools.
fn are_unproven(membership: &Membership) -> bool {
    membership.bus().look(|state| {
        let session = state.session(membership.session());
        session.is_some_and(|session| session.tools != Tools::Ready)
    })
}
