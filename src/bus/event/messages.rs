//! The fields of message events: the message itself, its acknowledgement, and answers written to their clients.

use serde::{Deserialize, Serialize};

use super::{Addressees, Body, Skip};
use crate::domain::ids::{CallId, MessageId, RequestId, SessionId, TaskId};
use crate::domain::messaging::{Acknowledgement, Audience, Author, MessageKind, Priority};
use crate::domain::name::Name;

/// A message is on the bus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageSent {
    pub id: MessageId,
    pub kind: MessageKind,
    pub from: Author,
    /// The audience as shown to readers.
    pub audience: Audience,
    /// The members in whose inboxes it is.
    pub to: Addressees,
    /// The request that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
    /// The task that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The member that claimed the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<Name>,
    /// The message that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// The first message of its thread, which may be itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<MessageId>,
    /// The tasks whose ends it reports, if it replaces a notice for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ends: Vec<TaskId>,
    /// The priority for a member that works on something else.
    #[serde(default, skip_serializing_if = "Priority::is_normal")]
    pub priority: Priority,
    /// Whether it waits for an idle agent's next turn, instead of beginning one: a message to a group that is neither urgent nor from
    /// an orchestrator.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quiet: bool,
    pub body: Body,
}

/// A recipient has said what has become of messages that it has seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageAcknowledged {
    pub ids: Vec<MessageId>,
    /// The recipient.
    pub member: Name,
    pub status: Acknowledgement,
    /// Its words to the senders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The whole answer of a call, with its messages, has been written to its client. This proves nothing by itself, but without it, the end
/// of a turn and the next hook prove nothing either.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerWritten {
    /// The session of the call.
    pub session: SessionId,
    pub call: CallId,
    /// Older versions assume that every delivery was written.
    pub skip: Skip,
}
