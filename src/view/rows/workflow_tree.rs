//! A workflow as a tree: its steps in the order of the plan, each with the steps that it waits for.

use schemars::JsonSchema;
use serde::Serialize;

use crate::bus::state::{StepRun, Workflow};
use crate::domain::limits;
use crate::domain::text::visible_letters::beginning;
use crate::domain::workflow::StepStatus;
use crate::view::Moment;

/// A workflow.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WorkflowTree {
    pub workflow_id: String,
    pub name: String,
    /// running, interrupted, done, failed or cancelled.
    pub status: String,
    /// The member that created it, or resumed it last.
    pub by: String,
    /// Whether a script plays its agents.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_trial: bool,
    pub created_at: Moment,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Moment>,
    /// Steps of the plan that are done or not needed.
    pub steps_done: usize,
    /// Steps of the plan.
    pub steps_total: usize,
    /// The steps, and after each the items of its list.
    pub steps: Vec<StepNode>,
}

/// A step of a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StepNode {
    pub name: String,
    /// The step that was expanded for a list, if this is for one item of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_of: Option<String>,
    /// The agent that does it, or is meant to.
    pub agent: String,
    /// waiting, asking, running, done, failed, unneeded, skipped or cancelled.
    pub status: String,
    /// The steps that have to end before it begins.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// How often it was begun.
    pub attempts: u32,
    /// The last attempt's task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Moment>,
    /// Why the last attempt failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl WorkflowTree {
    /// Makes the tree of a workflow.
    pub fn of(workflow: &Workflow) -> Self {
        let is_over =
            |step: &&StepRun| matches!(step.status, StepStatus::Done | StepStatus::Unneeded);
        Self {
            workflow_id: workflow.id.to_string(),
            name: beginning(&workflow.name, limits::WORKFLOW_NAME_CHARS),
            status: workflow.status.as_str().to_owned(),
            by: workflow.by.to_string(),
            is_trial: workflow.is_trial,
            created_at: Moment(workflow.created_ms),
            ended_at: workflow.ended_ms.map(Moment),
            steps_done: workflow.planned().filter(is_over).count(),
            steps_total: workflow.planned().count(),
            steps: workflow.steps.iter().map(StepNode::of).collect(),
        }
    }
}

impl StepNode {
    fn of(step: &StepRun) -> Self {
        let planned = || step.planned_agent().to_owned();
        let depends_on = step.plan.depends_on.iter();
        Self {
            name: step.plan.name.to_string(),
            item_of: step.item.as_ref().map(|item| item.of.to_string()),
            agent: step.agent.as_ref().map_or_else(planned, ToString::to_string),
            status: step.status.as_str().to_owned(),
            depends_on: depends_on.map(ToString::to_string).collect(),
            attempts: step.attempts,
            task_id: step.task.as_ref().map(ToString::to_string),
            started_at: step.started_ms.map(Moment),
            ended_at: step.ended_ms.map(Moment),
            reason: step.why.as_ref().map(|why| beginning(why, limits::PROMPT_CHARS)),
        }
    }
}
