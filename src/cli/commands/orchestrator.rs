//! `orchestrator`: the tools of every member and those for leading a team, for Claude Code or any other MCP client.
//!
//! It serves even if the configuration is invalid: a client shows nothing of a server that ends, but it shows the answers of tools, which
//! then say what is wrong.
//!
//! When the client closes stdin, or a signal requests a stop (`cli::signal_policy`), it stops all agents that it started and leaves
//! the bus. The log stays. With `--adopt` it first opens the bus even if stdin has ended at once, so that a person can adopt a bus
//! with `< /dev/null`.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use clap::Args;
use tokio_util::task::AbortOnDropHandle;

use crate::alerts::Alerts;
use crate::bus::Membership;
use crate::bus::rules::NameChoice;
use crate::bus::storage::file::Foreign;
use crate::cli::commands::keep_courier::{known_projects, take_across};
use crate::cli::commands::own_surface::SurfaceArguments;
use crate::cli::find_project::{Project, ProjectError};
use crate::cli::how_to_watch::watch_command;
use crate::cli::lead_team::{self, JoinTarget};
use crate::cli::load_config::ServerConfig;
use crate::cli::open_bus::Outside;
use crate::cli::signal_policy::{self, StopRequests};
use crate::cli::{
    Failure, below_agent, find_project, load_config, open_bus, output, serve_endpoint, serve_mcp,
};
use crate::config::Config;
use crate::domain::ids::SessionId;
use crate::domain::member::Label;
use crate::domain::name::Name;
use crate::domain::text::shown_path::ShownPath as _;
use crate::domain::wait_times;
use crate::mcp::tools::orchestrator_tools::{self, Introduction, OrchestratorTeam};
use crate::mcp::{LazyMembership, ToolError};

/// The name of an orchestrator without `--name`.
const NAME: &str = "orchestrator";

/// Which team to lead, and under which name.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge orchestrator               as the command of an MCP server
  cli-team-bridge orchestrator --take-lead   the same, and lead the team from now on")]
pub(crate) struct OrchestratorArguments {
    /// The project directory [default: found from the current directory].
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// The name of this session in the team [default: orchestrator, then orchestrator-2 …].
    #[arg(long)]
    name: Option<Name>,
    /// An extra configuration file that overrides all others.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Use a bus that was not created here, instead of setting it aside and starting a new one (also: `BRIDGE_ADOPT=1`).
    #[arg(long)]
    adopt: bool,
    /// Lead the team from now on, in the place of the session that leads it.
    #[arg(long, overrides_with = "take_lead")]
    take_lead: bool,
    /// Do not ask the model to run `watch`: a plugin of the client runs it.
    #[arg(long)]
    no_watch: bool,
    #[command(flatten)]
    surface: SurfaceArguments,
}

pub(crate) fn run(arguments: OrchestratorArguments) -> Result<(), Failure> {
    if below_agent::is_below_an_agent() {
        return serve_endpoint::serve_instead_of("lead a team");
    }
    let (project, no_project) = match find_project::find(arguments.project.as_deref()) {
        Ok(project) => (project, None),
        // A person reads the error; a client would only show that the server has failed.
        Err(error @ ProjectError::TooWide { .. })
            if !serve_mcp::is_started_by_person() && !arguments.adopt =>
        {
            tracing::error!("no tool works: {error}");
            let nowhere = load_config::nowhere();
            let why = load_config::explain_no_project(&error);
            (Project { root: nowhere.clone(), ground: nowhere }, Some(why))
        }
        Err(error) => return Err(error.into()),
    };
    let files = ServerConfig { project: project.root.clone(), explicit: arguments.config };
    let adopts = arguments.adopt;
    let bus = project.bus_directory();
    let launch = lead_team::launch_in(project)?;
    lead_team::adopt_orphans();
    let choice = match arguments.name {
        Some(name) => NameChoice::Chosen(name),
        None => NameChoice::Like(Name::parse(NAME)?),
    };
    let surface = arguments.surface.find();
    let (pushing, may_watch) = (surface.pushing, surface.may_watch());
    let watches = !arguments.no_watch && no_project.is_none() && may_watch;
    let watch = watches.then(|| watch_command(&launch.project));
    let project = launch.project.clone();
    let team = OrchestratorTeam::without_config(launch);
    let foreign = open_bus::foreign(adopts);
    let project_is_known = no_project.is_none();
    let place = LeaderPlace {
        bus,
        foreign,
        choice,
        surface: surface.name,
        takes_lead: AtomicBool::new(arguments.take_lead),
        team,
        files,
        no_project,
        target: OnceLock::new(),
    };
    let trouble = place.read_config();
    serve_mcp::greet_person();
    serve_mcp::run_team(async move || {
        signal_policy::obey(async move |stop| {
            let introduction = Introduction { watch, trouble, project_is_known, pushing };
            Box::pin(lead(Arc::new(place), project, introduction, Ending { adopts, stop })).await
        })
        .await
    })
}

