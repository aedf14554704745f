//! A project's bus, opened for the person at the terminal.

use std::path::Path;
use std::time::{Duration, Instant};

use super::explain_refusal::explained;
use crate::bus::rules::{HumanWish, Operation};
use crate::bus::state::{BodyRef, State};
use crate::bus::{Bus, Receipt};
use crate::cli::commands::look::{needs_team, open_project};
use crate::cli::{Failure, below_agent, hidden_agents, open_bus};
use crate::domain::ids::SessionId;
use crate::domain::wait_times;

/// What an agent cannot do.
const ACT: &str = "act as its user";

/// Whether an act waits for what comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    Waits,
    /// It returns as soon as the wish is on the bus.
    None,
}

/// A project's bus, opened for the person at the terminal.
pub(crate) struct Steering {
    bus: Bus,
}

impl Steering {
    /// Opens the bus of a project, and records who has died meanwhile. Refuses below an agent, and where there is no bus that can be
    /// used.
    pub(crate) async fn open(project: Option<&Path>) -> Result<Self, Failure> {
        Self::refuse_agents()?;
        let looked = open_project(project, None)?;
        if looked.bus.is_none() {
            return Err(needs_team(&looked.root));
        }
        let bus = open_bus::open_bus_in_use(&looked.directory)?;
        let bus = bus.ok_or_else(|| needs_team(&looked.root))?;
        bus.reap_dead_sessions().await?;
        Ok(Self { bus })
    }

    /// Refuses below an agent, or where one may hide.
    pub(crate) fn refuse_agents() -> Result<(), Failure> {
        below_agent::refuse_to(ACT)?;
        match open_bus::agent_out_of_sight()? {
            Some(agent) => Err(hidden_agents::hides(&agent, ACT).into()),
            None => Ok(()),
        }
    }

    /// Returns the bus itself, for members that join it.
    pub(super) fn into_bus(self) -> Bus {
        self.bus
    }

    /// Ends the use of the bus.
    pub(crate) async fn close(self) {
        self.bus.close().await;
    }

    /// Puts a wish on the bus.
    pub(super) async fn wish(&self, wish: HumanWish) -> Result<Receipt, Failure> {
        let asked = self.bus.submit(None, Vec::new(), Operation::ByHuman(wish)).await;
        asked.map_err(|error| self.look(|state| explained(error, state)))
    }

    /// Reads a text of the bus.
    pub(super) fn text(&self, body: BodyRef) -> Result<String, Failure> {
        Ok(self.bus.text(body)?)
    }

    /// Looks at the state.
    pub(super) fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        self.bus.look(look)
    }

    /// Looks at the state until something is found there, for so long at most.
    pub(super) async fn until<T>(
        &self,
        limit: Duration,
        mut find: impl FnMut(&State) -> Option<T>,
    ) -> Result<Option<T>, Failure> {
        let begun = Instant::now();
        loop {
            // It is no session, so nothing wakes it.
            self.bus.refresh()?;
            if let Some(found) = self.bus.look(&mut find) {
                return Ok(Some(found));
            }
            if begun.elapsed() >= limit {
                return Ok(None);
            }
            tokio::time::sleep(wait_times::POLL).await;
        }
    }

    /// Says whether the process of a session still runs.
    pub(super) fn is_held(&self, session: SessionId) -> bool {
        self.bus.is_held(session)
    }
}
