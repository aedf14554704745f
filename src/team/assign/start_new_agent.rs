//! Starts a new agent: first on the bus, with its first task if it has one, before any process exists; then its actor.

use std::path::PathBuf;

use crate::acp::AcpSessionId;
use crate::bus::BusError;
use crate::bus::api::membership::token_hash;
use crate::bus::event::Starting;
use crate::bus::rules::{NameChoice, NewAgent, NewTask, Operation};
use crate::bus::storage::LogError;
use crate::config::Profile;
use crate::domain::ids::SessionId;
use crate::domain::name::Name;
use crate::sys::random_ids;
use crate::team::agent::context::AgentContext;
use crate::team::error::TeamError;
use crate::team::launch::NewAgentIdentity;
use crate::team::team_handle::Team;

/// How often the announcement of an agent is written, as long as its outcome is unknown.
const ANNOUNCEMENTS: usize = 5;

/// The directories in which an agent works.
pub(super) struct Ground {
    pub(super) cwd: PathBuf,
    /// See [`NewAgentIdentity::root`].
    pub(super) root: PathBuf,
}

/// An agent that is to be started.
pub(super) struct Newcomer {
    pub(super) profile: Profile,
    pub(super) program: PathBuf,
    /// The name for the agent.
    pub(super) choice: NameChoice,
    pub(super) model: Option<String>,
    pub(super) ground: Ground,
    /// The conversation to resume.
    pub(super) earlier: Option<AcpSessionId>,
    /// Whether it is only tried out.
    pub(super) is_on_trial: bool,
}

/// An agent that is being started.
pub(super) struct Started {
    pub(super) session: SessionId,
    pub(super) name: Name,
}

impl Team {
    /// Starts an agent, with its first task if there is one. Once begun, this goes on also if the caller gives up: an agent in the log must
    /// also be started.
    pub(super) async fn start_new(
        &self,
        new: Newcomer,
        task: Option<NewTask>,
    ) -> Result<Started, TeamError> {
        let team = self.clone();
        let starting = tokio::spawn(async move { team.start_newcomer(new, task).await });
        starting.await.unwrap_or(Err(TeamError::Bus(BusError::Closed)))
    }

    async fn start_newcomer(
        &self,
        new: Newcomer,
        task: Option<NewTask>,
    ) -> Result<Started, TeamError> {
        let Newcomer { profile, program, choice, model, ground, earlier, is_on_trial } = new;
        let needs = self.files_of(&profile.name);
        let (session, token) = (random_ids::session(), random_ids::token());
        let starting = Starting {
            session,
            name: profile.name.clone(),
            chosen: matches!(choice, NameChoice::Chosen(_)),
            profile: profile.name.to_string(),
            model,
            cwd: ground.cwd.to_string_lossy().into_owned(),
            roles: profile.roles.value.clone(),
            owner: self.inner.membership.session(),
            token_hash: token_hash(&token),
        };
        self.bus().hold(session)?;
        let host = self.bus().host();
        let new = NewAgent { choice, starting, traits: profile.traits(), host };
        let operation = Operation::Start(Box::new(new), task);
        if let Err(error) = self.announce(operation).await {
            self.bus().release(session);
            return Err(error.into());
        }
        let name = self.bus().look(|state| Some(state.session(session)?.name.clone()));
        let name = name.ok_or(BusError::Closed)?;
        let Ground { cwd, root } = ground;
        let identity = NewAgentIdentity { session, name: name.clone(), token, cwd, root, needs };
        let secrets = self.inner.launch.secrets(&profile, &identity.token);
        let limits = self.inner.config.limits();
        let context = AgentContext {
            membership: self.inner.membership.clone(),
            launch: self.inner.launch.clone(),
            profile,
            program,
            identity,
            is_on_trial,
            secrets,
            force_stop: self.force_stop(),
            closing: self.inner.closing.clone(),
            user: self.inner.user.clone(),
            stall: limits.stall(),
            output_per_second: limits.output_per_second(),
            offers: self.inner.offers.clone(),
            printed: self.inner.printed.clone(),
            doing: self.inner.doing.clone(),
        };
        self.start(context, earlier);
        Ok(Started { session, name })
    }

    /// Announces on the bus that an agent is about to start. Writes this again as long as the outcome is unknown, because an agent in
    /// the log must also be started. It takes effect once.
    async fn announce(&self, operation: Operation) -> Result<(), BusError> {
        let id = random_ids::command();
        let (mut more, mut may_be_written) = (1..ANNOUNCEMENTS, false);
        loop {
            let outcome = self.inner.membership.ask_again(id, operation.clone()).await;
            match &outcome {
                Err(BusError::Log(LogError::OutcomeUnknown { .. })) => may_be_written = true,
                Err(BusError::Log(LogError::Away { .. })) if may_be_written => {}
                _ => return outcome.map(drop),
            }
            if more.next().is_none() {
                return outcome.map(drop);
            }
        }
    }
}
