//! `run`: a workflow from a plan file, without an MCP client. What happens is told on stderr, the outcome on stdout.
//!
//! This process leads the workflow as an orchestrator does. When it is interrupted or killed, the workflow waits for `--resume`, or
//! for any other orchestrator.

mod plan_drawing;
mod follow_workflow;
mod terminal_question;
mod step_lines;
mod live_screen;
mod tree;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use self::follow_workflow::{Approving, Begun};
use super::{orchestrator, trust};
use crate::bus::rules::NameChoice;
use crate::cli::open_bus::Outside;
use crate::cli::{Failure, below_agent, find_project, open_bus, output, serve_mcp};
use crate::config::Config;
use crate::domain::env_vars;
use crate::domain::ids::WorkflowId;
use crate::domain::member::PLAN_ROLE;
use crate::domain::name::Name;
use crate::supervisor;
use crate::team::{Candidates, Launch, Team, UserReachable};
use crate::workflow::Workflows;
use crate::workflow::plan::toml_plan::{self, LocatedDraft};
use crate::workflow::plan::{Plan, validate};

/// What this session is called on the bus.
const NAME: &str = "run";

/// What to run, and how.
#[derive(Clone, Debug, Args)]
pub(crate) struct RunArguments {
    /// The plan file (TOML; see docs/workflows.md).
    #[arg(value_name = "FILE", required_unless_present = "resume")]
    file: Option<PathBuf>,
    /// Resume this interrupted workflow instead.
    #[arg(long, value_name = "WORKFLOW", conflicts_with_all = ["file", "dry_run", "graph", "scripted"])]
    resume: Option<String>,
    /// The project directory [default: found from the current directory].
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// An extra configuration file that overrides all others.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Use a bus that was not created here, instead of setting it aside and starting a new one (also: `BRIDGE_ADOPT=1`).
    #[arg(long)]
    adopt: bool,
    /// Check the plan and print the order of its steps, without running it.
    #[arg(long)]
    dry_run: bool,
    /// Check the plan and print it as a graph, without running it.
    #[arg(long, value_enum, value_name = "FORM")]
    graph: Option<Graph>,
    /// Replace all agents with this script, to try a workflow without a model.
    #[arg(long, value_name = "FILE")]
    scripted: Option<PathBuf>,
    /// Approve every step that asks for approval.
    #[arg(long)]
    yes: bool,
}

/// A language for graphs.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Graph {
    /// For Markdown.
    Mermaid,
    /// For Graphviz.
    Dot,
}

/// What is asked for.
enum Wanted {
    Plan(Box<LocatedDraft>),
    Resume(WorkflowId),
}

pub(crate) fn run(arguments: &RunArguments) -> Result<(), Failure> {
    below_agent::refuse_to("lead a team")?;
    let project = find_project::find(arguments.project.as_deref())?;
    let mut config = orchestrator::load(&project.root, arguments.config.as_deref())?;
    let wanted = match (&arguments.file, &arguments.resume) {
        (Some(path), _) => {
            let written = toml_plan::read(path, &path.display().to_string())?;
            Wanted::Plan(Box::new(written))
        }
        (None, Some(id)) => Wanted::Resume(WorkflowId::parse(id)?),
        (None, None) => return Err("name a plan file, or a workflow with --resume".into()),
    };
    if let (Some(script), Wanted::Plan(written)) = (&arguments.scripted, &wanted) {
        let script = script
            .canonicalize()
            .map_err(|error| format!("cannot find the script {}: {error}", script.display()))?;
        config.play(named(written), &script)?;
    }
    let directory = project.bus_directory();
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
    if let Wanted::Plan(written) = &wanted
        && (arguments.dry_run || arguments.graph.is_some())
    {
        let plan = planned(written, &Candidates::profiles(&config, &launch))?;
        output::say(&match arguments.graph {
            Some(Graph::Mermaid) => plan_drawing::mermaid(&plan),
            Some(Graph::Dot) => plan_drawing::dot(&plan),
            None => plan_drawing::order(&plan),
        });
        return Ok(());
    }
    orchestrator::tell_what_does_not_count(&config);
    if let Err(error) = supervisor::adopt_orphans(env_vars::RUN) {
        tracing::debug!("this process cannot adopt orphans of its agents: {error}");
    }
    let approving = Approving::of(arguments.yes);
    let wish = NameChoice::Like(Name::parse(NAME)?);
    let place = orchestrator::JoinTarget::of(outside, &config, wish, vec![PLAN_ROLE.to_owned()]);
    serve_mcp::run_team(async move || lead(place, (config, launch), wanted, approving).await)
}

/// Leads the workflow to its end, or leaves it to be resumed.
async fn lead(
    place: orchestrator::JoinTarget,
    (config, launch): (Config, Launch),
    wanted: Wanted,
    approving: Approving,
) -> Result<(), Failure> {
    let mut shutdown = crate::sys::signal_streams::Shutdown::listen()?;
    let membership = orchestrator::take(place.into()).await?;
    let team = Team::new(membership.clone(), config, launch, UserReachable::default());
    let workflows = Workflows::new(team.clone());
    let begun = begin(&workflows, &wanted).await;
    let outcome = match begun {
        Ok(begun) => follow_workflow::follow(&workflows, begun, &mut shutdown, approving).await,
        Err(error) => Err(error),
    };
    // First, so that the ends of agents do not look like failures of steps.
    workflows.stop().await;
    let hurry = async {
        let signal = shutdown.recv().await;
        tracing::warn!("{signal}: killing all agents");
    };
    team.shutdown(hurry).await;
    serve_mcp::leave_seat(membership).await;
    outcome
}

async fn begin(workflows: &Workflows, wanted: &Wanted) -> Result<Begun, Failure> {
    let workflow = match wanted {
        Wanted::Plan(written) => {
            let plan = planned(written, &workflows.team().known())?;
            workflows.create(plan).await?
        }
        Wanted::Resume(id) => workflows.resume(id).await?,
    };
    Ok(Begun::of(workflow))
}

/// Makes a plan of what was written, or says what is wrong at its place in the file.
fn planned(written: &LocatedDraft, known: &Candidates) -> Result<Plan, Failure> {
    let plan = validate(written.draft.clone(), known);
    plan.map_err(|problems| written.locate(&problems).into())
}

/// Returns every name of an agent that a plan has.
fn named(written: &LocatedDraft) -> Vec<Name> {
    let steps = written.draft.steps.iter();
    let agents = steps.flat_map(|step| std::iter::once(&step.agent).chain(&step.fallback));
    // What is no name is told when the plan is checked.
    agents.filter_map(|agent| Name::parse(agent).ok()).collect()
}
