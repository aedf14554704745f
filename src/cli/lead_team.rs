//! The common parts of commands that lead a team: joining the bus, and launching agents.

use std::sync::Arc;

use super::find_project::Project;
use super::open_bus::{self, Outside};
use super::{Failure, load_config};
use crate::bus::rules::{Description, NameChoice, Operation};
use crate::bus::{BusError, Joining, Membership};
use crate::config::Config;
use crate::courier::KnownProjects;
use crate::domain::env_vars;
use crate::domain::limits::TeamLimits;
use crate::domain::member::{Label, MemberKind};
use crate::supervisor;
use crate::team::Launch;

/// The bus that an orchestrator joins, its name there, and its limits for the team.
#[derive(Clone)]
pub(crate) struct JoinTarget {
    pub(crate) outside: Outside,
    limits: TeamLimits,
    joining: Joining,
}

impl JoinTarget {
    /// Describes how an orchestrator joins a bus.
    pub(crate) fn of(
        outside: Outside,
        config: &Config,
        choice: NameChoice,
        roles: Vec<String>,
    ) -> Self {
        Self {
            limits: config.limits().team(),
            outside,
            joining: Joining {
                choice,
                kind: MemberKind::Orchestrator,
                roles,
                description: Description {
                    arbiter: Some(config.arbiter().clone()),
                    ..Description::default()
                },
            },
        }
    }

    /// Names the program in which the orchestrator's model works.
    pub(crate) fn on_surface(mut self, surface: Option<Label>) -> Self {
        self.joining.description.traits.surface = surface;
        self
    }

    /// Says which projects its members can write to.
    pub(crate) fn with_projects(mut self, projects: &KnownProjects) -> Self {
        self.joining.description.projects = Some(projects.listed());
        self
    }

    /// Makes it lead from its joining on.
    pub(crate) fn taking_lead(mut self) -> Self {
        self.joining.description.takes_lead = true;
        self
    }
}

/// Opens the bus, joins it and sets the limits of the team.
pub(crate) async fn join(target: Arc<JoinTarget>) -> Result<Membership, BusError> {
    let bus = open_bus::open_bus_aside(target.outside.clone()).await?;
    let membership = bus.join(target.joining.clone()).await?;
    membership.ask(Operation::Limit(target.limits)).await?;
    Ok(membership)
}

/// Returns what the agents in a project are launched with.
pub(crate) fn launch_in(project: Project) -> Result<Launch, Failure> {
    Ok(Launch {
        own_binary: std::env::current_exe()?,
        environment: std::env::vars_os().collect(),
        former: open_bus::former_projects(&project.bus_directory()),
        bus_dir: project.bus_directory(),
        project: project.root,
        ground: project.ground,
        trust: load_config::trust_store(),
    })
}

/// Makes this process the parent of its agents' orphans, so that it can kill them if their shims are killed.
pub(crate) fn adopt_orphans() {
    if let Err(error) = supervisor::adopt_orphans(env_vars::RUN) {
        // The shims still end their agents. Only a shim that is killed itself then leaves processes behind.
        tracing::debug!("this process cannot adopt orphans of its agents: {error}");
    }
}
