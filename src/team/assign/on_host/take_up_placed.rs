//! Agents that the bridge of a host starts for others: it looks which tasks were placed on it, and takes each up or refuses it.

use std::time::Duration;

use crate::bus::rules::{NameChoice, NewTask, Operation};
use crate::bus::state::Placement;
use crate::bus::{Bus, BusError};
use crate::domain::ids::TaskId;
use crate::domain::member::{Host, HostOffer};
use crate::domain::name::Name;
use crate::domain::wait_times;
use crate::team::assign::start_new_agent::{Newcomer, Started};
use crate::team::error::{HostError, TeamError};
use crate::team::team_handle::Team;

/// What became of a task that was placed here.
#[derive(Debug)]
pub struct TakenUp {
    pub task: TaskId,
    /// Who has asked for it, and that member's machine.
    pub by: Name,
    pub machine: Option<String>,
    pub profile: Name,
    /// The agent that was started for it.
    pub agent: Result<Name, TeamError>,
}

impl Team {
    /// Offers to start agents for others. It is on the bus when this returns.
    pub async fn offer(&self, offer: HostOffer) -> Result<(), BusError> {
        self.inner.membership.ask(Operation::Offer(offer)).await?;
        Ok(())
    }

    /// Starts the agents for the tasks that are placed here, as long as this member is in the team. Tells what becomes of each task.
    pub async fn serve_others(
        &self,
        offer: &HostOffer,
        tell: impl Fn(TakenUp),
    ) -> Result<(), BusError> {
        let me = self.inner.membership.session();
        let mut changes = self.bus().changes();
        loop {
            self.bus().refresh()?;
            let waiting: Option<Vec<_>> = self.bus().look(|state| {
                state.session(me)?;
                Some(state.placements().filter(|placed| placed.with == me).cloned().collect())
            });
            let Some(waiting) = waiting else { return Ok(()) };
            for placed in waiting {
                if let Some(done) = self.take_up_or_refuse(offer, placed).await {
                    tell(done);
                }
            }
            let does_steps = self.end_agents_of_old_steps().await;
            // What could not be written, because the server is away, is tried again. The end of a workflow wakes no host.
            let waits = self.bus().look(|state| state.placements().any(|placed| placed.with == me));
            let again = match (waits, does_steps) {
                (true, _) => wait_times::TAKE_UP_AGAIN,
                (false, true) => wait_times::LOOK_FOR_OLD_STEPS,
                (false, false) => Duration::MAX,
            };
            if let Ok(Err(_)) = tokio::time::timeout(again, changes.changed()).await {
                return Ok(());
            }
        }
    }

    /// Starts the agent for a task, or says why not. Returns none if neither could be written, or if nobody waits for it any longer.
    async fn take_up_or_refuse(&self, offer: &HostOffer, placed: Placement) -> Option<TakenUp> {
        let machine = self.bus().look(|state| state.host_of(placed.asker).cloned());
        let agent = self.take_up(offer, &placed, machine.as_ref()).await;
        if let Err(error) = &agent {
            let why = error.message_for_model();
            let refusing = Operation::EndPlacement(placed.id.clone(), why);
            if let Err(unwritten) = self.inner.membership.ask(refusing).await {
                tracing::debug!("{} was not refused: {unwritten}", placed.id);
                return None;
            }
        }
        let Placement { id: task, by, profile, .. } = placed;
        let machine = machine.map(|machine| machine.name);
        Some(TakenUp { task, by, machine, profile, agent })
    }

    async fn take_up(
        &self,
        offer: &HostOffer,
        placed: &Placement,
        machine: Option<&Host>,
    ) -> Result<Name, TeamError> {
        // The log is written by others: what holds is what the user of this machine has said.
        if !offer.is_for(machine) || !offer.has(placed.profile.as_str()) {
            return Err(HostError::NotOffered.into());
        }
        let profile = self.inner.config.profile(placed.profile.as_str())?.clone();
        self.agreed([profile.name.as_str()])?;
        let program = self.inner.launch.program(&profile)?;
        let ground = self.cwd(placed.cwd.as_deref())?;
        let choice = match &placed.name {
            Some(name) => NameChoice::Chosen(name.clone()),
            None => NameChoice::Like(profile.name.clone()),
        };
        let prompt = self.bus().text(placed.prompt)?;
        let task = NewTask {
            model: placed.model.clone(),
            permissions: placed.permissions,
            priority: placed.priority,
            placed: Some(placed.id.clone()),
            ..NewTask::of(Bus::body(prompt))
        };
        let model = placed.model.clone();
        let new =
            Newcomer { profile, program, choice, model, ground, earlier: None, is_on_trial: false };
        let Started { name, .. } = self.start_new(new, Some(task)).await?;
        Ok(name)
    }
}
