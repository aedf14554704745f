//! Assigns a step to an agent: to the one that had it when it was interrupted, else to an idle one, else to a new one.

use super::blocker::Blocker;
use crate::bus::BusError;
use crate::bus::rules::Refusal;
use crate::bus::state::StepRun;
use crate::team::{AgentSlot, Assignee, Assignment, Team, TeamError};

/// The introduction for an agent that continues a step. The agent may not remember the step, so the whole prompt follows.
const BEGUN_BEFORE: &str = "This step was started before, and interrupted when its orchestrator \
                            ended. Check what is already done, and continue from there. The step \
                            is:";

/// Assigns a step to an agent. The assignment names the agent or profile of the step.
pub(crate) async fn give(
    team: &Team,
    step: &StepRun,
    assignment: Assignment,
) -> Result<(), Blocker> {
    if let Some(given) = resume_conversation(team, step, &assignment).await {
        return given;
    }
    let is_profile = team.config().profile(step.planned_agent()).is_ok();
    let assigned = match team.assignee(step.planned_agent()) {
        Assignee::Live(agent) => {
            let agent = agent.to_string();
            team.assign(Assignment { agent, ..assignment }).await
        }
        Assignee::New(_) if is_profile => team.assign_to_new(assignment).await,
        // The agent was live when the workflow was created, and may have ended with its orchestrator: it is resumed.
        Assignee::New(_) => team.assign(assignment).await,
    };
    match assigned {
        Ok(_) => Ok(()),
        Err(error) if is_limit(&error) => match team.free_a_slot().await {
            Ok(AgentSlot::Soon) => Err(Blocker::Busy),
            Ok(AgentSlot::Never) => Err(Blocker::of(error)),
            Err(error) => {
                tracing::debug!("failed to free a slot for {}: {error}", step.plan.name);
                Err(Blocker::Busy)
            }
        },
        Err(error) => Err(Blocker::of(error)),
    }
}

fn is_limit(error: &TeamError) -> bool {
    matches!(error, TeamError::Bus(BusError::Refused(Refusal::TooManyAgents { .. })))
}

/// Assigns an interrupted step to the agent that had it, which continues its conversation; `None` if it cannot.
async fn resume_conversation(
    team: &Team,
    step: &StepRun,
    assignment: &Assignment,
) -> Option<Result<(), Blocker>> {
    if !step.interrupted || step.plan.fresh {
        return None;
    }
    let task = match team.bus().find_task(step.task.as_ref()?) {
        Ok(task) => task?,
        Err(error) => {
            tracing::debug!("the step {} starts over: {error}", step.plan.name);
            return None;
        }
    };
    let mut again = assignment.clone();
    // A task that was only queued had not begun.
    if task.started_ms.is_some() {
        again.prompt = format!("{BEGUN_BEFORE}\n\n{}", assignment.prompt);
    }
    let blocked = match team.resume_agent(task.session, again).await {
        Ok(Some(_)) => return Some(Ok(())),
        Ok(None) => "no agent to resume".to_owned(),
        Err(error) => match Blocker::of(error) {
            Blocker::Never(_, why) => why,
            other => return Some(Err(other)),
        },
    };
    tracing::debug!("the step {} starts over: {blocked}", step.plan.name);
    None
}
