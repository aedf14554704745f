//! What the events of messages store: the message itself, and which answers were written to their clients.

use serde::{Deserialize, Serialize};

use super::{Addressees, Body, Skip};
use crate::domain::ids::{CallId, MessageId, RequestId, SessionId, TaskId};
use crate::domain::messaging::{Audience, Author, MessageKind, Priority};
use crate::domain::name::Name;

/// A message is on the bus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageSent {
    pub id: MessageId,
    pub kind: MessageKind,
    pub from: Author,
    /// To whom it is addressed, as it is shown.
    pub audience: Audience,
    /// Whose inboxes it is in.
    pub to: Addressees,
    /// The request that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
    /// The task that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Who claimed the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<Name>,
    /// The message that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// The first message of its thread; itself when it begins one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<MessageId>,
    /// The tasks whose ends it reports, instead of one notice for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ends: Vec<TaskId>,
    /// How urgent it is for a member that works on something else.
    #[serde(default, skip_serializing_if = "Priority::is_normal")]
    pub priority: Priority,
    pub body: Body,
}

/// The whole answer of a call, with its messages, has been written to its client. It proves nothing by itself; without it the end
/// of a turn and the next hook prove nothing either.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerWritten {
    /// Whose call it is.
    pub session: SessionId,
    pub call: CallId,
    /// Older versions assume that every delivery was written.
    pub skip: Skip,
}
