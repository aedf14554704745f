//! Assigns a step to an agent: to the one that had it when it was interrupted, else to an idle one, else to a new one, here or on another
//! host.

use super::blocker::Blocker;
use crate::bus::BusError;
use crate::bus::rules::Refusal;
use crate::bus::state::StepRun;
use crate::domain::ids::TaskId;
use crate::team::{
    AgentSlot, Assignee, Assignment, Bridge, HostError, Hosts, Team, TeamError, Where,
};

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
        Err(error) if is_limit(&error) => Err(at_limit(team, error).await),
        Err(error) => Err(Blocker::of(error)),
    }
}

/// Returns where the agent of a step is to be started. A fallback that the host of the step does not have is started here.
pub(crate) fn host_of<'a>(
    team: &Team,
    hosts: &'a Hosts,
    step: &StepRun,
) -> Result<Where<'a>, Blocker> {
    // In a trial a script plays all agents, which needs no host.
    let host = step.plan.host.as_deref().filter(|_| !team.config().plays_script());
    let Some(host) = host else { return Ok(Where::Here) };
    let (agent, is_fallback) = (step.planned_agent(), step.passed > 0);
    match hosts.find(host, agent) {
        Ok(Where::There(bridge)) if is_fallback && !bridge.offers(agent) => Ok(Where::Here),
        Err(HostError::Unknown { .. }) if is_fallback => Ok(Where::Here),
        found => found.map_err(|error| Blocker::of(error.into())),
    }
}

/// Gives a step to a host: to an idle agent that has done steps there before, else to a new one. Returns the task that waits for the new one.
pub(crate) async fn give_to_host(
    team: &Team,
    bridge: &Bridge,
    assignment: Assignment,
) -> Result<Option<TaskId>, Blocker> {
    let free = team.free_on_host(bridge, &assignment.agent);
    let given = match free {
        Some(agent) => {
            let agent = agent.to_string();
            team.assign(Assignment { agent, ..assignment }).await.map(|_| None)
        }
        None => team.place(bridge, assignment).await.map(Some),
    };
    match given {
        Err(error) if is_limit(&error) => Err(at_limit(team, error).await),
        given => given.map_err(Blocker::of),
    }
}

/// Makes room for one more agent, or says that there will be none.
async fn at_limit(team: &Team, error: TeamError) -> Blocker {
    match team.free_a_slot().await {
        Ok(AgentSlot::Soon) => Blocker::Busy,
        Ok(AgentSlot::Never) => Blocker::of(error),
        Err(failed) => {
            tracing::debug!("failed to free a slot: {failed}");
            Blocker::Busy
        }
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
