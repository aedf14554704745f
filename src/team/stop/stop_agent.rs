//! Stops an agent: gracefully, or by signals at once. Both are bounded.

use tokio_util::sync::CancellationToken;

use crate::acp::{AcpSessionId, Connection};
use crate::bus::state::StopMode;
use crate::domain::grace_periods;
use crate::supervisor::{StopPlan, Supervised};

/// The conversation of an agent that is stopped.
pub(crate) struct LastConversation<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) session: &'a AcpSessionId,
    /// Whether nobody will ever resume it, so that the agent need not store it.
    pub(crate) is_of_trial: bool,
}

/// Stops an agent and all processes that it started. Returns an error text if any are left.
pub(crate) async fn stop(
    child: &Supervised,
    last: Option<LastConversation<'_>>,
    mode: StopMode,
    force_stop: &CancellationToken,
) -> Option<String> {
    let stopped = match mode {
        StopMode::AtOnce => tokio::select! {
            stopped = child.kill() => stopped,
            () = force_stop.cancelled() => child.stop(StopPlan::FORCED).await,
        },
        StopMode::Gracefully => tokio::select! {
            stopped = gracefully(child, last) => stopped,
            () = force_stop.cancelled() => child.stop(StopPlan::FORCED).await,
        },
    };
    stopped.err().map(|error| error.to_string())
}

async fn gracefully(
    child: &Supervised,
    last: Option<LastConversation<'_>>,
) -> Result<crate::supervisor::Exit, crate::supervisor::StopError> {
    if let Some(LastConversation { connection, session, is_of_trial }) = last {
        let goodbye = async {
            // Not every agent supports these.
            let _ = tokio::time::timeout(
                grace_periods::CLOSE_SESSION,
                connection.close_session(session),
            )
            .await;
            if is_of_trial {
                let _ = tokio::time::timeout(
                    grace_periods::CLOSE_SESSION,
                    connection.delete_session(session),
                )
                .await;
            }
            connection.shutdown().await;
        };
        // The signals that follow end an agent that hangs.
        let _ = tokio::time::timeout(grace_periods::CLOSE, goodbye).await;
    }
    child.stop(StopPlan::GRACEFUL).await
}
