//! The team of an orchestrator's tools: one per membership, made when the first tool needs it.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use super::ToolError;
use crate::bus::Membership;
use crate::config::Config;
use crate::domain::name::Name;
use crate::domain::text::shown_path::ShownPath as _;
use crate::sys::fs::project::ProjectFiles;
use crate::sys::mutex::lock;
use crate::team::{InstalledProfiles, Launch, Team, TeamError, UserReachable};
use crate::workflow::Workflows;

/// Makes the team of a membership, and keeps it. Cheap to clone.
#[derive(Clone)]
pub struct OrchestratorTeam {
    shared: Arc<Inner>,
}

struct Inner {
    /// Missing as long as the user's files are invalid.
    config: OnceLock<Config>,
    launch: Launch,
    human: UserReachable,
    /// The team of the current membership, with its workflows, is the last one; before it are those of memberships on buses that were
    /// removed.
    teams: Mutex<Vec<Workflows>>,
}

impl OrchestratorTeam {
    /// Makes it without a team; the team is made later with these values.
    pub fn new(config: Config, launch: Launch) -> Self {
        let made = Self::without_config(launch);
        made.configure(config);
        made
    }

    /// Makes it without a configuration, which it gets before the first membership is taken.
    pub fn without_config(launch: Launch) -> Self {
        Self {
            shared: Arc::new(Inner {
                config: OnceLock::new(),
                launch,
                human: UserReachable::default(),
                teams: Mutex::default(),
            }),
        }
    }

    /// Gives it its configuration. The first one stays.
    pub fn configure(&self, config: Config) {
        self.shared.config.get_or_init(|| config);
    }

    /// Returns its configuration, once it has one.
    pub fn config(&self) -> Option<&Config> {
        self.shared.config.get()
    }

    /// Returns the team of a membership.
    ///
    /// Ends the agents of an earlier membership: their bus was removed, so they reach no other member.
    pub fn team(&self, membership: &Membership) -> Team {
        self.workflows(membership).team().clone()
    }

    /// Returns the workflows of a membership's team.
    ///
    /// # Panics
    ///
    /// Panics without a configuration: with none, no membership is taken.
    pub fn workflows(&self, membership: &Membership) -> Workflows {
        let mut teams = self.teams();
        match teams.last() {
            Some(present) if present.team().membership().session() == membership.session() => {
                return present.clone();
            }
            Some(stale) => stale.end_at_once(),
            None => {}
        }
        let config = self.config().expect("no membership is taken without a configuration");
        let team = Team::new(
            membership.clone(),
            config.clone(),
            self.shared.launch.clone(),
            self.shared.human.clone(),
        );
        let workflows = Workflows::new(team);
        teams.push(workflows.clone());
        workflows
    }

    /// Returns the files of its project.
    pub(crate) fn files(&self) -> ProjectFiles {
        ProjectFiles::new(&self.shared.launch.project)
    }

    /// Names the project, and the directory where agents work if that is another worktree.
    pub(crate) fn project_sentence(&self) -> String {
        let Launch { project, ground, .. } = &self.shared.launch;
        let sentence = format!("The project is {}", project.shown());
        if ground == project {
            return sentence + ".";
        }
        format!("{sentence}; agents work in {} by default.", ground.shown())
    }

    /// Looks up which profiles are installed, once there is a configuration.
    pub(crate) fn installed_profiles(&self) -> Option<InstalledProfiles> {
        Some(InstalledProfiles::look(self.config()?, &self.shared.launch))
    }

    /// Says whether agents can be started from a profile of this name.
    pub(crate) fn has_profile(&self, name: &Name) -> bool {
        self.config().is_some_and(|config| config.profile(name.as_str()).is_ok())
    }

    /// Returns the record of whether the client's user can be asked.
    pub(crate) fn human(&self) -> &UserReachable {
        &self.shared.human
    }

    /// Ends all agents gracefully; by force when `force_stop` resolves.
    pub async fn shutdown(&self, force_stop: impl Future<Output = ()>) {
        let mut teams = std::mem::take(&mut *self.teams());
        let Some(present) = teams.pop() else { return };
        present.shutdown(force_stop).await;
        for stale in teams {
            stale.shutdown(std::future::ready(())).await;
        }
    }

    fn teams(&self) -> MutexGuard<'_, Vec<Workflows>> {
        // Every change is a single push or take, so a poisoned list is whole.
        lock(&self.shared.teams)
    }
}

impl From<TeamError> for ToolError {
    fn from(error: TeamError) -> Self {
        match error {
            TeamError::Bus(error) => Self::Bus(error),
            TeamError::Unagreed(consent) => Self::Unagreed(consent),
            TeamError::Silent { .. } | TeamError::UnreadableApproval { .. } => {
                Self::Unavailable(error.to_string())
            }
            other => Self::Arguments(other.message_for_model()),
        }
    }
}
