//! The team of one bridge: its actors, and the wishes that are addressed to agents wherever they are held.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::agent::lifetime::{self, Begin};
use super::agent::model_and_mode::Offers;
use super::agent::pending_writes::Unwritten;
use super::launch::Launch;
use super::permissions::user_reachable::UserReachable;
use super::project_trust::{Consent, UnreadableYes};
use super::stop::end_without_bus::{Ends, OwnEnd};
use crate::bus::rules::{Operation, Refusal};
use crate::bus::{Bus, BusError, Membership};
use crate::config::{Config, UnknownProfile};
use crate::domain::grace_periods;
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::member::Departure;
use crate::domain::missing_program::MissingProgram;
use crate::domain::name::{Name, NameError};
use crate::sys::mutex::lock;

/// Why the team did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum TeamError {
    /// The bus did not.
    #[error(transparent)]
    Bus(#[from] BusError),
    /// Neither a live member nor a profile has that name.
    #[error("`{name}` is neither a live agent nor a profile{}", known(.nearest, .profiles))]
    Unknown {
        /// The name.
        name: String,
        /// Names like it.
        nearest: Vec<String>,
        /// All profiles.
        profiles: Vec<String>,
    },
    /// There is no such profile to start an agent from.
    #[error(transparent)]
    Profile(#[from] UnknownProfile),
    /// The program of a profile is not there.
    #[error(transparent)]
    Program(#[from] MissingProgram),
    /// The project's own file says what would run, and the user has not said yes to it.
    #[error("{_0}")]
    Unagreed(Arc<Consent>),
    /// Whether the user has said yes to a file of the project cannot be read now.
    #[error("{what}, and {why}. Try again when it can be read")]
    UnreadableYes {
        /// What is not done, in one sentence's part.
        what: String,
        /// Why it cannot be read.
        #[source]
        why: UnreadableYes,
    },
    /// The name for a new agent is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The place to work is not one.
    #[error(
        "cwd {given:?} {problem}: name a directory inside the project, relative to its root, or in a worktree of its repository"
    )]
    Cwd {
        /// As it was given.
        given: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The agent does not offer the model.
    #[error("`{agent}` cannot take this task: {problem}")]
    Model {
        /// Whose.
        agent: Name,
        /// Which models it offers.
        problem: String,
    },
    /// Nobody of that name has been here, as far as is remembered.
    #[error("no ended agent is named `{name}`{}", ended(.nearest))]
    NeverHere {
        /// The name.
        name: String,
        /// Names like it, else all.
        nearest: Vec<String>,
    },
    /// A live agent stays where it is.
    #[error(
        "`{agent}` works in another directory: assign without `cwd`, or start a new agent with `name`"
    )]
    OtherCwd {
        /// Whose.
        agent: Name,
    },
    /// The bridge that holds the agent does not answer.
    #[error("the bridge `{bridge}` that runs `{agent}` did not act within {} s; it may be \
        suspended or overloaded", .after.as_secs())]
    Silent {
        /// The agent.
        agent: Name,
        /// The bridge.
        bridge: String,
        /// How long it was waited for.
        after: Duration,
    },
}

fn known(nearest: &[String], profiles: &[String]) -> String {
    let quoted = |names: &[String]| {
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    };
    match nearest {
        [] => format!("; profiles: {}", quoted(profiles)),
        names => format!(": did you mean {}?", quoted(names)),
    }
}

fn ended(names: &[String]) -> String {
    if names.is_empty() {
        return ": assign without `resume` to start one".to_owned();
    }
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    format!(": the ended agents are {}", names.join(", "))
}

/// The agents of one bridge. Cheap to clone.
#[derive(Clone)]
pub struct Team {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) membership: Membership,
    pub(super) config: Config,
    pub(super) launch: Arc<Launch>,
    pub(super) human: UserReachable,
    actors: TaskTracker,
    hurry: CancellationToken,
    /// How its agents end, where the bus takes no wish.
    ends: Ends,
    /// Profiles of the project's own file that the user has been told of.
    pub(super) told: Mutex<BTreeSet<Name>>,
    /// The models that its agents offer.
    pub(super) offers: Offers,
}

