//! The fields of workflow events.

use serde::{Deserialize, Serialize};

use super::Body;
use crate::domain::ids::{SessionId, TaskId, WorkflowId};
use crate::domain::name::Name;
use crate::domain::workflow::{Again, PlanFile, Step, StepStatus};

/// A workflow begins, led by its owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Created {
    pub id: WorkflowId,
    /// Its name, for people.
    pub name: String,
    pub by: Name,
    /// The session that leads it.
    pub owner: SessionId,
    /// Its steps, in the order in which they were written.
    pub steps: Vec<Step>,
    /// Their prompts, in the same order, as a JSON list.
    pub prompts: Body,
    /// The project's plan file from which its gates come. Each gate needs the user's trust in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_file: Option<PlanFile>,
    /// Whether a script plays its agents, to try the plan. Real agents never continue it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_trial: bool,
}

/// An interrupted workflow has an owner again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumed {
    pub id: WorkflowId,
    /// The member that resumed it.
    pub by: Name,
    /// The session that leads it now.
    pub owner: SessionId,
}

/// A step has begun as an agent's task, assigned in the same append.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepStarted {
    pub workflow: WorkflowId,
    pub step: Name,
    pub task: TaskId,
    pub agent: Name,
}

/// A step is expanded: its items are now steps of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepExpanded {
    pub workflow: WorkflowId,
    pub step: Name,
    /// The number of items.
    pub count: u32,
    /// The items, as a JSON list.
    pub items: Body,
}

/// A step waits again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepReturned {
    pub workflow: WorkflowId,
    pub step: Name,
    /// The kind of reason.
    pub again: Again,
    pub why: String,
}

/// A step has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepEnded {
    pub workflow: WorkflowId,
    pub step: Name,
    /// A final status.
    pub status: StepStatus,
    /// The reason, if it was not successful.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A step waits for approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepAsked {
    pub workflow: WorkflowId,
    pub step: Name,
}

/// A step is approved. A refused one ends instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepApproved {
    pub workflow: WorkflowId,
    pub step: Name,
    pub by: Name,
    /// Whether the person at the command line approves it. Then `by` is the member that leads the workflow, or led it last.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub human: bool,
}
