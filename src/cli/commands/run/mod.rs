//! `run`: a workflow from a plan file, without an MCP client. What happens is told on stderr, the outcome on stdout.
//!
//! This process leads the workflow as an orchestrator does. When it is interrupted or killed, the workflow waits for `--resume`, or
//! for any other orchestrator.

mod plan_drawing;
mod follow_workflow;
mod terminal_question;
mod plain_step_lines;
mod live_screen;
mod tree;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use self::follow_workflow::{Approving, Begun};
use crate::bus::rules::NameChoice;
use crate::cli::lead_team::JoinTarget;
use crate::cli::open_bus::Outside;
use crate::cli::signal_policy::{self, StopRequests};
use crate::cli::{
    Failure, below_agent, find_project, lead_team, load_config, open_bus, output, serve_mcp,
};
use crate::config::Config;
use crate::domain::ids::WorkflowId;
use crate::domain::member::PLAN_ROLE;
use crate::domain::name::Name;
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

/// The workflow to lead.
enum Request {
    Plan(Box<LocatedDraft>),
    Resume(WorkflowId),
}

pub(crate) fn run(arguments: &RunArguments) -> Result<(), Failure> {
    below_agent::refuse_to("lead a team")?;
    let project = find_project::find(arguments.project.as_deref())?;
    let mut config = load_config::load(&project.root, arguments.config.as_deref())?;
    let request = match (&arguments.file, &arguments.resume) {
        (Some(path), _) => {
            let written = toml_plan::read(path, &path.display().to_string())?;
            Request::Plan(Box::new(written))
        }
        (None, Some(id)) => Request::Resume(WorkflowId::parse(id)?),
        (None, None) => return Err("name a plan file, or a workflow with --resume".into()),
    };
    if let (Some(script), Request::Plan(written)) = (&arguments.scripted, &request) {
        let script = script
            .canonicalize()
            .map_err(|error| format!("cannot find the script {}: {error}", script.display()))?;
        config.play(named(written), &script)?;
    }
    let foreign = open_bus::foreign(arguments.adopt);
    let outside = Outside::new(project.bus_directory(), open_bus::networks(&config), foreign);
    let launch = lead_team::launch_in(project)?;
    if let Request::Plan(written) = &request
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
    load_config::warn_of_what_does_not_count(&config);
    lead_team::adopt_orphans();
    let approving = Approving::of(arguments.yes);
    let choice = NameChoice::Like(Name::parse(NAME)?);
    let target = JoinTarget::of(outside, &config, choice, vec![PLAN_ROLE.to_owned()]);
    serve_mcp::run_team(async move || {
        let lead = async move |stop| lead(target, (config, launch), request, approving, stop).await;
        signal_policy::obey(lead).await
    })
}

/// Leads the workflow to its end, or leaves it to be resumed.
async fn lead(
    target: JoinTarget,
    (config, launch): (Config, Launch),
    request: Request,
    approving: Approving,
    mut stop: StopRequests,
) -> Result<(), Failure> {
    let membership = lead_team::join(target.into()).await?;
    let team = Team::new(membership.clone(), config, launch, UserReachable::default());
    let workflows = Workflows::new(team.clone());
    let begun = begin(&workflows, &request).await;
    let outcome = match begun {
        Ok(begun) => follow_workflow::follow(&workflows, begun, &mut stop, approving).await,
        Err(error) => Err(error),
    };
    // First, so that the ends of agents do not look like failures of steps.
    workflows.stop().await;
    team.shutdown(stop.force_stop()).await;
    serve_mcp::leave_team(membership).await;
    outcome
}

async fn begin(workflows: &Workflows, request: &Request) -> Result<Begun, Failure> {
    let workflow = match request {
        Request::Plan(written) => {
            let plan = planned(written, &workflows.team().candidates())?;
            workflows.create(plan).await?
        }
        Request::Resume(id) => workflows.resume(id).await?,
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
