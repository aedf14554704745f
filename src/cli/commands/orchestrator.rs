//! `orchestrator`: everybody's tools and those that lead a team, for Claude Code or any other MCP client.
//!
//! When the client closes stdin, or on SIGTERM, SIGINT or SIGHUP, all agents that it started are ended in good order, within
//! 30 s; a second signal makes that 2 s. Then the session leaves the bus. The log stays.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio_util::task::AbortOnDropHandle;

use super::{trust, watch};
use crate::bus::rules::{NameChoice, Operation};
use crate::bus::{Joining, Membership};
use crate::cli::open_bus::Outside;
use crate::cli::{Failure, below_agent, find_project, open_bus, serve_mcp};
use crate::config::{Config, Load};
use crate::domain::env_vars;
use crate::domain::limits::TeamLimits;
use crate::domain::member::MemberKind;
use crate::domain::name::Name;
use crate::mcp::tools::orchestrator_tools::{self, OrchestratorTeam};
use crate::mcp::{LazyMembership, ToolError};
use crate::supervisor;
use crate::team::Launch;

/// What an orchestrator is called that has no name of its own.
const NAME: &str = "orchestrator";

/// How often it is looked whether there is a membership, or another one: that is no hurry.
const LOOK_FOR_SEAT: Duration = Duration::from_secs(10);

/// Who leads.
#[derive(Clone, Debug, Args)]
pub(crate) struct OrchestratorArguments {
    /// The project directory [default: found from the current directory].
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// The name of this session in the team [default: orchestrator, then orchestrator-2 …].
    #[arg(long)]
    name: Option<Name>,
    /// An extra configuration file that overrides all others.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Use a bus that was not created here, instead of setting it aside and starting a new one (also: `BRIDGE_ADOPT=1`).
    #[arg(long)]
    adopt: bool,
}

pub(crate) fn run(arguments: OrchestratorArguments) -> Result<(), Failure> {
    if below_agent::is_below_an_agent() {
        return below_agent::serve("lead a team");
    }
    let project = find_project::find(arguments.project.as_deref())?;
    let directory = project.bus_directory();
    let config = load(&project.root, arguments.config.as_deref())?;
    tell_what_does_not_count(&config);
    let foreign = open_bus::foreign(arguments.adopt);
    let outside = Outside::new(directory.clone(), open_bus::networks(&config), foreign);
    let launch = Launch {
        own_binary: std::env::current_exe()?,
        environment: std::env::vars_os().collect(),
        project: project.root,
        ground: project.ground,
        bus_dir: directory,
        trust: trust::store(),
    };
    if let Err(error) = supervisor::adopt_orphans(env_vars::RUN) {
        // The shims end their agents all the same; only a shim that is killed itself then leaves something.
        tracing::debug!("this process cannot adopt orphans of its agents: {error}");
    }
    let wish = match arguments.name {
        Some(name) => NameChoice::Chosen(name),
        None => NameChoice::Like(Name::parse(NAME)?),
    };
    let place = JoinTarget::of(outside, &config, wish, Vec::new());
    let watch = watch::command(&launch.project);
    let leading = OrchestratorTeam::new(config, launch);
    serve_mcp::run_team(async move || lead(place, leading, &watch).await)
}

/// Where and as whom to join, and what is to hold there.
#[derive(Clone)]
pub(crate) struct JoinTarget {
    outside: Outside,
    limits: TeamLimits,
    joining: Joining,
}

impl JoinTarget {
    /// Makes the place of an orchestrator on a bus.
    pub(crate) fn of(
        outside: Outside,
        config: &Config,
        wish: NameChoice,
        roles: Vec<String>,
    ) -> Self {
        Self {
            limits: config.limits().team(),
            outside,
            joining: Joining { wish, kind: MemberKind::Orchestrator, roles },
        }
    }
}

async fn lead(place: JoinTarget, leading: OrchestratorTeam, watch: &str) -> Result<(), Failure> {
    let place = Arc::new(place);
    let directory = place.outside.directory().to_owned();
    let membership = LazyMembership::new(move || take(place.clone()));
    let server = orchestrator_tools::server_with_doorbell(membership.clone(), &leading, watch);
    let keeping = AbortOnDropHandle::new(tokio::spawn(keep(membership.clone(), leading.clone())));
    let clearing = AbortOnDropHandle::new(tokio::spawn(clear_up(membership.clone(), directory)));
    let mut shutdown = serve_mcp::until_the_end(&server).await?;
    drop((keeping, clearing));
    let hurry = async {
        let signal = shutdown.recv().await;
        tracing::warn!("{signal} again: killing all agents");
    };
    leading.shutdown(hurry).await;
    serve_mcp::leave(&membership).await;
    Ok(())
}

/// Once it has joined, clears up what the user's state directory remembers of places that are long gone.
async fn clear_up(membership: LazyMembership, directory: PathBuf) {
    if membership.membership().await.is_ok() {
        // A place on a disk that hangs holds up this thread alone, and the end waits for it no longer than for any other.
        let cleared = tokio::task::spawn_blocking(move || open_bus::keep_counterparts(&directory));
        if let Err(error) = cleared.await {
            tracing::debug!("failed to clean up the state directory: {error}");
        }
    }
}

/// Keeps in order what dead bridges leave, from the start on; after a bus was removed, on the one that is there then.
async fn keep(membership: LazyMembership, leading: OrchestratorTeam) {
    loop {
        if let Ok(held) = membership.membership().await {
            let workflows = leading.workflows(&held);
            let replaced = async {
                while membership.current().is_some_and(|now| now.session() == held.session()) {
                    tokio::time::sleep(LOOK_FOR_SEAT).await;
                }
            };
            tokio::select! {
                () = workflows.team().keep_swept() => {}
                () = workflows.keep_resumed() => {}
                () = replaced => {}
            }
        }
        tokio::time::sleep(LOOK_FOR_SEAT).await;
    }
}

pub(crate) async fn take(place: Arc<JoinTarget>) -> Result<Membership, ToolError> {
    let bus = open_bus::open_bus_aside(place.outside.clone()).await?;
    let membership = bus.join(place.joining.clone()).await?;
    membership.ask(Operation::Limit(place.limits)).await?;
    Ok(membership)
}

pub(crate) fn load(
    project: &std::path::Path,
    explicit: Option<&std::path::Path>,
) -> Result<Config, Failure> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let config_home = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let mut config = Config::load(Load {
        project,
        home: home.as_deref(),
        config_home: config_home.as_deref(),
        explicit,
    })?;
    trust::store().settle(&mut config);
    Ok(config)
}

/// Tells people what of the project's own file does not count.
pub(crate) fn tell_what_does_not_count(config: &Config) {
    if config.unagreed().is_some() {
        tracing::warn!(
            "the project's own bridge.toml would run programs or raise limits. Those settings are \
             ignored until you review and approve the file with `cli-team-bridge trust`"
        );
    }
    if config.leaves_out_auto_resume() {
        tracing::warn!(
            "`resume = \"auto\"` is ignored in a project's own bridge.toml. Set it in your own \
             config.toml, or name the file with --config"
        );
    }
}
