//! Stopping an agent: in good order, or by signals at once; bounded either way.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::acp::{AcpSessionId, Connection};
use crate::bus::state::StopWanted;
use crate::supervisor::{StopPlan, Supervised};

/// How long the agent may take to close its session: it is answered from memory.
const CLOSE: Duration = Duration::from_secs(1);

/// How long the closing of session and stdin may take together, also when the agent reads nothing and its pipe is full.
const GOODBYE: Duration = Duration::from_secs(3);

/// What a stop in good order may take in all: the promise of `shutdown_agent`.
#[cfg(test)]
const IN_ALL: Duration = Duration::from_secs(30);

/// In good order: time to exit after its stdin is closed, then after SIGTERM, then after SIGKILL.
///
/// The test below adds up what a whole stop may take. A shim says 1.5 s after SIGKILL who has withstood it.
const PLAN: StopPlan = StopPlan {
    polite: Duration::from_secs(2),
    term_grace: Duration::from_secs(1),
    kill_grace: Duration::from_secs(2),
};

/// When the bridge is in a hurry: a second signal came.
const HURRY: StopPlan = StopPlan {
    polite: Duration::ZERO,
    term_grace: Duration::from_millis(700),
    kill_grace: Duration::from_millis(700),
};

/// Ends an agent with all it started. Returns what there is to say when something is left of it.
pub(crate) async fn stop(
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
        let goodbye = async {
            // Not every agent offers it.
            let _ = tokio::time::timeout(CLOSE, connection.close_session(session)).await;
            connection.shutdown().await;
        };
        // One that hangs is ended by the signals that follow.
        let _ = tokio::time::timeout(GOODBYE, goodbye).await;
    }
    child.stop(PLAN).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::agent::next_step::{CANCEL_GRACE_STOPPING, TURN_GRACE};

    #[test]
    fn the_steps_of_a_stop_add_up_to_what_is_promised() {
        let signals = |plan: StopPlan| plan.polite + plan.term_grace + plan.kill_grace;
        let in_order = TURN_GRACE + CANCEL_GRACE_STOPPING + GOODBYE + signals(PLAN);
        assert!(in_order <= IN_ALL, "{in_order:?}");
        assert!(signals(StopPlan::KILL) < Duration::from_secs(10));
        assert!(signals(HURRY) < Duration::from_secs(2));
    }
}
