//! Work for a new agent on another host: asked of that host's bridge on the bus, which starts the agent or says why not.

use super::assign_task::{Assigned, Assignment};
use crate::bus::event::Event;
use crate::bus::rules::{NewPlacement, NewTask, Operation, PlacementRefusal, Refusal};
use crate::bus::state::{Session, State};
use crate::bus::{Bus, BusError};
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::limits;
use crate::domain::member::HOST_NAME_BYTES;
use crate::domain::name::Name;
use crate::domain::text::listed::listed;
use crate::domain::text::redact::Secrets;
use crate::domain::text::visible_letters::quoted;
use crate::domain::wait_times;
use crate::team::error::{HostError, TeamError};
use crate::team::team_handle::Team;

impl Team {
    /// Says whether a word names the machine of this bridge.
    pub(super) fn is_own_machine(&self, host: &str) -> bool {
        self.bus().host().is_some_and(|own| own.is_called(host))
    }

    /// Has a new agent started on another host. Once asked, this goes on also if the caller gives up.
    pub(super) async fn assign_on_host(
        &self,
        host: &str,
        assignment: Assignment,
    ) -> Result<Assigned, TeamError> {
        let (with, bridge) = self.bus().look(|state| bridge_of(state, host))?;
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

/// Finds the bridge that starts agents on a host, by the name of the machine or by its own.
fn bridge_of(state: &State, host: &str) -> Result<(SessionId, Name), TeamError> {
    let is_meant = |session: &Session| {
        let machine = state.host_of(session.id);
        session.name.as_str().eq_ignore_ascii_case(host)
            || machine.is_some_and(|machine| machine.is_called(host))
    };
    let found = state.offers().find(|(session, _)| is_meant(session));
    if let Some((session, _)) = found {
        return Ok((session.id, session.name.clone()));
    }
    let known = state.offers().map(|(session, offer)| {
        let machine = state.host_of(session.id).map(|machine| machine.name.as_str());
        let word = quoted(machine.unwrap_or(session.name.as_str()), HOST_NAME_BYTES);
        let profiles: Vec<_> = offer.profiles.iter().map(Name::as_str).collect();
        format!("{word} ({})", listed(&profiles, "and"))
    });
    let host = Secrets::default().hidden(host).clipped(limits::SHOWN_NAME_CHARS);
    Err(HostError::Unknown { host, known: known.collect() }.into())
}
