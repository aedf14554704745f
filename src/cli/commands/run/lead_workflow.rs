//! Leads one workflow as an orchestrator does: joins, creates or resumes it, follows it, and leaves.

use super::follow_workflow::{self, Approving, Begun};
use crate::bus::BusError;
use crate::bus::rules::{Operation, Refusal};
use crate::bus::state::Workflow;
use crate::bus::storage::file::TRANSCRIPTS;
use crate::cli::lead_team::JoinTarget;
use crate::cli::signal_policy::StopRequests;
use crate::cli::{Failure, lead_team, output, serve_mcp, with_hint};
use crate::config::Config;
use crate::domain::ids::WorkflowId;
use crate::team::{Candidates, Launch, Team, UserReachable};
use crate::workflow::plan::toml_plan::LocatedDraft;
use crate::workflow::plan::{Plan, validate};
use crate::workflow::{WorkflowError, Workflows};

/// The workflow to lead.
pub(super) enum Request {
    Plan(Box<LocatedDraft>),
    Resume(WorkflowId),
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
    let team = Team::new(membership.clone(), config, launch, UserReachable::default());
    let workflows = Workflows::new(team);
    let begun = begin(&workflows, &request).await;
    let begun = begun.map(|workflow| Begun::of(workflow, transcripts));
    let outcome = match begun {
        Ok(begun) => follow_workflow::follow(&workflows, begun, &mut stop, approving).await,
        Err(error) => Err(error),
    };
    workflows.shutdown(stop.force_stop(output::tell)).await;
    serve_mcp::leave_team(membership).await;
    outcome
}

async fn begin(workflows: &Workflows, request: &Request) -> Result<Workflow, Failure> {
    match request {
        Request::Plan(written) => {
            let plan = planned(written, &workflows.team().candidates())?;
            end_trials(workflows).await;
            Ok(workflows.create(plan).await?)
        }
        Request::Resume(id) => workflows.resume(id).await.map_err(for_a_person),
    }
}

/// Returns an error of a workflow in the words of the command line; it is otherwise written for a model with tools.
fn for_a_person(error: WorkflowError) -> Failure {
    match error {
        WorkflowError::Bus(BusError::Refused(Refusal::UnknownWorkflow { id })) => with_hint(
            format!("there is no workflow `{id}` in this project, or it is too old to be found"),
            "`cli-team-bridge run --resume` lists the workflows that can be resumed",
        ),
        WorkflowError::Trial { id } => with_hint(
            format!(
                "`{id}` was a trial, in which a script played the agents, so real agents do not \
                 continue it"
            ),
            "run its plan again",
        ),
        error => error.into(),
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
