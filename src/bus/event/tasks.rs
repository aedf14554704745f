//! The fields of task events: the assignment, and the end with its results.

use serde::{Deserialize, Serialize};

use super::{Body, Skip};
use crate::domain::ids::{SessionId, TaskId, WorkflowId};
use crate::domain::messaging::Priority;
use crate::domain::name::Name;
use crate::domain::permission::Policy;
use crate::domain::task::result::{Context, Usage};
use crate::domain::task::{TaskError, TaskStatus};
use crate::domain::workflow::StepOf;

/// An agent is assigned work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskAssigned {
    pub id: TaskId,
    pub session: SessionId,
    pub agent: Name,
    pub by: Name,
    pub prompt: Body,
    /// The requested model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether it begins a new session of the agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    /// The permission policy, if the task overrides that of the profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Policy>,
    /// The workflow whose step it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<WorkflowId>,
    /// Its place in the queue of the agent.
    #[serde(default, skip_serializing_if = "Priority::is_normal")]
    pub priority: Priority,
}

/// A task is to be done by a new agent on another host: its bridge starts the agent, or refuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskPlaced {
    /// The id that the task gets.
    pub id: TaskId,
    /// The session of the host's bridge.
    pub with: SessionId,
    /// The session that asks, and its name.
    pub asker: SessionId,
    pub by: Name,
    /// The profile of the agent.
    pub profile: Name,
    pub prompt: Body,
    /// The name of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where the agent works, relative to the host's own checkout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Policy>,
    #[serde(default, skip_serializing_if = "Priority::is_normal")]
    pub priority: Priority,
    /// The step of a workflow that it carries out, which begins when the agent is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepOf>,
    pub skip: Skip,
}

/// A task has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    pub id: TaskId,
    /// A final status.
    pub status: TaskStatus,
    /// The text of the agent.
    pub output: Body,
    /// The stop reason of the last turn, in ACP's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TaskError>,
    /// The other results.
    #[serde(default, skip_serializing_if = "TaskReport::is_empty")]
    pub report: TaskReport,
}

/// The results of a task besides its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskReport {
    /// The agent's context at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    /// The resources that the task used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Where in the output the agent's last words begin, in bytes: the text after its last tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_words: Option<u64>,
    /// Files that changed and calls that failed: [`Details`](crate::domain::task::result::Details) as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Body>,
}

impl TaskReport {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
