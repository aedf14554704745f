//! `orchestrator`: everybody's tools and those that lead a team, for Claude Code or any other MCP client.
//!
//! When the client closes stdin, or on SIGTERM, SIGINT or SIGHUP, all agents that it started are ended in good order, within
//! 30 s; a second signal makes that 2 s. Then the session leaves the bus. The log stays.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::{Failure, project, served, store, watch};
use crate::bus::rules::Wish;
use crate::bus::{Joining, Seat};
use crate::config::{Config, Load};
use crate::domain::member::MemberKind;
use crate::domain::name::Name;
use crate::mcp::orchestrator::{self, Leading};
use crate::mcp::{Seating, ToolError};
use crate::supervisor;
use crate::team::{Launch, RUN_MARK};

/// What an orchestrator is called that has no name of its own.
const NAME: &str = "orchestrator";

/// Who leads.
#[derive(Clone, Debug, Args)]
pub(super) struct OrchestratorArguments {
    /// The project that the team works in [default: found from the current directory].
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// The name by which the team knows this session [default: orchestrator, or orchestrator-2 …].
    #[arg(long)]
    name: Option<Name>,
    /// A further configuration file, whose values win.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(super) fn run(arguments: OrchestratorArguments) -> Result<(), Failure> {
    let project = project::find(arguments.project.as_deref())?;
    let directory = project::bus_directory(&project);
    let config = load(&project, arguments.config.as_deref())?;
    let launch = Launch {
        own_binary: std::env::current_exe()?,
        environment: std::env::vars_os().collect(),
        project,
        bus_dir: directory.clone(),
    };
    if let Err(error) = supervisor::adopt_orphans(RUN_MARK) {
        // The shims end their agents all the same; only a shim that is killed itself then leaves something.
        tracing::debug!("orphans of agents do not fall to this process: {error}");
    }
    let wish = match arguments.name {
        Some(name) => Wish::Chosen(name),
        None => Wish::Like(Name::parse(NAME)?),
    };
    let joining = Joining {
        wish,
        kind: MemberKind::Orchestrator,
        roles: Vec::new(),
    };
    let watch = watch::command(&launch.project);
    let leading = Leading::new(config, launch);
    served::run(async move || lead(directory, joining, leading, &watch).await)
}

async fn lead(
    directory: PathBuf,
    joining: Joining,
    leading: Leading,
    watch: &str,
) -> Result<(), Failure> {
    let directory = Arc::new(directory);
    let seating = Seating::new(move || take(directory.clone(), joining.clone()));
    let server = orchestrator::server_with_doorbell(seating.clone(), &leading, watch);
    let mut shutdown = served::until_the_end(&server).await?;
    let hurry = async {
        let signal = shutdown.recv().await;
        tracing::warn!("{signal} again: ending all agents at once");
    };
    leading.shutdown(hurry).await;
    served::leave(&seating).await;
    Ok(())
}

async fn take(directory: Arc<PathBuf>, joining: Joining) -> Result<Seat, ToolError> {
    let bus = store::open_bus_aside((*directory).clone()).await?;
    Ok(Seat::join(&bus, joining).await?)
}

fn load(project: &std::path::Path, explicit: Option<&std::path::Path>) -> Result<Config, Failure> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let config_home = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    Ok(Config::load(Load {
        project,
        home: home.as_deref(),
        config_home: config_home.as_deref(),
        explicit,
    })?)
}
