//! A question for permission, and its answer.

use serde::{Deserialize, Serialize};

use crate::bus::event::Question;
use crate::domain::ids::{MessageId, PermissionId};
use crate::domain::name::Name;
use crate::domain::permission::{Decider, Decision};

/// A question for permission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permission {
    pub id: PermissionId,
    /// Its place among all.
    pub seq: u64,
    pub question: Question,
    /// What may be answered.
    pub offers: Vec<Decision>,
    /// When, in wall time.
    pub asked_ms: i64,
    /// How long it is open, in milliseconds.
    pub timeout_ms: u64,
    /// The notice to an orchestrator.
    pub notice: Option<MessageId>,
    pub answer: Option<PermissionAnswer>,
}

/// The answer to a question for permission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionAnswer {
    pub decision: Decision,
    /// Who or what it comes from.
    pub by: Decider,
    /// The orchestrator that said it, or whose user did.
    pub name: Option<Name>,
}
