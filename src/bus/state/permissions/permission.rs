//! A permission question, and its answer.

use serde::{Deserialize, Serialize};

use crate::bus::event::Question;
use crate::domain::ids::{MessageId, PermissionId};
use crate::domain::name::Name;
use crate::domain::permission::{Decider, Decision};

/// A permission question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permission {
    pub id: PermissionId,
    /// The seq of its event: questions are ordered by it.
    pub seq: u64,
    pub question: Question,
    /// The possible answers.
    pub offers: Vec<Decision>,
    /// When it was asked, in wall time.
    pub asked_ms: i64,
    /// How long it is open, in milliseconds.
    pub timeout_ms: u64,
    /// The notice to an orchestrator.
    pub notice: Option<MessageId>,
    pub answer: Option<PermissionAnswer>,
}

/// The answer to a permission question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionAnswer {
    pub decision: Decision,
    pub by: Decider,
    /// The orchestrator that answered, or whose user did.
    pub name: Option<Name>,
    /// Whether a rejection also counts for later questions like this one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lasts: bool,
}

impl PermissionAnswer {
    /// Returns the decision as it was given.
    pub fn given(&self) -> Decision {
        self.decision.of_stored(self.lasts)
    }
}
