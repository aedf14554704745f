//! Stops an agent: gracefully, or by signals at once. Both are bounded.

use tokio_util::sync::CancellationToken;

use crate::acp::{AcpSessionId, Connection};
use crate::bus::state::StopMode;
use crate::domain::grace_periods;
use crate::supervisor::{StopPlan, Supervised};

/// Stops an agent and all processes that it started. Returns an error text if any are left.
pub(crate) async fn stop(
    child: &Supervised,
    connection: Option<(&Connection, &AcpSessionId)>,
    mode: StopMode,
    force_stop: &CancellationToken,
) -> Option<String> {
    let stopped = match mode {
        StopMode::AtOnce => tokio::select! {
            stopped = child.kill() => stopped,
            () = force_stop.cancelled() => child.stop(StopPlan::FORCED).await,
        },
        StopMode::Gracefully => tokio::select! {
            stopped = gracefully(child, connection) => stopped,
            () = force_stop.cancelled() => child.stop(StopPlan::FORCED).await,
        },
    };
    stopped.err().map(|error| error.to_string())
}

async fn gracefully(
    child: &Supervised,
    connection: Option<(&Connection, &AcpSessionId)>,
) -> Result<crate::supervisor::Exit, crate::supervisor::StopError> {
    if let Some((connection, session)) = connection {
        let goodbye = async {
            // Not every agent supports it.
            let _ = tokio::time::timeout(
                grace_periods::CLOSE_SESSION,
                connection.close_session(session),
            )
            .await;
            connection.shutdown().await;
        };
        // The signals that follow end an agent that hangs.
        let _ = tokio::time::timeout(grace_periods::CLOSE, goodbye).await;
    }
    child.stop(StopPlan::GRACEFUL).await
}
