//! A message without its body: its author, its addressees, and its delivery status for each of them.

use serde::{Deserialize, Serialize};

use crate::bus::state::{BodyRef, Deliveries, Delivery, EnvelopeHeader};
use crate::domain::ids::{MessageId, RequestId, SessionId, TaskId};
use crate::domain::messaging::{Audience, Author, MessageKind, Priority};
use crate::domain::name::Name;

/// A message without its body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and most have none")]
pub struct Message {
    pub id: MessageId,
    /// The seq of its event: messages are ordered by it.
    pub seq: u64,
    /// When it was sent, in wall time.
    pub sent_ms: i64,
    pub kind: MessageKind,
    pub from: Author,
    /// The recipients that its readers see.
    pub audience: Audience,
    /// The request that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
    /// The task that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The member that claimed the request, if the message reports that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<Name>,
    /// The message that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// The first message of its thread.
    pub thread: MessageId,
    /// Its urgency for a member that works on something else.
    #[serde(default, skip_serializing_if = "Priority::is_normal")]
    pub priority: Priority,
    /// Whether it is worth no turn of an idle agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quiet: bool,
    /// Whether the thread that it begins is resolved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resolved: bool,
    /// Whether two members have disagreed in the thread that it begins.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disputed: bool,
    /// Whether its sender has put another message in its place. Who had it in hands then and did not see it gets the other alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replaced: bool,
    /// What few messages have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<Box<EnvelopeHeader>>,
    pub body: BodyRef,
    #[serde(default, skip_serializing_if = "Deliveries::is_empty")]
    pub deliveries: Deliveries,
}

impl Message {
    /// Says whether a message is a member's: its author and its addressees only.
    pub(in crate::bus) fn is_visible_to(&self, name: &Name) -> bool {
        self.from.member() == Some(name) || self.deliveries.get(name).is_some()
    }

    /// Says whether a member may read the message: as its author, or as an addressee from whom its sender did not take it before it was
    /// shown. A request that others have claimed stays readable.
    pub fn is_readable_by(&self, name: &Name) -> bool {
        let is_kept =
            |delivery: &Delivery| self.kind == MessageKind::Request || !delivery.ended_unseen();
        self.from.member() == Some(name) || self.deliveries.get(name).is_some_and(is_kept)
    }

    /// Says whether another member has the message instead of this one: it went to the next who fits, or to the next lead.
    pub(in crate::bus) fn has_passed_on_from(&self, name: &Name) -> bool {
        let has_it = |(other, delivery): (&Name, &Delivery)| {
            other != name && !delivery.ended_unseen() && !self.is_copy_for(other)
        };
        let ended = self.delivery(name).is_some_and(Delivery::ended_unseen);
        ended && !self.replaced && self.deliveries.iter().any(has_it)
    }

    pub fn delivery(&self, name: &Name) -> Option<Delivery> {
        self.deliveries.get(name).copied()
    }

    /// Says whether it is unread again after a delivery to this member that nothing proved.
    pub fn is_returned_to(&self, name: &Name) -> bool {
        matches!(self.delivery(name), Some(Delivery::Unread { last: Some(_) }))
    }

    /// Says whether it is a notice that an earlier session of this member than `now` was given, and that nothing has proven.
    pub fn is_old_notice_to(&self, name: &Name, now: SessionId) -> bool {
        let delivery = self.delivery(name);
        self.kind == MessageKind::Notice
            && matches!(delivery, Some(Delivery::Unread { last: Some((given, _)) }) if given != now)
    }
}
