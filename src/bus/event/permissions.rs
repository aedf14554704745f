//! The fields of permission events: the question and its answer.

use serde::{Deserialize, Serialize};

use crate::domain::ids::{PermissionId, SessionId, TaskId};
use crate::domain::name::Name;
use crate::domain::permission::{Decider, Decision};

/// The action for which an agent needs permission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub session: SessionId,
    pub agent: Name,
    /// The task in whose turn it asks; none in a wake turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The kind of the tool, in ACP's words.
    pub kind: String,
    /// The description for people, in the agent's words.
    pub title: String,
    /// The paths concerned, as the agent names them, and their targets if those differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

/// An agent asks for permission, and waits for the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionAsked {
    pub id: PermissionId,
    pub question: Question,
    /// The possible answers.
    pub offers: Vec<Decision>,
    /// Milliseconds after which it is rejected.
    pub timeout_ms: u64,
}

/// A permission question is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionAnswered {
    pub id: PermissionId,
    pub decision: Decision,
    /// The source of the answer.
    pub by: Decider,
    /// The orchestrator that answered, or whose user did; none for the person at the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Name>,
    /// The question, if a policy answered it: no other event has it then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    /// The number of questions that this event stands for, if several. `question` is the last of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
    /// Whether a rejection also counts for later questions like this one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lasts: bool,
}

impl PermissionAnswered {
    /// Returns the decision as it was given.
    pub fn given(&self) -> Decision {
        self.decision.of_stored(self.lasts)
    }
}
