//! A task without its texts: what the state knows of it until it is forgotten.

use serde::{Deserialize, Serialize};

use crate::bus::state::BodyRef;
use crate::domain::ids::{MessageId, SessionId, TaskId, WorkflowId};
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
    pub by: Name,
    pub status: TaskStatus,
    /// Whether its end is asked for.
    pub cancel_asked: bool,
    /// The model asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether it begins a new session of the agent.
    pub fresh: bool,
    /// What the agent may do in it, where that is not the profile's to say.
    #[serde(default)]
    pub permissions: Option<Policy>,
    /// The workflow whose step it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<WorkflowId>,
    /// Where the prompt is.
    pub prompt: BodyRef,
    /// When it was assigned, in wall time.
    pub queued_ms: i64,
    /// When its turn began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<i64>,
    /// Where its output is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<BodyRef>,
    /// The last turn's stop reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TaskError>,
    /// What the agent's conversation knew at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Where in the output the agent's last words begin, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_words: Option<u64>,
    /// Whether the event of its end tells of files and failed calls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_details: bool,
    /// The notice to its assigner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<MessageId>,
}
