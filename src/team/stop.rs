//! Stopping an agent: in good order, or by signals at once; bounded either way.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::acp::{AcpSessionId, Connection};
use crate::bus::state::StopWanted;
use crate::supervisor::{StopPlan, Supervised};

/// How long the agent may take to close its session: it is answered from memory.
const CLOSE: Duration = Duration::from_secs(1);

/// In good order: time to exit after its stdin is closed, then after SIGTERM, then after SIGKILL.
///
/// With the turn's grace of 20 s, its cancel of 2 s, and the closing of session and stdin of 3 s, it is below 30 s. A shim says
/// 1.5 s after SIGKILL who has withstood it.
const PLAN: StopPlan = StopPlan {
    polite: Duration::from_secs(2),
    term_grace: Duration::from_secs(1),
    kill_grace: Duration::from_secs(3),
};

/// When the bridge is in a hurry: a second signal came.
const HURRY: StopPlan = StopPlan {
    polite: Duration::ZERO,
    term_grace: Duration::from_millis(700),
    kill_grace: Duration::from_millis(700),
};

/// Ends an agent with all it started. Returns what there is to say when something is left of it.
pub(super) async fn stop(
    child: &Supervised,
    connection: Option<(&Connection, &AcpSessionId)>,
    wanted: StopWanted,
    hurry: &CancellationToken,
) -> Option<String> {
    let stopped = match wanted {
        StopWanted::AtOnce => tokio::select! {
            stopped = child.kill() => stopped,
            () = hurry.cancelled() => child.stop(HURRY).await,
        },
        StopWanted::Gracefully => tokio::select! {
            stopped = in_order(child, connection) => stopped,
            () = hurry.cancelled() => child.stop(HURRY).await,
        },
    };
    stopped.err().map(|error| error.to_string())
}

async fn in_order(
    child: &Supervised,
    connection: Option<(&Connection, &AcpSessionId)>,
) -> Result<crate::supervisor::Exit, crate::supervisor::StopError> {
    if let Some((connection, session)) = connection {
        // Not every agent offers it, and one that hangs is ended by the signals that follow.
        let _ = tokio::time::timeout(CLOSE, connection.close_session(session)).await;
        connection.shutdown().await;
    }
    child.stop(PLAN).await
}
