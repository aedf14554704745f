//! `peer`: the endpoint's tools for a session that no bridge started.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use clap::Args;
use tokio_util::task::AbortOnDropHandle;

use crate::bus::rules::{Description, NameChoice};
use crate::bus::storage::file::Networks;
use crate::bus::{Joining, Membership};
use crate::cli::commands::keep_courier::{known_projects, take_across};
use crate::cli::commands::own_labels::LabelArguments;
use crate::cli::commands::own_surface::SurfaceArguments;
use crate::cli::find_project::ProjectError;
use crate::cli::load_config::ServerConfig;
use crate::cli::open_bus::Outside;
use crate::cli::{
    Failure, below_agent, failure, find_project, load_config, open_bus, serve_endpoint, serve_mcp,
    signal_policy,
};
use crate::config::Config;
use crate::courier::KnownProjects;
use crate::domain::member::{Label, MemberKind};
use crate::domain::name::Name;
use crate::mcp::tools::endpoint_tools;
use crate::mcp::{LazyMembership, ToolError};

/// Which team to join, and under which name.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge peer                   as the command of an MCP server
  cli-team-bridge peer --name reviewer   the same, under this name")]
pub(crate) struct PeerArguments {
    /// The name of this session in the team [default: a free word of `[names] pool` in the configuration].
    #[arg(long)]
    pub(crate) name: Option<Name>,
    #[command(flatten)]
    pub(crate) labels: LabelArguments,
    #[command(flatten)]
    pub(crate) surface: SurfaceArguments,
    /// The project directory [default: found from the current directory].
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Use a bus that was not created here, instead of setting it aside and starting a new one (also: `BRIDGE_ADOPT=1`).
    #[arg(long)]
    pub(crate) adopt: bool,
}

pub(crate) fn run(arguments: PeerArguments) -> Result<(), Failure> {
    // Under a second name the agent would receive that member's messages, and answer its own requests.
    if below_agent::is_below_an_agent() {
        return serve_endpoint::serve_instead_of("join under another name");
    }
    arguments.labels.check()?;
    let project = match find_project::find(arguments.project.as_deref()) {
        Ok(project) => project,
        // A person reads the error; a client would only show that the server has failed.
        Err(error @ ProjectError::TooWide { .. })
            if !serve_mcp::is_started_by_person() && !arguments.adopt =>
        {
            return serve_nowhere(&error);
        }
        Err(error) => return Err(error.into()),
    };
    let files = ServerConfig { project: project.root.clone(), explicit: None };
    let surface = arguments.surface.clone().find();
    let (bus, pushing) = (project.bus_directory(), surface.pushing);
    let place = PeerPlace {
        project: project.root.clone(),
        bus,
        arguments,
        surface: surface.name,
        found: OnceLock::new(),
        projects: OnceLock::new(),
    };
    let place = Arc::new(place);
    match load_config::load(&project.root, None) {
        Ok(config) => drop(place.find(Some(&config))?),
        Err(error) if place.arguments.name.is_some() => {
            tracing::warn!("ignored the configuration: {error}");
            drop(place.find(None)?);
        }
        Err(error) => {
            tracing::error!("this session has no name until the configuration is valid: {error}");
        }
    }
    serve_mcp::greet_person();
    serve_mcp::run(async move || {
        signal_policy::obey(async move |mut stop| {
            let known = place.clone();
            let membership = LazyMembership::new(move || join(place.clone(), files.clone()));
            let carrying = take_across(membership.clone(), move || known.projects.get().cloned());
            let carrying = AbortOnDropHandle::new(tokio::spawn(carrying));
            let joining = AbortOnDropHandle::new(tokio::spawn(membership.clone().keep_joined()));
            let server = endpoint_tools::server_of_peer(membership.clone(), &project.root, pushing);
            serve_mcp::until_the_end(&server, &mut stop).await;
            drop((carrying, joining));
            serve_mcp::leave(&membership).await;
            Ok(())
        })
        .await
    })
}

/// Serves where no project can be: each tool says so.
fn serve_nowhere(error: &ProjectError) -> Result<(), Failure> {
    tracing::error!("no tool works: {error}");
    let why = load_config::explain_no_project(error);
    serve_mcp::run(async move || {
        signal_policy::obey(async move |mut stop| {
            let membership = LazyMembership::new(move || {
                let why = why.clone();
                async move { Err(ToolError::Unavailable(why)) }
            });
            let server = endpoint_tools::server(membership);
            serve_mcp::until_the_end(&server, &mut stop).await;
            Ok(())
        })
        .await
    })
}

/// Where and as whom the session joins, as soon as that is known.
struct PeerPlace {
    project: PathBuf,
    bus: PathBuf,
    arguments: PeerArguments,
    surface: Option<Label>,
    found: OnceLock<(Outside, Joining)>,
    /// The user's other projects, if the configuration could be read.
    projects: OnceLock<KnownProjects>,
}

impl PeerPlace {
    /// Finds where and as whom the session joins, and keeps that. A peer needs no profiles of the configuration, but the setting of where
    /// the bus may be, the pool of names, who decides disagreements, and how fast members send.
    fn find(&self, config: Option<&Config>) -> Result<(Outside, Joining), Failure> {
        let (networks, pool) = match config {
            Some(config) => (open_bus::networks(config), config.pool()),
            None => (Networks::Refused, [].as_slice()),
        };
        let mut joining = self.joining(pool)?;
        if let Some(config) = config {
            joining.description.arbiter = Some(config.arbiter().clone());
            joining.description.limits = Some(config.limits().team());
            let projects = known_projects(config, &self.project);
            joining.description.projects = Some(projects.listed());
            self.projects.get_or_init(|| projects);
        }
        let foreign = open_bus::foreign(self.arguments.adopt);
        let mut outside = Outside::new(self.bus.clone(), networks, foreign);
        if let Some(config) = config {
            outside = outside.with_bus_of_new(config.bus_of_new(), false);
        }
        Ok(self.found.get_or_init(|| (outside, joining)).clone())
    }

    fn joining(&self, pool: &[Name]) -> Result<Joining, Failure> {
        let PeerArguments { name, labels, .. } = self.arguments.clone();
        let surface = self.surface.clone();
        let here = std::env::current_dir().ok();
        let cwd = here.map(|here| here.to_string_lossy().into_owned());
        let choice = match name {
            Some(name) => NameChoice::Chosen(name),
            None if pool.is_empty() => {
                let hint = "name this session with --name, or list names for such sessions as `pool` under \
                    [names] of the configuration";
                return Err(failure::with_hint("this session has no name", hint));
            }
            None => {
                NameChoice::FromPool { pool: pool.to_vec(), cwd: cwd.clone().unwrap_or_default() }
            }
        };
        let roles = labels.roles.iter().map(|role| role.as_str().to_owned()).collect();
        let traits = labels.traits(surface);
        let description = Description { traits, cwd, ..Description::default() };
        Ok(Joining { choice, kind: MemberKind::Peer, roles, description })
    }
}

async fn join(place: Arc<PeerPlace>, files: ServerConfig) -> Result<Membership, ToolError> {
    let (outside, joining) = if let Some(found) = place.found.get() {
        found.clone()
    } else {
        let config = files.load_for_call().await?;
        let found = place.find(Some(&config));
        found.map_err(|failure| ToolError::Unavailable(failure.to_string()))?
    };
    let bus = open_bus::open_bus_aside(outside).await.map_err(open_bus::logged)?;
    bus.join(joining).await.map_err(open_bus::logged)
}
