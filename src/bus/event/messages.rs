//! The fields of message events: the message itself, its acknowledgement, and answers written to their clients.

mod conflict;
mod crossing;

use serde::{Deserialize, Serialize};

use serde_json::{Map, Value};

pub use self::conflict::{
    ConflictMoved, ConflictOpened, ConflictOverruled, ConflictResolved, Position,
};
pub use self::crossing::{MessageHeld, MessageRelayed, ProjectsListed, ReceiptsTold};
use super::{Addressees, Body, Skip};
use crate::domain::ids::{CallId, MessageId, RequestId, SessionId, TaskId};
use crate::domain::member::SessionNumber;
use crate::domain::messaging::{
    Acknowledgement, Attachment, Audience, Author, MessageKind, MessageOrigin, Priority, Signal,
    SignalClass, Urgency,
};
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
    /// What few messages have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<Box<Envelope>>,
    pub body: Body,
}

impl MessageSent {
    /// A message that says something, from one member to nobody yet: where a test begins.
    #[cfg(test)]
    pub(crate) fn plain(id: MessageId, from: Name, audience: Audience, text: &str) -> Self {
        Self {
            id,
            kind: MessageKind::Message,
            from: Author::Member(from),
            audience,
            to: Vec::new().into(),
            request: None,
            task: None,
            claimed_by: None,
            reply_to: None,
            thread: None,
            ends: Vec::new(),
            priority: Priority::Normal,
            quiet: false,
            more: None,
            body: Body::Text(text.to_owned()),
        }
    }

    /// Returns the class of its signal. A message without one says something.
    pub fn class(&self) -> SignalClass {
        let signal = self.more.as_ref().and_then(|more| more.signal.as_ref());
        signal.map_or(SignalClass::Say, Signal::class)
    }

    /// Returns the thread that it reopens, if that is resolved: the one that it goes on with, unless it is a receipt or from the bridge.
    pub fn reopens(&self) -> Option<&MessageId> {
        let thread = self.thread.as_ref().filter(|thread| **thread != self.id);
        let says = self.from != Author::Bridge && self.class() != SignalClass::Receipt;
        thread.filter(|_| says)
    }
}

/// What a message has beside its text, where it has anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<Signal>,
    /// Its place on the scale of urgency, if that is another one than that of its priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urgency: Option<Urgency>,
    /// What it says to programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Map<String, Value>>,
    /// What is attached to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// What it is about, such as a path, a commit or a number in a tracker.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "ref")]
    pub reference: Option<String>,
    /// A message of the same sender, whose place it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<MessageId>,
    /// It expires where it is not seen after these seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u64>,
    /// Its sender wants an answer within these seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_seconds: Option<u64>,
    /// Whether it waits for the first who fits its address, because nobody does yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub queue: bool,
    /// The message of another project that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<MessageOrigin>,
    /// Who gets a copy because its text mentions them; in an operation, the words after `@`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<Name>,
    /// In an operation, the numbers of sessions after `@`, whose members get a copy. They are in no log.
    #[serde(skip)]
    pub mentioned_sessions: Vec<SessionNumber>,
}

impl Envelope {
    /// Says whether it says nothing, and so is not stored.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the bytes of what the state does not keep.
    pub fn bytes(&self) -> u64 {
        let attached: u64 = self.attachments.iter().map(Attachment::inline_bytes).sum();
        self.payload_bytes() + attached
    }

    /// Returns the length of its payload as JSON; 0 without one.
    pub fn payload_bytes(&self) -> u64 {
        let json = self.payload.as_ref().and_then(|payload| serde_json::to_string(payload).ok());
        json.map_or(0, |json| json.len() as u64)
    }
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

/// A recipient of the first messages of threads has resolved these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadResolved {
    /// Their first messages.
    pub threads: Vec<MessageId>,
    pub by: Name,
    /// How, in its words.
    pub summary: String,
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
