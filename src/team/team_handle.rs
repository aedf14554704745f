//! The team of one bridge: it starts actors, and writes requests to agents, whichever bridge holds them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::join_all;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::agent::context::AgentContext;
use super::agent::lifetime;
use super::agent::model_and_mode::Offers;
use super::agent::pending_writes::Unwritten;
use super::agent::printed::PrintedByAgents;
use super::assign::on_host::unwithdrawn::Unwithdrawn;
use super::error::TeamError;
use super::launch::Launch;
use super::permissions::user_reachable::UserReachable;
use super::stop::end_without_bus::{Ends, OwnEnd};
use super::stop::hold_when_cut_off::hold_when_cut_off;
use super::turn::doing_now::DoingNow;
use crate::acp::AcpSessionId;
use crate::bus::rules::Operation;
use crate::bus::{Bus, BusError, Membership};
use crate::config::Config;
use crate::domain::grace_periods;
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::member::Departure;
use crate::domain::name::Name;
use crate::sys::mutex::lock;

/// The warning when the agents are gone and the bus does not record it.
const UNRECORDED: &str =
    "the bus did not record how the agents ended; other bridges will find them dead";

/// The agents of one bridge. Cheap to clone.
#[derive(Clone)]
pub struct Team {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) membership: Membership,
    pub(super) config: Config,
    pub(super) launch: Arc<Launch>,
    pub(super) user: UserReachable,
    actors: TaskTracker,
    force_stop: CancellationToken,
    /// Cancelled when it ends, before its agents are asked to.
    pub(super) closing: CancellationToken,
    /// How its agents end if the bus does not accept a request.
    ends: Ends,
    /// Profiles of the project's own file that the user has been notified of.
    noted: Mutex<BTreeSet<Name>>,
    /// The models that its agents offer.
    pub(super) offers: Offers,
    /// What its agents have printed beside messages.
    pub(super) printed: PrintedByAgents,
    /// What its agents are doing.
    pub(super) doing: DoingNow,
    /// What it has asked of other hosts and could not withdraw.
    pub(super) unwithdrawn: Unwithdrawn,
    /// Holds its agents while its machine is cut off, from its first agent on.
    holding: OnceLock<AbortOnDropHandle<()>>,
}

