//! `orchestrator`: the tools of every member and those for leading a team, for Claude Code or any other MCP client.
//!
//! When the client closes stdin, or a signal requests a stop (`cli::signal_policy`), it stops all agents that it started and leaves
//! the bus. The log stays. With `--adopt` it first opens the bus even if stdin has ended at once, so that a person can adopt a bus
//! with `< /dev/null`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use tokio_util::task::AbortOnDropHandle;

use crate::alerts::Alerts;
use crate::bus::rules::NameChoice;
use crate::cli::how_to_watch::watch_command;
use crate::cli::lead_team::{self, JoinTarget};
use crate::cli::open_bus::Outside;
use crate::cli::signal_policy::{self, StopRequests};
use crate::cli::{
    Failure, below_agent, find_project, load_config, open_bus, output, serve_endpoint, serve_mcp,
};
use crate::config::NotifySettings;
use crate::domain::ids::SessionId;
use crate::domain::name::Name;
use crate::domain::text::shown_path::ShownPath as _;
use crate::domain::wait_times;
use crate::mcp::LazyMembership;
use crate::mcp::tools::orchestrator_tools::{self, OrchestratorTeam};

/// The name of an orchestrator without `--name`.
const NAME: &str = "orchestrator";

/// Which team to lead, and under which name.
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
    /// Do not ask the model to run `watch`: a plugin of the client runs it.
    #[arg(long)]
    no_watch: bool,
}

pub(crate) fn run(arguments: OrchestratorArguments) -> Result<(), Failure> {
    if below_agent::is_below_an_agent() {
        return serve_endpoint::serve_instead_of("lead a team");
    }
    let project = find_project::find(arguments.project.as_deref())?;
    let config = load_config::load(&project.root, arguments.config.as_deref())?;
    load_config::warn_of_what_does_not_count(&config);
    let foreign = open_bus::foreign(arguments.adopt);
    let adopts = arguments.adopt;
    let outside = Outside::new(project.bus_directory(), open_bus::networks(&config), foreign);
    let launch = lead_team::launch_in(project)?;
    lead_team::adopt_orphans();
    let choice = match arguments.name {
        Some(name) => NameChoice::Chosen(name),
        None => NameChoice::Like(Name::parse(NAME)?),
    };
    let target = JoinTarget::of(outside, &config, choice, Vec::new());
    let watch = (!arguments.no_watch).then(|| watch_command(&launch.project));
    let notify = Notify { settings: config.notify().clone(), project: launch.project.clone() };
    let team = OrchestratorTeam::new(config, launch);
    serve_mcp::greet_person();
    serve_mcp::run_team(async move || {
        signal_policy::obey(async move |stop| {
            lead(target, team, notify, watch.as_deref(), Ending { adopts, stop }).await
        })
        .await
    })
}

async fn lead(
    target: JoinTarget,
    team: OrchestratorTeam,
    notify: Notify,
    watch: Option<&str>,
    ending: Ending,
) -> Result<(), Failure> {
    let Ending { adopts, mut stop } = ending;
    let target = Arc::new(target);
    let directory = target.outside.directory().to_owned();
    let place = directory.clone();
    let membership = LazyMembership::new(move || {
        let joining = lead_team::join(target.clone());
        async move { joining.await.map_err(open_bus::logged) }
    });
    let server = orchestrator_tools::server_with_doorbell(membership.clone(), &team, watch);
    let keeping =
        AbortOnDropHandle::new(tokio::spawn(clean_up_and_resume(membership.clone(), team.clone())));
    let alerting = AbortOnDropHandle::new(tokio::spawn(notify_user(membership.clone(), notify)));
    let clearing = AbortOnDropHandle::new(tokio::spawn(forget_deleted_projects(
        membership.clone(),
        directory,
    )));
    serve_mcp::until_the_end_of_team(&server, &mut stop).await;
    drop((keeping, alerting, clearing));
    let adopted =
        if adopts { finish_adopting(&membership, &place, stop.clone()).await } else { Ok(()) };
    team.shutdown(stop.force_stop(|line| tracing::warn!("{line}"))).await;
    serve_mcp::leave(&membership).await;
    adopted
}

/// How the command ends.
struct Ending {
    /// Whether the bus must have been opened by then.
    adopts: bool,
    stop: StopRequests,
}

/// Waits until the bus is open, unless a signal requests a stop, and says that it is.
async fn finish_adopting(
    membership: &LazyMembership,
    bus: &Path,
    mut stop: StopRequests,
) -> Result<(), Failure> {
    let opening = tokio::time::timeout(wait_times::ADOPTION, membership.membership());
    let opened = tokio::select! {
        biased;
        opened = opening => opened,
        _ = stop.next() => return Ok(()),
    };
    match opened {
        Ok(Ok(_)) => {
            output::tell(&format!("The bus in `{}` is adopted.", bus.shown()));
            Ok(())
        }
        Ok(Err(error)) => Err(format!("failed to adopt the bus: {error}").into()),
        Err(_) => {
            Err("timed out while opening the bus, so it may not be adopted: try again".into())
        }
    }
}

/// How to notify the user, and of which project.
struct Notify {
    settings: NotifySettings,
    project: PathBuf,
}

/// Notifies the user of what happens on the bus that the server has joined, and on one that replaces it.
async fn notify_user(membership: LazyMembership, notify: Notify) {
    loop {
        if let Ok(held) = membership.membership().await {
            let alerts = Alerts::start(held.clone(), &notify.settings, &notify.project);
            if alerts.is_none() {
                return;
            }
            until_replaced(&membership, held.session()).await;
        }
        tokio::time::sleep(wait_times::LOOK_FOR_MEMBERSHIP).await;
    }
}

/// Waits until the server has another membership than this.
async fn until_replaced(membership: &LazyMembership, session: SessionId) {
    while membership.current().is_some_and(|now| now.session() == session) {
        tokio::time::sleep(wait_times::LOOK_FOR_MEMBERSHIP).await;
    }
}

/// Once the server has joined, removes the records of deleted projects from the user's state directory.
async fn forget_deleted_projects(membership: LazyMembership, directory: PathBuf) {
    if membership.membership().await.is_ok() {
        // A project on a disk that hangs holds up only this thread, for which the end waits no longer than for any other.
        let cleared = tokio::task::spawn_blocking(move || open_bus::keep_counterparts(&directory));
        if let Err(error) = cleared.await {
            tracing::debug!("failed to clean up the state directory: {error}");
        }
    }
}

/// Cleans up after dead bridges and resumes their workflows, from the start on. If the bus is removed, continues on the one that
/// replaces it.
async fn clean_up_and_resume(membership: LazyMembership, team: OrchestratorTeam) {
    loop {
        if let Ok(held) = membership.membership().await {
            let workflows = team.workflows(&held);
            tokio::select! {
                () = workflows.team().keep_swept() => {}
                () = workflows.keep_resumed() => {}
                () = until_replaced(&membership, held.session()) => {}
            }
        }
        tokio::time::sleep(wait_times::LOOK_FOR_MEMBERSHIP).await;
    }
}
