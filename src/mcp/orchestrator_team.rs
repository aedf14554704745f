//! The team that an orchestrator's tools act on: one a seat, made when the first tool needs it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::ToolError;
use crate::bus::Seat;
use crate::config::Config;
use crate::team::{Human, Launch, Team, TeamError};
use crate::workflow::Workflows;

/// Makes the team of a seat, and keeps it. Cheap to clone.
#[derive(Clone)]
pub struct Leading {
    shared: Arc<Inner>,
}

struct Inner {
    config: Config,
    launch: Launch,
    human: Human,
    /// The team of the present seat last, with its workflows; before it those of seats on buses that were removed.
    teams: Mutex<Vec<Workflows>>,
}

impl Leading {
    /// Makes a leading without a team, which is made from these.
    pub fn new(config: Config, launch: Launch) -> Self {
        Self {
            shared: Arc::new(Inner {
                config,
                launch,
                human: Human::default(),
                teams: Mutex::default(),
            }),
        }
    }

    /// Returns the team of a seat.
    ///
    /// The agents of an earlier seat can reach nobody any more, because their bus was removed: they are told to end.
    pub fn team(&self, seat: &Seat) -> Team {
        self.workflows(seat).team().clone()
    }

    /// Returns the workflows of a seat's team, as that goes.
    pub fn workflows(&self, seat: &Seat) -> Workflows {
        let mut teams = self.teams();
        match teams.last() {
            Some(present) if present.team().seat().session() == seat.session() => {
                return present.clone();
            }
            Some(stale) => stale.end_at_once(),
            None => {}
        }
        let team = Team::new(
            seat.clone(),
            self.shared.config.clone(),
            self.shared.launch.clone(),
            self.shared.human.clone(),
        );
        let workflows = Workflows::new(team);
        teams.push(workflows.clone());
        workflows
    }

    /// Names the project, and where agents work in it if that is another worktree.
    pub(crate) fn told_project(&self) -> String {
        let Launch { project, ground, .. } = &self.shared.launch;
        let told = format!("The project is {}", project.display());
        if ground == project {
            return told + ".";
        }
        format!("{told}; agents work in {} by default.", ground.display())
    }

    /// Returns whether the client's user can be asked, to be noted when that is known.
    pub(crate) fn human(&self) -> &Human {
        &self.shared.human
    }

    /// Ends all agents in good order; at once when `hurry` resolves.
    pub async fn shutdown(&self, hurry: impl Future<Output = ()>) {
        let mut teams = std::mem::take(&mut *self.teams());
        let Some(present) = teams.pop() else { return };
        // First, so that the ends of agents do not look like failures of steps.
        present.stop().await;
        present.team().shutdown(hurry).await;
        for stale in teams {
            stale.team().shutdown(std::future::ready(())).await;
        }
    }

    fn teams(&self) -> MutexGuard<'_, Vec<Workflows>> {
        // Every change is a single push or take.
        self.shared.teams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<TeamError> for ToolError {
    fn from(error: TeamError) -> Self {
        match error {
            TeamError::Bus(error) => Self::Bus(error),
            TeamError::Unagreed(consent) => Self::Unagreed(consent),
            TeamError::Silent { .. } | TeamError::UnreadableYes { .. } => {
                Self::Unavailable(error.to_string())
            }
            other => Self::Arguments(other.told()),
        }
    }
}
