//! Work for a new agent on another host: asked of that host's bridge on the bus, which starts the agent or says why not.

use super::find_host::{Bridge, Hosts};
use super::unwithdrawn::Asked;
use crate::bus::event::Event;
use crate::bus::rules::{NewPlacement, NewTask, Operation, PlacementRefusal, Refusal};
use crate::bus::{Bus, BusError};
use crate::domain::ids::TaskId;
use crate::domain::limits;
use crate::domain::name::Name;
use crate::domain::text::visible_letters::quoted;
use crate::domain::wait_times;
use crate::team::assign::assign_task::{Assigned, Assignment};
use crate::team::error::{HostError, TeamError};
use crate::team::team_handle::Team;

/// What has become of a task that another host was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placing {
    /// The host has neither started its agent nor refused.
    Waits,
    /// Its agent is started: it is a task like any other.
    TakenUp,
    /// Nothing was started, and nothing will be.
    Over(HostError),
}

impl Team {
    /// Returns the hosts of the team.
    pub fn hosts(&self) -> Hosts {
        let own = self.bus().host();
        self.bus().look(|state| Hosts::of(state, own))
    }

    /// Has a new agent started on another host. Once asked, this goes on also if the caller gives up.
    pub(in crate::team::assign) async fn assign_on_host(
        &self,
        bridge: &Bridge,
        assignment: Assignment,
    ) -> Result<Assigned, TeamError> {
        let asked = Asked::of(&format!("{:?} {assignment:?}", bridge.session));
        let id = match self.inner.unwithdrawn.take(asked) {
            Some(id) => id,
            None => self.place(bridge, assignment).await?,
        };
        let (bridge, team) = (bridge.name.clone(), self.clone());
        let taken_up = tokio::spawn(async move { team.until_taken_up(id, bridge, asked).await });
        taken_up.await.unwrap_or(Err(TeamError::Bus(BusError::Closed)))
    }

    /// Asks another host for a new agent, and returns the id that its task will have.
    pub async fn place(
        &self,
        bridge: &Bridge,
        assignment: Assignment,
    ) -> Result<TaskId, TeamError> {
        let profile = Name::parse(&assignment.agent)?;
        let name = assignment.name.as_deref().map(Name::parse).transpose()?;
        let task = NewTask {
            model: assignment.model,
            permissions: assignment.permissions,
            priority: assignment.priority,
            step: assignment.step,
            ..NewTask::of(Bus::body(assignment.prompt))
        };
        let new = NewPlacement { with: bridge.session, profile, name, cwd: assignment.cwd, task };
        let receipt = self.inner.membership.ask(Operation::Place(Box::new(new))).await?;
        let id = receipt.events.iter().find_map(|event| match event {
            Event::TaskPlaced(placed) => Some(placed.id.clone()),
            _ => None,
        });
        Ok(id.ok_or(BusError::Closed)?)
    }

    /// Looks what has become of a task that a host was asked for.
    pub fn placing(&self, id: &TaskId, bridge: &Name) -> Placing {
        self.bus().look(|state| {
            if state.placement(id).is_some() {
                return Placing::Waits;
            }
            if state.task(id).is_some() {
                return Placing::TakenUp;
            }
            let bridge = bridge.clone();
            Placing::Over(match state.why_not_placed(id) {
                // The words of another bridge.
                Some(why) => HostError::Refused { bridge, why: quoted(why, limits::ERROR_CHARS) },
                None => HostError::Gone { bridge },
            })
        })
    }

    /// Waits no longer for a host. Returns whether it had not answered until then.
    pub async fn withdraw(&self, id: &TaskId) -> Result<bool, BusError> {
        let why = format!("`{}` no longer waits", self.inner.membership.name());
        match self.inner.membership.ask(Operation::EndPlacement(id.clone(), why)).await {
            Ok(_) => Ok(true),
            // It was taken up or refused just now.
            Err(BusError::Refused(Refusal::Placement(PlacementRefusal::Over { .. }))) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Waits until a host has started the agent for a task, or refused.
    async fn until_taken_up(
        &self,
        id: TaskId,
        bridge: Name,
        asked: Asked,
    ) -> Result<Assigned, TeamError> {
        let is_over = |bus: &Bus| bus.look(|state| state.placement(&id).is_none());
        if !self.until(wait_times::HOST_STARTS, is_over).await {
            match self.withdraw(&id).await {
                Ok(true) => return Err(HostError::Silent { bridge }.into()),
                Ok(false) => {}
                Err(error) => {
                    self.inner.unwithdrawn.keep(asked, id);
                    return Err(error.into());
                }
            }
        }
        if let Placing::Over(error) = self.placing(&id, &bridge) {
            return Err(error.into());
        }
        let agent = self.bus().look(|state| Some(state.task(&id)?.agent.clone()));
        let agent = agent.ok_or(BusError::Closed)?;
        Ok(Assigned { task: id, agent, note: None, is_resumed: false })
    }
}