impl Team {
    /// Makes a team without agents, which writes its requests as this member. Permission questions go to `user` first.
    pub fn new(
        membership: Membership,
        config: Config,
        launch: Launch,
        user: UserReachable,
    ) -> Self {
        let inner = Inner {
            user,
            membership,
            config,
            launch: Arc::new(launch),
            actors: TaskTracker::new(),
            force_stop: CancellationToken::new(),
            closing: CancellationToken::new(),
            ends: Ends::default(),
            noted: Mutex::default(),
            offers: Offers::default(),
            printed: PrintedByAgents::default(),
            doing: DoingNow::default(),
            unwithdrawn: Unwithdrawn::default(),
            holding: OnceLock::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    pub fn bus(&self) -> &Bus {
        self.inner.membership.bus()
    }

    /// Returns the membership of the bridge.
    pub fn membership(&self) -> &Membership {
        &self.inner.membership
    }

    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    /// Starts the actor of an agent that is on the bus as starting; `earlier` is the session to resume.
    pub(super) fn start(&self, mut agent: AgentContext, earlier: Option<AcpSessionId>) {
        self.hold_when_cut_off();
        let (membership, session) = (agent.membership.clone(), agent.session());
        let (force_stop, ends) = (self.force_stop(), self.inner.ends.clone());
        let OwnEnd { force, gone } = ends.begin(session, &force_stop);
        agent.force_stop = force;
        let ending = lifetime::Ending { closing: force_stop.clone(), gone: gone.clone() };
        let running = tokio::spawn(lifetime::run(Arc::new(agent), earlier, ending));
        self.inner.actors.spawn(async move {
            let ended = running.await;
            gone.cancel();
            if let Err(error) = ended {
                // A bug of ours. The panic dropped the actor's state, so the process is killed; record it on the bus.
                let detail = format!("the bridge hit a bug: {error}");
                let (departure, detail) = (Departure::Failed, Some(detail));
                let leaving = (session, Operation::Leave { session, departure, detail });
                lifetime::leave(&mut Unwritten::default(), &membership, leaving, &force_stop).await;
            }
            ends.forget(session);
        });
    }

    /// On a bus that several machines share, makes sure that the agents do not work while others may have got their tasks.
    fn hold_when_cut_off(&self) {
        let inner = &self.inner;
        if inner.membership.bus().host().is_none() {
            return;
        }
        inner.holding.get_or_init(|| {
            let ended = [inner.closing.clone(), inner.force_stop.clone()];
            let holding = hold_when_cut_off(inner.membership.bus().clone(), ended);
            AbortOnDropHandle::new(tokio::spawn(holding))
        });
    }

    pub(super) fn force_stop(&self) -> CancellationToken {
        self.inner.force_stop.clone()
    }

    /// Asks an agent to stop, whichever bridge holds it. The request is on the bus when this returns.
    pub async fn shutdown_agent(
        &self,
        agent: &str,
        reason: Option<String>,
    ) -> Result<(), TeamError> {
        self.inner
            .membership
            .ask(Operation::Stop { agent: agent.to_owned(), reason, kill: false })
            .await?;
        Ok(())
    }

    /// Kills an agent by signals, whichever bridge holds it, and waits until it is gone. An agent of this bridge ends even if the
    /// bus records nothing, then with less time between the signals.
    pub async fn kill_agent(&self, agent: &str, limit: Duration) -> Result<(), TeamError> {
        let live = self.bus().look(|state| {
            state.live_as(agent).map(|live| (live.id, live.name.clone(), live.owner))
        });
        let request = Operation::Stop { agent: agent.to_owned(), reason: None, kill: true };
        let own = live.as_ref().map(|(session, ..)| *session);
        let own = own.and_then(|session| self.inner.ends.of(session));
        match (self.inner.membership.ask(request).await, &own) {
            (Ok(_), _) => {}
            (Err(error), Some(own)) if !matches!(error, BusError::Refused(_)) => {
                tracing::warn!("stopping `{agent}` without the bus: {error}");
                own.force.cancel();
            }
            (Err(error), _) => return Err(error.into()),
        }
        let Some((session, agent, owner)) = live else {
            return Ok(());
        };
        let has_left = |bus: &Bus| bus.look(|state| state.session(session).is_none());
        let gone = async {
            match own {
                Some(own) => own.gone.cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            left = self.until(limit, has_left) => {
                return if left { Ok(()) } else { Err(self.silent(agent, owner, limit)) };
            }
            () = gone => {}
        }
        // It is gone, whether the bus records that now or later.
        self.until(grace_periods::LAST_APPEND, has_left).await;
        Ok(())
    }

    /// Cancels a task. A queued one ends at once, a running one when its agent's bridge has ended it.
    pub async fn cancel_task(&self, id: &TaskId, limit: Duration) -> Result<(), TeamError> {
        self.inner.membership.ask(Operation::CancelTask(id.clone())).await?;
        let over =
            |bus: &Bus| bus.look(|state| state.task(id).is_none_or(|task| task.status.is_final()));
        // A task that still runs then is no error: the answer says so.
        self.until(limit, over).await;
        Ok(())
    }

    /// Stops all agents of this bridge gracefully within 30 s. Once `force` resolves, it stops them within 2 s, whatever it waits
    /// for then.
    pub async fn shutdown(&self, force: impl Future<Output = ()>) {
        self.shutdown_after(std::future::ready(()), force).await;
    }

    /// Does the same once `before` is over, within the same total time.
    pub async fn shutdown_after(
        &self,
        before: impl Future<Output = ()>,
        force: impl Future<Output = ()>,
    ) {
        let gracefully = async {
            before.await;
            self.inner.closing.cancel();
            self.ask_all_to_end().await;
            self.inner.actors.close();
            tokio::select! {
                () = self.inner.actors.wait() => true,
                () = self.has_only_records_left() => false,
            }
        };
        tokio::select! {
            // A force stop that is already due precedes every request.
            biased;
            () = force => {}
            ended = tokio::time::timeout(grace_periods::BRIDGE, gracefully) => match ended {
                Ok(true) => return,
                Ok(false) => tracing::warn!("{UNRECORDED}"),
                Err(_) => tracing::warn!("some agents did not stop gracefully within {} s; killing them", grace_periods::BRIDGE.as_secs()),
            }
        }
        self.inner.actors.close();
        self.inner.closing.cancel();
        self.inner.force_stop.cancel();
        let ended = tokio::time::timeout(grace_periods::BRIDGE_FORCED, self.inner.actors.wait());
        if ended.await.is_ok() {
            return;
        }
        if self.inner.ends.all_gone().now_or_never().is_some() {
            tracing::warn!("{UNRECORDED}");
        } else {
            tracing::warn!(
                "some agents could not be stopped within {} s",
                grace_periods::BRIDGE_FORCED.as_secs()
            );
        }
    }

    /// Asks all agents of this bridge to stop, concurrently: a busy bus takes its time for each request. An agent whose request the
    /// bus does not accept is stopped at once.
    async fn ask_all_to_end(&self) {
        let me = self.inner.membership.session();
        let mine: Vec<_> = self.bus().look(|state| {
            let held = state.live_sessions().into_iter().filter(|live| live.owner == Some(me));
            held.map(|live| (live.id, live.name.to_string())).collect()
        });
        let asking = mine.into_iter().map(async |(session, agent)| {
            match self.shutdown_agent(&agent, Some("the bridge is closing".to_owned())).await {
                // The agent may have ended by itself meanwhile.
                Ok(()) | Err(TeamError::Bus(BusError::Refused(_))) => {}
                Err(error) => {
                    tracing::warn!("stopping `{agent}` without the bus: {error}");
                    if let Some(own) = self.inner.ends.of(session) {
                        own.force.cancel();
                    }
                }
            }
        });
        join_all(asking).await;
    }

    /// Returns when no process of any agent is left, and the bus has had time to record that.
    async fn has_only_records_left(&self) {
        self.inner.ends.all_gone().await;
        tokio::time::sleep(grace_periods::LAST_APPEND).await;
    }

    /// Kills all agents of this bridge by signals, without writing to the bus: it is already closed.
    pub fn end_at_once(&self) {
        self.inner.closing.cancel();
        self.inner.force_stop.cancel();
    }

    /// Waits until a condition holds on the bus; returns whether it did within the limit.
    pub(super) async fn until(&self, limit: Duration, holds: impl Fn(&Bus) -> bool) -> bool {
        let deadline = Instant::now() + limit;
        let mut changes = self.bus().changes();
        loop {
            if holds(self.bus()) {
                return true;
            }
            match tokio::time::timeout_at(deadline, changes.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return holds(self.bus()),
            }
        }
    }

    fn silent(&self, agent: Name, owner: Option<SessionId>, after: Duration) -> TeamError {
        let bridge = self.bus().look(|state| {
            let owner = owner.and_then(|owner| state.session(owner));
            owner.map_or_else(|| "unknown".to_owned(), |owner| owner.name.to_string())
        });
        TeamError::Silent { agent, bridge, after }
    }

    /// Notes that the user is notified of a profile; returns whether this is the first time.
    pub(super) fn is_first_note(&self, profile: &Name) -> bool {
        let mut noted = lock(&self.inner.noted);
        noted.insert(profile.clone())
    }
}
