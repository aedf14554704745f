//! An agent from its start to its end: one process after another where its profile wants that, and then its leave.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::actor::Actor;
use super::model_and_mode::Offers;
use super::pending_writes::{End, Unwritten};
use super::restart_policy::{Restarts, Verdict};
use crate::acp::AcpSessionId;
use crate::bus::Membership;
use crate::bus::event::{Body, TaskReport};
use crate::bus::rules::{Broken, Ending, Operation};
use crate::config::Profile;
use crate::domain::ids::SessionId;
use crate::domain::limits;
use crate::domain::member::Departure;
use crate::domain::task::{TaskError, TaskStatus};
use crate::team::launch::{Launch, NewAgentIdentity};
use crate::team::permissions::user_reachable::UserReachable;

/// What an actor begins with.
#[derive(Clone)]
pub(crate) struct Begin {
    pub(crate) membership: Membership,
    pub(crate) launch: Arc<Launch>,
    pub(crate) profile: Profile,
    pub(crate) program: PathBuf,
    pub(crate) identity: NewAgentIdentity,
    /// Cancelled to end it at once.
    pub(crate) hurry: CancellationToken,
    pub(crate) human: UserReachable,
    /// How long a turn may be without a sign of life.
    pub(crate) stall: Duration,
    /// Bytes a second that are read of the agent's stdout.
    pub(crate) output_per_second: u64,
    /// The session of an earlier life, to be taken up again.
    pub(crate) earlier: Option<AcpSessionId>,
    /// Where it tells which models it offers.
    pub(crate) offers: Offers,
}

/// How the life of a process ended.
pub(crate) struct ProcessEnd {
    pub(crate) departure: Departure,
    pub(crate) detail: Option<String>,
    /// The ACP session that the agent may take up again.
    pub(crate) session: Option<AcpSessionId>,
    /// What has happened and is not on the bus yet.
    pub(crate) unwritten: Unwritten,
    /// What to tell those whose tasks waited for it, where there is more to tell than that it ended.
    pub(crate) error: Option<TaskError>,
}

impl ProcessEnd {
    pub(crate) fn new(departure: Departure, detail: Option<String>) -> Self {
        Self { departure, detail, session: None, unwritten: Unwritten::default(), error: None }
    }
}

/// Runs an agent from its start to its end, with all restarts. When this returns, its session has left the bus, or `closing` was
/// cancelled; `gone` is as soon as its processes are no more, whether the bus takes that or not.
pub(crate) async fn run(begin: Begin, closing: CancellationToken, gone: CancellationToken) {
    let (membership, session) = (begin.membership.clone(), begin.identity.session);
    let secrets = begin.launch.secrets(&begin.profile, &begin.identity.token);
    let mut restarts = Restarts::default();
    let mut earlier = begin.earlier.clone();
    loop {
        let mut ended = match Actor::start(begin.clone(), earlier.take()).await {
            Ok(actor) => {
                restarts.note_ready();
                Box::pin(actor.live()).await
            }
            Err(ended) => ended,
        };
        // It may end with what the agent wrote on its stderr.
        let written = |detail: String| secrets.hidden(detail).clipped(limits::ERROR_CHARS);
        ended.detail = ended.detail.map(written);
        let mut unwritten = std::mem::take(&mut ended.unwritten);
        if is_to_end(&membership, session, &begin.hurry) {
            gone.cancel();
        }
        // Its end is heard of also while the bus takes nothing. What is left its leave writes.
        tokio::select! {
            () = unwritten.write_all(&membership, &closing) => {}
            () = begin.hurry.cancelled() => {}
        }
        let policy = begin.profile.restart.value;
        let verdict = if is_to_end(&membership, session, &begin.hurry) {
            Verdict::Ended
        } else {
            restarts.after(policy, ended.departure, Instant::now())
        };
        let detail = match verdict {
            Verdict::Again => {
                let detail = ended.detail.clone().unwrap_or_default();
                let task = match (is_in_task(&membership, session), &ended.session) {
                    (true, Some(_)) => Broken::Kept,
                    _ => Broken::Interrupted,
                };
                unwritten.push(Operation::Crash { session, detail, task });
                unwritten.write_all(&membership, &begin.hurry).await;
                if unwritten.is_empty() && !is_to_end(&membership, session, &begin.hurry) {
                    earlier = ended.session;
                    continue;
                }
                ended.detail
            }
            Verdict::Ended => ended.detail,
            Verdict::GivenUp(reason) => {
                let detail = ended.detail.unwrap_or_default();
                Some(format!("{detail}; not restarted: {reason}"))
            }
        };
        gone.cancel();
        if let Some(error) = ended.error {
            let message = format!("{} has failed: {}", begin.identity.name, error.message);
            let error = TaskError { message, ..error }.written(&secrets);
            fail_queue(&mut unwritten, &membership, session, &error);
        }
        let departure = ended.departure;
        leave(&mut unwritten, &membership, (session, departure, detail), &closing).await;
        begin.offers.forget(session);
        return;
    }
}

/// Ends the tasks that waited for an agent which could not be started, with the reason. What is left its leave ends.
fn fail_queue(
    unwritten: &mut Unwritten,
    membership: &Membership,
    session: SessionId,
    error: &TaskError,
) {
    let queue: Vec<_> = membership.bus().look(|state| {
        let live = state.session(session);
        live.map(|live| live.queue.iter().cloned().collect()).unwrap_or_default()
    });
    for task in queue {
        let ending = Ending {
            status: TaskStatus::Failed,
            output: Body::Text(String::new()),
            stop_reason: None,
            error: Some(error.clone()),
            report: TaskReport::default(),
        };
        unwritten.push_end(End::new(task, ending, String::new()));
    }
}

/// Says whether a task is in the agent's turn, as far as the bus knows.
fn is_in_task(membership: &Membership, session: SessionId) -> bool {
    membership.bus().look(|state| {
        let live = state.session(session);
        live.is_some_and(|live| live.running.is_some())
    })
}

/// Says whether somebody wants the end of an agent, so that it is not started again.
fn is_to_end(membership: &Membership, session: SessionId, hurry: &CancellationToken) -> bool {
    let stays = membership.bus().look(|state| {
        let live = state.session(session);
        live.is_some_and(|live| live.stop.is_none())
    });
    hurry.is_cancelled() || !stays
}

/// Writes the end of an agent behind all that is to be written before it, then removes its presence.
pub(crate) async fn leave(
    unwritten: &mut Unwritten,
    membership: &Membership,
    (session, departure, detail): (SessionId, Departure, Option<String>),
    hurry: &CancellationToken,
) {
    unwritten.push(Operation::Leave { session, departure, detail });
    // What is not taken before a hurried end somebody else writes: with the presence gone, the agent is dead for all.
    unwritten.write_all(membership, hurry).await;
    membership.bus().release(session);
}
