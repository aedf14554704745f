//! Stopping an agent: gracefully, or by signals at once; bounded either way.

use tokio_util::sync::CancellationToken;

use crate::acp::{AcpSessionId, Connection};
use crate::bus::state::StopMode;
use crate::domain::grace_periods;
use crate::supervisor::{StopPlan, Supervised};

/// Ends an agent with all it started. Returns what there is to say when something is left of it.
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
            // Not every agent offers it.
            let _ = tokio::time::timeout(
                grace_periods::CLOSE_SESSION,
                connection.close_session(session),
            )
            .await;
            connection.shutdown().await;
        };
        // One that hangs is ended by the signals that follow.
        let _ = tokio::time::timeout(grace_periods::CLOSE, goodbye).await;
    }
    child.stop(StopPlan::GRACEFUL).await
}
