//! Runs an agent from its start to its end: one process after another where its profile restarts it, and then its departure.

use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::actor::Actor;
use super::context::AgentContext;
use super::pending_writes::Unwritten;
use super::restart_policy::{Restarts, Verdict};
use crate::acp::AcpSessionId;
use crate::bus::Membership;
use crate::bus::rules::{Broken, Operation};
use crate::domain::ids::SessionId;
use crate::domain::limits;

/// How `run` and the handle that started it agree on the end.
pub(crate) struct Ending {
    /// Cancelled to end without waiting for the bus.
    pub(crate) closing: CancellationToken,
    /// Cancelled by `run` when the agent has no processes and gets no new ones.
    pub(crate) gone: CancellationToken,
}

/// Runs an agent with all its restarts. When this returns, its session has left the bus, or `closing` was cancelled. `gone` is
/// cancelled as soon as its processes have ended, whether or not the bus has recorded that.
pub(crate) async fn run(
    agent: Arc<AgentContext>,
    mut earlier: Option<AcpSessionId>,
    Ending { closing, gone }: Ending,
) {
    let (membership, session) = (&agent.membership, agent.session());
    let mut restarts = Restarts::default();
    loop {
        let mut ended = match Actor::start(Arc::clone(&agent), earlier.take()).await {
            Ok(actor) => {
                restarts.note_ready();
                Box::pin(actor.live()).await
            }
            Err(ended) => ended,
        };
        // The detail may end with the agent's stderr.
        let written = |detail: String| agent.secrets.hidden(detail).clipped(limits::ERROR_CHARS);
        ended.detail = ended.detail.map(written);
        let mut unwritten = std::mem::take(&mut ended.unwritten);
        if is_to_end(&agent) {
            gone.cancel();
        }
        // A force stop counts even while the bus accepts nothing. The events left over are written with the agent's departure.
        tokio::select! {
            () = unwritten.write_all(membership, &closing) => {}
            () = agent.force_stop.cancelled() => {}
        }
        let policy = agent.profile.restart.value;
        let verdict = if is_to_end(&agent) {
            Verdict::Ended
        } else {
            restarts.after(policy, ended.departure, Instant::now())
        };
        let detail = match verdict {
            Verdict::Again => {
                let detail = ended.detail.clone().unwrap_or_default();
                let task = match (is_in_task(membership, session), &ended.session) {
                    (true, Some(_)) => Broken::Kept,
                    _ => Broken::Interrupted,
                };
                unwritten.push(Operation::Crash { session, detail, task });
                unwritten.write_all(membership, &agent.force_stop).await;
                if unwritten.is_empty() && !is_to_end(&agent) {
                    earlier = ended.session;
                    continue;
                }
                ended.detail
            }
            Verdict::Ended => ended.detail,
            Verdict::Abandoned(reason) => {
                let detail = ended.detail.unwrap_or_default();
                Some(format!("{detail}; not restarted: {reason}"))
            }
        };
        gone.cancel();
        let leaving = match ended.error {
            Some(error) => {
                let error = Box::new(error.written(&agent.secrets));
                Operation::Fail { session, detail, error }
            }
            None => Operation::Leave { session, departure: ended.departure, detail },
        };
        leave(&mut unwritten, membership, (session, leaving), &closing).await;
        agent.offers.forget(session);
        agent.printed.forget(session);
        agent.doing.forget(session);
        return;
    }
}

/// Returns whether the agent runs a task, as far as the bus knows.
fn is_in_task(membership: &Membership, session: SessionId) -> bool {
    membership.bus().look(|state| {
        let live = state.session(session);
        live.is_some_and(|live| live.running.is_some())
    })
}

/// Returns whether the agent is to stop, and so must not be restarted.
fn is_to_end(agent: &AgentContext) -> bool {
    let stays = agent.bus().look(|state| {
        let live = state.session(agent.session());
        live.is_some_and(|live| live.stop.is_none())
    });
    agent.force_stop.is_cancelled() || !stays
}

/// Records the departure of an agent after all earlier events, then removes its presence.
pub(crate) async fn leave(
    unwritten: &mut Unwritten,
    membership: &Membership,
    (session, leaving): (SessionId, Operation),
    force_stop: &CancellationToken,
) {
    unwritten.push(leaving);
    // If a force stop leaves no time for that, another process records it: with the presence gone, every process finds the agent
    // dead.
    unwritten.write_all(membership, force_stop).await;
    membership.bus().release(session);
}