/// Where and as whom this session joins, as soon as its configuration is valid.
struct LeaderPlace {
    bus: PathBuf,
    foreign: Foreign,
    choice: NameChoice,
    surface: Option<Label>,
    /// Whether it takes the lead when it joins: once. If it has to join again, another may lead with good reason.
    takes_lead: AtomicBool,
    team: OrchestratorTeam,
    files: ServerConfig,
    /// Why there is no project, and so nothing to join.
    no_project: Option<String>,
    target: OnceLock<Arc<JoinTarget>>,
}

impl LeaderPlace {
    /// Reads the configuration at the start. If it is invalid, returns what a model is told of that; each call then tries again.
    fn read_config(&self) -> Option<String> {
        if self.no_project.is_some() {
            return self.no_project.clone();
        }
        match load_config::load(&self.files.project, self.files.explicit.as_deref()) {
            Ok(config) => {
                self.configure(config);
                None
            }
            Err(error) => {
                tracing::error!("no tool works until the configuration is valid: {error}");
                Some(load_config::trouble(&error))
            }
        }
    }

    fn configure(&self, config: Config) -> Arc<JoinTarget> {
        load_config::warn_of_what_does_not_count(&config);
        let networks = open_bus::networks(&config);
        let outside = Outside::new(self.bus.clone(), networks, self.foreign)
            .with_bus_of_new(config.bus_of_new(), false);
        let target = JoinTarget::of(outside, &config, self.choice.clone(), Vec::new());
        let projects = known_projects(&config, &self.files.project);
        let target = target.on_surface(self.surface.clone()).with_projects(&projects);
        self.team.configure(config);
        self.target.get_or_init(|| Arc::new(target)).clone()
    }

    async fn join(self: Arc<Self>) -> Result<Membership, ToolError> {
        if let Some(why) = &self.no_project {
            return Err(ToolError::Unavailable(why.clone()));
        }
        let target = match self.target.get() {
            Some(target) => target.clone(),
            None => self.configure(self.files.load_for_call().await?),
        };
        if !self.takes_lead.load(Ordering::Relaxed) {
            return lead_team::join(target).await.map_err(open_bus::logged);
        }
        let target = Arc::new(JoinTarget::clone(&target).taking_lead());
        let joined = lead_team::join(target).await.map_err(open_bus::logged)?;
        self.takes_lead.store(false, Ordering::Relaxed);
        Ok(joined)
    }
}

async fn lead(
    place: Arc<LeaderPlace>,
    project: PathBuf,
    introduction: Introduction,
    ending: Ending,
) -> Result<(), Failure> {
    let Ending { adopts, mut stop } = ending;
    let (bus, team) = (place.bus.clone(), place.team.clone());
    let own = place.files.project.clone();
    let membership = LazyMembership::new(move || place.clone().join());
    let server = orchestrator_tools::server_with_doorbell(membership.clone(), &team, introduction);
    let keeping =
        AbortOnDropHandle::new(tokio::spawn(clean_up_and_resume(membership.clone(), team.clone())));
    let alerting = AbortOnDropHandle::new(tokio::spawn(notify_user(
        membership.clone(),
        team.clone(),
        project,
    )));
    let carrying =
        AbortOnDropHandle::new(tokio::spawn(carry(membership.clone(), team.clone(), own)));
    let joining = AbortOnDropHandle::new(tokio::spawn(membership.clone().keep_joined()));
    let clearing = AbortOnDropHandle::new(tokio::spawn(forget_deleted_projects(
        membership.clone(),
        bus.clone(),
    )));
    serve_mcp::until_the_end_of_team(&server, &mut stop).await;
    drop((keeping, alerting, carrying, joining, clearing));
    let adopted =
        if adopts { finish_adopting(&membership, &bus, stop.clone()).await } else { Ok(()) };
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

/// Notifies the user of what happens on the bus that the server has joined, and on one that replaces it.
async fn notify_user(membership: LazyMembership, team: OrchestratorTeam, project: PathBuf) {
    loop {
        // Only calls read an invalid configuration again: at any other moment an editor may be writing it.
        if let Some(config) = team.config()
            && let Ok(held) = membership.membership().await
        {
            let alerts = Alerts::start(&held, config, &project);
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

/// Takes messages to other projects.
async fn carry(membership: LazyMembership, team: OrchestratorTeam, project: PathBuf) {
    take_across(membership, || Some(known_projects(team.config()?, &project))).await;
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
        if team.config().is_some()
            && let Ok(held) = membership.membership().await
        {
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
