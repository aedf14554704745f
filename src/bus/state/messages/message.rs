//! A message without its body: its author, its addressees, and how far it has come with each of them.

use serde::{Deserialize, Serialize};

use crate::bus::state::{BodyRef, Deliveries, Delivery};
use crate::domain::ids::{MessageId, RequestId, TaskId};
use crate::domain::messaging::{Audience, Author, MessageKind, Priority};
use crate::domain::name::Name;

/// A message without its body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub id: MessageId,
    /// Its place among all.
    pub seq: u64,
    /// When it was sent, in wall time.
    pub sent_ms: i64,
    pub kind: MessageKind,
    pub from: Author,
    /// Whom it is shown to be for.
    pub audience: Audience,
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
    /// The first message of its thread.
    pub thread: MessageId,
    /// How urgent it is for a member that works on something else.
    #[serde(default, skip_serializing_if = "Priority::is_normal")]
    pub priority: Priority,
    /// Where its text is.
    pub body: BodyRef,
    /// Its delivery status for each addressee.
    #[serde(default, skip_serializing_if = "Deliveries::is_empty")]
    pub deliveries: Deliveries,
}

impl Message {
    /// Says whether a member may see the message: its author and its addressees only.
    pub(in crate::bus) fn is_visible_to(&self, name: &Name) -> bool {
        self.from.member() == Some(name) || self.deliveries.get(name).is_some()
    }

    /// Returns the delivery status for a member.
    pub fn delivery(&self, name: &Name) -> Option<Delivery> {
        self.deliveries.get(name).copied()
    }
}
