//! Leads one workflow as an orchestrator does: joins, creates or resumes it, follows it, and leaves.

use super::follow_workflow::{self, Approving, Begun};
use super::words_for_user;
use crate::alerts::Alerts;
use crate::bus::rules::Operation;
use crate::bus::state::Workflow;
use crate::bus::storage::file::TRANSCRIPTS;
use crate::cli::commands::keep_courier::known_projects;
use crate::cli::lead_team::JoinTarget;
use crate::cli::signal_policy::StopRequests;
use crate::cli::{Failure, lead_team, open_bus, output, serve_mcp, with_hint};
use crate::config::Config;
use crate::courier::Courier;
use crate::domain::ids::WorkflowId;
use crate::domain::workflow::Step;
use crate::team::{self, Candidates, Hosts, Launch, Team, UserReachable};
use crate::workflow::Workflows;
use crate::workflow::plan::toml_plan::LocatedDraft;
use crate::workflow::plan::{Plan, validate};

/// The workflow to lead.
pub(super) enum Request {
    Plan(Box<PlanToRun>),
    Resume(WorkflowId),
}

/// A plan as it was read.
pub(super) struct PlanToRun {
    pub(super) written: LocatedDraft,
    /// How it can be tried without its agents.
    pub(super) trial: Option<String>,
}

impl PlanToRun {
    /// Turns it into a plan, or reports each problem. If one of its agents is missing, a hint says how to try it without.
    fn planned(&self, known: &Candidates) -> Result<Plan, Failure> {
        let planned = planned(&self.written, known);
        let is_here = |agent: &str| {
            known.profiles.iter().chain(&known.agents).any(|name| name.as_str() == agent)
        };
        let mut steps = self.written.draft.steps.iter();
        match &self.trial {
            Some(trial) if steps.any(|step| !is_here(&step.agent)) => {
                planned.map_err(|failure| with_hint(failure.to_string(), trial))
            }
            _ => planned,
        }
    }
}

/// Refuses what cannot run here, before the project gets a bus for it. What a bus knows is checked when it is joined; one that is shared may
/// have hosts even before the project gets its mirror.
pub(super) fn refuse_before_joining(
    request: &Request,
    (config, launch): (&Config, &Launch),
    is_shared: bool,
) -> Result<(), Failure> {
    // If a bus cannot be read, joining it says why.
    let Ok(bus) = open_bus::open_present_bus(&launch.bus_dir) else {
        return Ok(());
    };
    match (request, bus) {
        (Request::Resume(id), None) => Err(words_for_user::unknown_workflow(id)),
        (Request::Resume(id), Some(bus)) => match bus.find_workflow(id) {
            Ok(None) => Err(words_for_user::unknown_workflow(id)),
            Ok(Some(_)) | Err(_) => Ok(()),
        },
        (Request::Plan(_), Some(_)) => Ok(()),
        (Request::Plan(plan), None) => {
            // A bus in files that is new has no other hosts.
            let hosts = (!is_shared && !config.plays_script()).then(Hosts::default);
            let known = Candidates { hosts, ..Candidates::profiles(config, launch) };
            let plan = plan.planned(&known)?;
            let agents = plan.steps.iter().flat_map(Step::agents_here);
            team::agreed(config, &launch.trust, agents.map(String::as_str))
                .map_err(words_for_user::of_team)
        }
    }
}

/// Runs the workflow to its end, or leaves it to be resumed.
pub(super) async fn lead(
    target: JoinTarget,
    (config, launch): (Config, Launch),
    request: Request,
    approving: Approving,
    mut stop: StopRequests,
) -> Result<(), Failure> {
    let transcripts = launch.bus_dir.join(TRANSCRIPTS);
    let membership = lead_team::join(target.into()).await?;
    let alerts = Alerts::start(&membership, &config, &launch.project);
    let courier = Courier::start(&membership, known_projects(&config, &launch.project));
    let team = Team::new(membership.clone(), config, launch, UserReachable::default());
    let workflows = Workflows::new(team);
    let begun = begin(&workflows, &request).await;
    let begun = begun.map(|workflow| Begun::of(workflow, transcripts));
    let outcome = match begun {
        Ok(begun) => follow_workflow::follow(&workflows, begun, &mut stop, approving).await,
        Err(error) => Err(error),
    };
    if let Some(alerts) = alerts {
        alerts.finish().await;
    }
    courier.finish().await;
    workflows.shutdown(stop.force_stop(output::tell)).await;
    serve_mcp::leave_team(membership).await;
    outcome
}

async fn begin(workflows: &Workflows, request: &Request) -> Result<Workflow, Failure> {
    match request {
        Request::Plan(plan) => {
            let plan = plan.planned(&workflows.team().candidates())?;
            end_trials(workflows).await;
            workflows.create(plan).await.map_err(words_for_user::of_workflow)
        }
        Request::Resume(id) => workflows.resume(id).await.map_err(words_for_user::of_workflow),
    }
}

/// Ends interrupted trials of the project: nothing resumes them, and each takes a place among the unfinished workflows.
async fn end_trials(workflows: &Workflows) {
    let membership = workflows.team().membership();
    let trials: Vec<_> = membership.bus().look(|state| {
        let all = state.workflows().into_iter();
        let left = all.filter(|workflow| workflow.is_interrupted_trial());
        left.map(|workflow| workflow.id.clone()).collect()
    });
    for id in trials {
        if let Err(error) = membership.ask(Operation::CancelWorkflow(id.clone())).await {
            tracing::debug!("{id}, an interrupted trial, was not ended: {error}");
        }
    }
}

/// Turns a plan file into a plan, or reports each problem at its place in the file.
pub(super) fn planned(written: &LocatedDraft, known: &Candidates) -> Result<Plan, Failure> {
    let plan = validate(written.draft.clone(), known);
    plan.map_err(|problems| written.locate(&problems).into())
}