impl Team {
    /// Makes a team without agents, whose wishes are written in the name of a membership. What they ask goes to `human` first.
    pub fn new(
        membership: Membership,
        config: Config,
        launch: Launch,
        human: UserReachable,
    ) -> Self {
        let inner = Inner {
            human,
            membership,
            config,
            launch: Arc::new(launch),
            actors: TaskTracker::new(),
            hurry: CancellationToken::new(),
            ends: Ends::default(),
            told: Mutex::default(),
            offers: Offers::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Returns the bus.
    pub fn bus(&self) -> &Bus {
        self.inner.membership.bus()
    }

    /// Returns the membership of the bridge.
    pub fn membership(&self) -> &Membership {
        &self.inner.membership
    }

    /// Returns the configuration.
    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    /// Starts the actor of an agent that is on the bus as starting.
    pub(super) fn start(&self, mut begin: Begin) {
        let (membership, session) = (begin.membership.clone(), begin.identity.session);
        let (hurry, ends) = (self.hurry(), self.inner.ends.clone());
        let OwnEnd { wanted, gone } = ends.begin(session, &hurry);
        begin.hurry = wanted;
        let running = tokio::spawn(lifetime::run(begin, hurry.clone(), gone.clone()));
        self.inner.actors.spawn(async move {
            let ended = running.await;
            gone.cancel();
            if let Err(error) = ended {
                // A bug of ours: what it held was dropped with it, so the process is killed; say so on the bus.
                let detail = format!("the bridge hit a bug: {error}");
                let left = (session, Departure::Failed, Some(detail));
                lifetime::leave(&mut Unwritten::default(), &membership, left, &hurry).await;
            }
            ends.forget(session);
        });
    }

    pub(super) fn hurry(&self) -> CancellationToken {
        self.inner.hurry.clone()
    }

    /// Asks an agent to end, wherever it is held. The wish is on the bus when this returns.
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

    /// Ends an agent by signals, wherever it is held, and waits until it is gone. An agent of this bridge ends also where the bus
    /// takes nothing, then with less time between the signals.
    pub async fn kill_agent(&self, agent: &str, limit: Duration) -> Result<(), TeamError> {
        let live = self.bus().look(|state| {
            let name = Name::parse(agent).ok()?;
            state.live(&name).map(|live| (live.id, live.name.clone(), live.owner))
        });
        let wish = Operation::Stop { agent: agent.to_owned(), reason: None, kill: true };
        let own = live.as_ref().map(|(session, ..)| *session);
        let own = own.and_then(|session| self.inner.ends.of(session));
        match (self.inner.membership.ask(wish).await, &own) {
            (Ok(_), _) => {}
            (Err(error), Some(own)) if !matches!(error, BusError::Refused(_)) => {
                tracing::warn!("stopping `{agent}` without the bus: {error}");
                own.wanted.cancel();
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
        // It is gone, whether the bus can be told now or later.
        self.until(grace_periods::LAST_APPEND, has_left).await;
        Ok(())
    }

    /// Asks for the end of a task. A queued one ends at once; a running one when its agent's bridge has ended it.
    pub async fn cancel_task(&self, id: &TaskId, limit: Duration) -> Result<(), TeamError> {
        self.inner.membership.ask(Operation::CancelTask(id.clone())).await?;
        let over =
            |bus: &Bus| bus.look(|state| state.task(id).is_none_or(|task| task.status.is_final()));
        // Still running then is no error: the answer says so.
        self.until(limit, over).await;
        Ok(())
    }

    /// Ends all agents of this bridge, in good order, within 30 s; within 2 s once `hurry` resolves.
    pub async fn shutdown(&self, hurry: impl Future<Output = ()>) {
        let me = self.inner.membership.session();
        let mine: Vec<_> = self.bus().look(|state| {
            let held = state.live_sessions().into_iter().filter(|live| live.owner == Some(me));
            held.map(|live| (live.id, live.name.to_string())).collect()
        });
        for (session, agent) in mine {
            match self.shutdown_agent(&agent, Some("the bridge is closing".to_owned())).await {
                // It may have ended by itself meanwhile.
                Ok(()) | Err(TeamError::Bus(BusError::Refused(_))) => {}
                Err(error) => {
                    tracing::warn!("stopping `{agent}` without the bus: {error}");
                    if let Some(own) = self.inner.ends.of(session) {
                        own.wanted.cancel();
                    }
                }
            }
        }
        self.inner.actors.close();
        let deadline = Instant::now() + grace_periods::BRIDGE;
        tokio::select! {
            ended = tokio::time::timeout_at(deadline, self.inner.actors.wait()) => {
                if ended.is_ok() {
                    return;
                }
                tracing::warn!("some agents did not stop gracefully within {} s; killing them", grace_periods::BRIDGE.as_secs());
            }
            () = self.has_only_words_left() => {
                tracing::warn!("the bus did not record how the agents ended; other bridges will \
                    find them dead");
            }
            () = hurry => {}
        }
        self.inner.hurry.cancel();
        if tokio::time::timeout(grace_periods::BRIDGE_FORCED, self.inner.actors.wait())
            .await
            .is_err()
        {
            tracing::warn!(
                "some agents could not be stopped within {} s",
                grace_periods::BRIDGE_FORCED.as_secs()
            );
        }
    }

    /// Returns when no process of any agent is left, and the bus has had its time to take that.
    async fn has_only_words_left(&self) {
        self.inner.ends.all_gone().await;
        tokio::time::sleep(grace_periods::LAST_APPEND).await;
    }

    /// Ends all agents of this bridge by signals, without a word to the bus: it is not there any more.
    pub fn end_at_once(&self) {
        self.inner.hurry.cancel();
    }

    /// Waits until something holds on the bus; returns whether it came to hold within the limit.
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

    /// Notes that the user is told of a profile; returns whether this is the first time.
    pub(super) fn tell_once(&self, profile: &Name) -> bool {
        let mut told = lock(&self.inner.told);
        told.insert(profile.clone())
    }
}

impl TeamError {
    /// Returns the sentence for a model: without any path of the bus.
    pub fn told(&self) -> String {
        match self {
            Self::Bus(error) => error.told(),
            other => other.to_string(),
        }
    }
}

impl From<Refusal> for TeamError {
    fn from(refusal: Refusal) -> Self {
        Self::Bus(refusal.into())
    }
}
