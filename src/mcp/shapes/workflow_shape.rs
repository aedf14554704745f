//! The shape of a workflow in the tools' results.

use schemars::JsonSchema;
use serde::Serialize;

use crate::bus::api::message_text::part;
use crate::bus::state::{StepRun, Task, Workflow};
use crate::domain::limits;
use crate::domain::time::iso8601;
use crate::domain::workflow::StepStatus;
use crate::mcp::ToolError;
use crate::mcp::orchestrator_team::OrchestratorTeam;
use crate::team::Team;
use crate::view::host_of_step;
use crate::workflow::{WorkflowError, Workflows};

/// Bytes of one step's output that a status shows.
const HEAD_BYTES: usize = 2 * 1024;

/// Bytes of all outputs together: half of what an answer may have, because the rest of a long status takes as much.
const HEADS_BYTES: usize = limits::ANSWER_BYTES / 2;

/// Where a workflow stands.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WorkflowView {
    /// The workflow.
    workflow_id: String,
    /// Its name.
    name: String,
    /// running, interrupted, done, failed or cancelled.
    status: String,
    /// When it was created, in UTC.
    created_at: String,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    /// Its steps, in the plan's order.
    steps: Vec<StepView>,
}

/// A step's state.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StepView {
    /// The step.
    name: String,
    /// The agent that runs it, or is meant to.
    agent: String,
    /// The host that the plan gives it to: the agent's machine once it has begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    /// waiting, asking, running, done, failed, unneeded, skipped or cancelled.
    status: String,
    /// The steps it waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waits_for: Vec<String>,
    /// How often it was started.
    attempts: u32,
    /// The last attempt's task: `get_task_result` has its full output.
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<String>,
    /// When the last attempt was assigned.
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    /// The agent's output, or the start of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    /// Length of the full output, if this is only the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    output_bytes: Option<usize>,
    /// The agent's conversation when the last attempt started: new, kept, resumed or lost. Set once that ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<String>,
    /// What went wrong last.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl WorkflowView {
    pub(crate) fn of(workflow: &Workflow, team: &Team) -> Self {
        let done = workflow.steps.iter();
        let done = done.filter(|step| step.status == StepStatus::Done).count();
        let room = (HEADS_BYTES / done.max(1)).min(HEAD_BYTES);
        let steps = workflow.steps.iter();
        Self {
            workflow_id: workflow.id.to_string(),
            name: workflow.name.clone(),
            status: workflow.status.as_str().to_owned(),
            created_at: iso8601(workflow.created_ms),
            ended_at: workflow.ended_ms.map(iso8601),
            steps: steps.map(|step| StepView::of(step, workflow, team, room)).collect(),
        }
    }
}

impl StepView {
    fn of(step: &StepRun, workflow: &Workflow, team: &Team, room: usize) -> Self {
        let over = |name: &&crate::domain::name::Name| {
            let before = workflow.step(name);
            before.is_none_or(|before| before.status.is_final())
        };
        let waits = step.status == StepStatus::Waiting;
        let before = step.plan.depends_on.iter().filter(|name| !over(name));
        let task = task(step, team);
        let whole = task.as_ref().and_then(|task| output(step, task, team));
        let head = whole.as_ref().map(|whole| part(whole, 0, room).1);
        let cut = |head: &str, whole: &str| head.len() < whole.len();
        let output_bytes = match (&whole, head) {
            (Some(whole), Some(head)) if cut(head, whole) => Some(whole.len()),
            _ => None,
        };
        let planned = || step.planned_agent().to_owned();
        Self {
            name: step.plan.name.to_string(),
            agent: step.agent.as_ref().map_or_else(planned, ToString::to_string),
            host: host_of_step(step, task.as_ref()),
            status: step.status.as_str().to_owned(),
            waits_for: before.filter(|_| waits).map(ToString::to_string).collect(),
            attempts: step.attempts,
            task_id: step.task.as_ref().map(ToString::to_string),
            started_at: step.started_ms.map(iso8601),
            ended_at: step.ended_ms.map(iso8601),
            output: head.map(str::to_owned),
            output_bytes,
            context: task.and_then(|task| task.context).map(|context| context.as_str().to_owned()),
            reason: step.why.clone(),
        }
    }
}

/// Looks up the task of a step's last attempt. If it cannot be read, the status is shown without it.
fn task(step: &StepRun, team: &Team) -> Option<Task> {
    let id = step.task.as_ref()?;
    team.bus().find_task(id).unwrap_or_else(|error| {
        tracing::warn!("failed to look up {id}: {error}");
        None
    })
}

/// Reads the output of a step that is done.
fn output(step: &StepRun, task: &Task, team: &Team) -> Option<String> {
    let body = task.output.filter(|_| step.status == StepStatus::Done)?;
    match team.bus().text(body) {
        Ok(text) => Some(text),
        Err(error) => {
            tracing::warn!("failed to read the output of {}: {error}", task.id);
            None
        }
    }
}

impl OrchestratorTeam {
    /// Returns the caller's workflows.
    pub(crate) fn workflows_of(&self, caller: &crate::mcp::Caller) -> Workflows {
        self.workflows(caller.membership())
    }
}

impl From<WorkflowError> for ToolError {
    fn from(error: WorkflowError) -> Self {
        match error {
            WorkflowError::Plan(problems) => Self::Arguments(problems.to_string()),
            WorkflowError::File(error) => Self::Arguments(error.to_string()),
            refused @ (WorkflowError::PlanChanged { .. } | WorkflowError::Trial { .. }) => {
                Self::Arguments(refused.to_string())
            }
            WorkflowError::Bus(error) => Self::Bus(error),
            WorkflowError::Team(error) => error.into(),
        }
    }
}
