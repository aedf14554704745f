//! What happens in workflows.

use serde::{Deserialize, Serialize};

use super::Body;
use crate::domain::ids::{SessionId, TaskId, WorkflowId};
use crate::domain::name::Name;
use crate::domain::workflow::{Again, PlanFile, Step, StepStatus};

/// A workflow begins, led by its owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Created {
    pub id: WorkflowId,
    /// What it is called, for people.
    pub name: String,
    pub by: Name,
    /// The session that leads it.
    pub owner: SessionId,
    /// Its steps, in the order in which they were written.
    pub steps: Vec<Step>,
    /// Their prompts in the same order, as a JSON list.
    pub prompts: Body,
    /// The file of the project that its gates come from, whose yes each of them needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_file: Option<PlanFile>,
}

/// An interrupted workflow has a leader again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumed {
    pub id: WorkflowId,
    /// Who took it over.
    pub by: Name,
    /// The session that leads it now.
    pub owner: SessionId,
}

/// A step is an agent's task now, assigned in the same append.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepStarted {
    pub workflow: WorkflowId,
    pub step: Name,
    pub task: TaskId,
    pub agent: Name,
}

/// A step is expanded: from now on its items are steps of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepExpanded {
    pub workflow: WorkflowId,
    pub step: Name,
    /// How many items there are.
    pub count: u32,
    /// The items, as a JSON list.
    pub items: Body,
}

/// A step waits once more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepReturned {
    pub workflow: WorkflowId,
    pub step: Name,
    /// What kind of reason there is.
    pub again: Again,
    pub why: String,
}

/// Nothing more happens to a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepEnded {
    pub workflow: WorkflowId,
    pub step: Name,
    /// How: a final status.
    pub status: StepStatus,
    /// Why, where it did not end well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A step waits for approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepAsked {
    pub workflow: WorkflowId,
    pub step: Name,
}

/// A step is approved. One that is refused ends instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepApproved {
    pub workflow: WorkflowId,
    pub step: Name,
    pub by: Name,
}
