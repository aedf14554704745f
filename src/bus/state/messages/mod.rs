//! Messages without their texts, how far each has come with its addressees, and the calls that wait for one.

mod deliver_and_settle;
mod delivery_status;
mod message_header;
mod find_messages;

pub use self::delivery_status::Deliveries;
pub(in crate::bus) use self::message_header::Origin;

use serde::{Deserialize, Serialize};

use crate::bus::state::BodyRef;
use crate::domain::ids::{CallId, MessageId, RequestId, SessionId, TaskId};
use crate::domain::messaging::{Audience, Author, DeliveryMethod, MessageKind, Priority};
use crate::domain::name::Name;

/// A call that waits for a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    pub call: CallId,
    /// Only from this member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Name>,
    /// Only about this request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
}

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

/// The delivery status of a message for one addressee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    Unread {
        /// The session and the call of the last delivery that was requeued.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last: Option<(SessionId, CallId)>,
    },
    /// In flight with a call.
    #[serde(rename = "handed")]
    InFlight {
        session: SessionId,
        call: CallId,
        way: DeliveryMethod,
    },
    /// Read by the model.
    Seen,
    Superseded,
    Expired,
}

impl Delivery {
    /// Says whether nothing more will happen to it.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Seen | Self::Superseded | Self::Expired)
    }
}

impl Wait {
    /// Says whether a message is what the call waits for. A shutdown ends every wait.
    pub fn fits(&self, message: &Message) -> bool {
        message.kind == MessageKind::Shutdown
            || (self.from.as_ref().is_none_or(|from| message.from.member() == Some(from))
                && self
                    .request
                    .as_ref()
                    .is_none_or(|request| message.request.as_ref() == Some(request)))
    }
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
