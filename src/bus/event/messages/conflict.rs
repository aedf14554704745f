//! The fields of the events of disagreements.

use serde::{Deserialize, Serialize};

use crate::domain::ids::MessageId;
use crate::domain::messaging::{Author, ConflictEnd, ConflictStep};
use crate::domain::name::Name;

/// Two members disagree in a thread. The first round has begun, and the first party has spoken in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictOpened {
    /// The first message of the thread.
    pub thread: MessageId,
    /// Who disagrees, and with whom.
    pub parties: Vec<Position>,
    /// What the thread is about, as its first message says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
}

/// What a party stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    pub by: Name,
    /// The message that says it.
    pub message: MessageId,
}

/// A disagreement goes on: with a further round, or with somebody who decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictMoved {
    pub thread: MessageId,
    pub to: ConflictStep,
}

/// A disagreement is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictResolved {
    pub thread: MessageId,
    pub how: ConflictEnd,
    /// Who agreed or decided; the bridge if nobody did.
    pub by: Author,
    /// The message that holds from now on: the position that both share, or the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
}

/// The user has decided a disagreement that was over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictOverruled {
    pub thread: MessageId,
    /// The user's message, which holds from now on.
    pub message: MessageId,
}
