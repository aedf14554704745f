//! A task without its texts.

use serde::{Deserialize, Serialize};

use crate::bus::event::LogPosition;
use crate::bus::state::BodyRef;
use crate::domain::ids::{MessageId, SessionId, TaskId, WorkflowId};
use crate::domain::member::HostId;
use crate::domain::messaging::{Author, Priority};
use crate::domain::name::Name;
use crate::domain::permission::Policy;
use crate::domain::task::result::{Context, Usage};
use crate::domain::task::{TaskError, TaskStatus};

/// A task without its texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub id: TaskId,
    pub session: SessionId,
    pub agent: Name,
    /// The machine of the agent, on a bus that several machines share: the files that it changes are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Which host that was: several may be of one name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_id: Option<HostId>,
    pub by: Name,
    pub status: TaskStatus,
    pub cancel_asked: bool,
    /// Who has asked first for its end while it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_by: Option<Author>,
    /// The requested model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether it begins a new session of the agent.
    pub fresh: bool,
    /// The permission policy, if it differs from the profile's.
    #[serde(default)]
    pub permissions: Option<Policy>,
    /// The workflow whose step it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<WorkflowId>,
    /// Its place in the queue of the agent.
    #[serde(default, skip_serializing_if = "Priority::is_normal")]
    pub priority: Priority,
    pub prompt: BodyRef,
    /// When it was assigned, in wall time.
    pub queued_ms: i64,
    /// When its turn began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<BodyRef>,
    /// The last turn's stop reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TaskError>,
    /// Whether the task began in a new, a kept or a resumed conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Where in the output the agent's last words begin, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_words: Option<u64>,
    /// Whether the event of its end reports files or failed calls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_details: bool,
    /// The notice to its assigner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<MessageId>,
}

impl Task {
    /// Returns where in the log it was assigned, which orders all tasks by time.
    pub fn assigned_at(&self) -> (LogPosition, u16) {
        (self.prompt.place, self.prompt.index)
    }
}
