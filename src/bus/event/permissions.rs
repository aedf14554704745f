//! What the events of permission questions store: the question, and its answer.

use serde::{Deserialize, Serialize};

use crate::domain::ids::{PermissionId, SessionId, TaskId};
use crate::domain::name::Name;
use crate::domain::permission::{Decider, Decision};

/// What an agent wants to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub session: SessionId,
    pub agent: Name,
    /// The task in whose turn it asks; none in a turn with mail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The kind of the tool, in ACP's words.
    pub kind: String,
    /// What people are shown, in the agent's words.
    pub title: String,
    /// The places that it is about, as the agent names them, and where they lead if that is elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

/// An agent asks for permission, and waits for the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionAsked {
    pub id: PermissionId,
    pub question: Question,
    /// What may be answered.
    pub offers: Vec<Decision>,
    /// Milliseconds after which it is answered with no.
    pub timeout_ms: u64,
}

/// A question for permission has its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionAnswered {
    pub id: PermissionId,
    pub decision: Decision,
    /// Who or what it comes from.
    pub by: Decider,
    /// The orchestrator that said it, or whose user did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name>,
    /// The question, if a policy answered it: then no other event has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    /// How many questions this stands for, if several; `question` is the last of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
}
