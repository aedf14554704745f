//! The command itself: reads the plan, then draws it or runs it.

use std::path::Path;

use super::follow_workflow::Approving;
use super::lead_workflow::{PlanToRun, Request, lead, planned, refuse_before_joining};
use super::read_plan::{missing_file, read_plan, script_of};
use super::run_arguments::{Graph, LIST, RunArguments};
use super::{missing_programs, plan_drawing, plan_order, resumable_workflows};
use crate::bus::rules::NameChoice;
use crate::bus::storage::file::Foreign;
use crate::cli::commands::keep_courier::known_projects;
use crate::cli::lead_team::JoinTarget;
use crate::cli::open_bus::Outside;
use crate::cli::{
    Failure, below_agent, find_project, lead_team, load_config, open_bus, output, serve_mcp,
    signal_policy,
};
use crate::config::{BusOfNew, quoted};
use crate::domain::ids::WorkflowId;
use crate::domain::member::PLAN_ROLE;
use crate::domain::name::Name;
use crate::scripted::Script;
use crate::team::{Candidates, role_of};
use crate::workflow::plan::toml_plan::LocatedDraft;

/// The name of this session on the bus.
const NAME: &str = "run";

pub(crate) fn run(arguments: &RunArguments) -> Result<(), Failure> {
    below_agent::refuse_to("lead a team")?;
    let project = find_project::find(arguments.project.as_deref())?;
    let mut config = load_config::load(&project.root, arguments.config.as_deref())?;
    let request = match (&arguments.file, &arguments.resume) {
        (None, Some(id)) if id == LIST => return resumable_workflows::list(&project),
        (Some(path), _) => {
            let written = read_plan(path)?;
            let script = script_of(path).filter(|_| arguments.scripted.is_none());
            Request::Plan(Box::new(PlanToRun { written, trial: script.map(|it| trial(path, &it)) }))
        }
        (None, Some(id)) => Request::Resume(WorkflowId::parse(id)?),
        // clap refuses this.
        (None, None) => return Err("name a plan file, or a workflow with --resume".into()),
    };
    if let (Some(script), Request::Plan(plan)) = (&arguments.scripted, &request) {
        if let Some(failure) =
            missing_file("script", script, "name the script by its path from here")
        {
            return Err(failure);
        }
        let script = script
            .canonicalize()
            .map_err(|error| format!("cannot read the script {}: {error}", quoted(script)))?;
        // A mistake in it would show only when the first agent starts.
        Script::load(&script)?;
        config.play(named(&plan.written), &script)?;
        for role in agents_of(&plan.written).filter_map(role_of) {
            config.play_role(&role, &script)?;
        }
    }
    let foreign = open_bus::foreign(arguments.adopt);
    let is_taken_over = matches!(foreign, Foreign::TakenOver) && project.bus_directory().exists();
    let outside = Outside::new(project.bus_directory(), open_bus::networks(&config), foreign);
    let named = BusOfNew { server: arguments.bus.clone(), team: arguments.team.clone() };
    let is_shared = named.server.is_some() || config.bus_of_new().server.is_some();
    let outside = match &named.server {
        Some(_) => outside.with_bus_of_new(&named, true),
        None => outside.with_bus_of_new(config.bus_of_new(), false),
    };
    let launch = lead_team::launch_in(project)?;
    if let Request::Plan(plan) = &request
        && (arguments.dry_run || arguments.graph.is_some())
    {
        // A plan is drawn also where its agents are not installed.
        let known = Candidates::profiles(&config, &launch);
        let plan = planned(&plan.written, &known.all_installed())?;
        output::say(&match arguments.graph {
            Some(Graph::Mermaid) => plan_drawing::mermaid(&plan),
            Some(Graph::Dot) => plan_drawing::dot(&plan),
            None => plan_order::order(&plan),
        });
        for missing in missing_programs::missing_programs(&plan, &known) {
            output::tell(&format!("warning: {missing}"));
        }
        return Ok(());
    }
    load_config::warn_of_what_does_not_count(&config);
    if !is_taken_over {
        refuse_before_joining(&request, (&config, &launch), is_shared)?;
    }
    lead_team::adopt_orphans();
    let approving = Approving::of(arguments.yes);
    let choice = NameChoice::Like(Name::parse(NAME)?);
    let target = JoinTarget::of(outside, &config, choice, vec![PLAN_ROLE.to_owned()])
        .with_projects(&known_projects(&config, &launch.project));
    serve_mcp::run_team(async move || {
        let lead = async move |stop| lead(target, (config, launch), request, approving, stop).await;
        signal_policy::obey(lead).await
    })
}

/// Says how a plan can be tried with the script beside it.
fn trial(plan: &Path, script: &Path) -> String {
    let (plan, script) = (quoted(plan), quoted(script));
    format!("try the plan without its agents: `cli-team-bridge run {plan} --scripted {script}`")
}

/// Returns the names of all agents in a plan.
fn named(written: &LocatedDraft) -> Vec<Name> {
    // The checks of the plan report invalid names.
    agents_of(written).filter_map(|agent| Name::parse(agent).ok()).collect()
}

/// Returns whom the steps of a plan are for, as it says.
fn agents_of(written: &LocatedDraft) -> impl Iterator<Item = &str> {
    let steps = written.draft.steps.iter();
    let agents = steps.flat_map(|step| std::iter::once(&step.agent).chain(&step.fallback));
    agents.map(String::as_str)
}
