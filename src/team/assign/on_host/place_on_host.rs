//! Work for a new agent on another host: asked of that host's bridge on the bus, which starts the agent or says why not.

use super::find_host::{Where, find_host};
use crate::bus::event::Event;
use crate::bus::rules::{NewPlacement, NewTask, Operation, PlacementRefusal, Refusal};
use crate::bus::{Bus, BusError};
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::limits;
use crate::domain::name::Name;
use crate::domain::text::visible_letters::quoted;
use crate::domain::wait_times;
use crate::team::assign::assign_task::{Assigned, Assignment};
use crate::team::error::{HostError, TeamError};
use crate::team::team_handle::Team;

impl Team {
    /// Finds the host that an assignment means.
    pub(in crate::team::assign) fn where_is(
        &self,
        host: &str,
        assignment: &Assignment,
    ) -> Result<Where, HostError> {
        let own = self.bus().host();
        self.bus().look(|state| find_host(state, own.as_ref(), (host, &assignment.agent)))
    }

    /// Has a new agent started on another host. Once asked, this goes on also if the caller gives up.
    pub(in crate::team::assign) async fn assign_on_host(
        &self,
        (with, bridge): (SessionId, Name),
        assignment: Assignment,
    ) -> Result<Assigned, TeamError> {
        let profile = Name::parse(&assignment.agent)?;
        let name = assignment.name.as_deref().map(Name::parse).transpose()?;
        let task = NewTask {
            model: assignment.model,
            permissions: assignment.permissions,
            priority: assignment.priority,
            ..NewTask::of(Bus::body(assignment.prompt))
        };
        let new = NewPlacement { with, profile, name, cwd: assignment.cwd, task };
        let receipt = self.inner.membership.ask(Operation::Place(Box::new(new))).await?;
        let id = receipt.events.iter().find_map(|event| match event {
            Event::TaskPlaced(placed) => Some(placed.id.clone()),
            _ => None,
        });
        let (id, team) = (id.ok_or(BusError::Closed)?, self.clone());
        let taken_up = tokio::spawn(async move { team.until_taken_up(id, bridge).await });
        taken_up.await.unwrap_or(Err(TeamError::Bus(BusError::Closed)))
    }

    /// Waits until a host has started the agent for a task, or refused.
    async fn until_taken_up(&self, id: TaskId, bridge: Name) -> Result<Assigned, TeamError> {
        let is_over = |bus: &Bus| bus.look(|state| state.placement(&id).is_none());
        if !self.until(wait_times::HOST_STARTS, is_over).await {
            let why = format!("`{}` no longer waits", self.inner.membership.name());
            let end = Operation::EndPlacement(id.clone(), why);
            match self.inner.membership.ask(end).await {
                Ok(_) => return Err(HostError::Silent { bridge }.into()),
                // It was taken up or refused just now.
                Err(BusError::Refused(Refusal::Placement(PlacementRefusal::Over { .. }))) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.bus().look(|state| {
            if let Some(task) = state.task(&id) {
                let (task, agent) = (task.id.clone(), task.agent.clone());
                return Ok(Assigned { task, agent, note: None, is_resumed: false });
            }
            Err(match state.why_not_placed(&id) {
                // The words of another bridge.
                Some(why) => HostError::Refused { bridge, why: quoted(why, limits::ERROR_CHARS) },
                None => HostError::Gone { bridge },
            }
            .into())
        })
    }
}
