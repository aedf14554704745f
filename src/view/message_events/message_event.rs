//! One event of a message, a conversation or a disagreement.

use schemars::JsonSchema;
use serde::Serialize;

use crate::view::Moment;

/// What has happened to a message, a conversation or a disagreement.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MessageEvent {
    /// The seq of its event in the log. One of them may say several things of a message.
    pub seq: u64,
    pub at: Moment,
    #[serde(rename = "type")]
    pub kind: MessageEventKind,
    /// The first message of the thread; missing where only the message is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<String>,
    /// The message that it is about; of `conflict_resolved` the one that holds from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Of `message_responded`: the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// The request that the message is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Who writes, resolves or decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<EventParty>,
    /// To whom it goes, as its sender wrote that; of `message_received` and those that follow from it, the recipient.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<EventParty>,
    /// The signal: what the message is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// low, high or urgent, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
    /// The beginning of its text, as one line; missing if that cannot be read, or nobody may read it any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// Of `message_received`: the method of delivery. Of `message_acknowledged`: acked, resolved or superseded. Of `conflict_resolved`:
    /// agreed, decided or lapsed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// What the recipient says of a message, or how a conversation was resolved, as one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Of `conflict_detected`: who disagrees.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub participants: Vec<EventParty>,
    /// Of `conflict_detected`: what it is about, if the first message of its thread says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// Of `conflict_escalated`: who decides. An arbiter is named by `to`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution_level: Option<ConflictLevel>,
}

/// The types of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageEventKind {
    /// A message was written.
    MessageSent,
    /// It was delivered to a recipient, whose model may not have seen it yet.
    MessageReceived,
    /// The model has demonstrably seen it.
    MessageRead,
    /// The recipient says what has become of it, which proves that it has seen it.
    MessageAcknowledged,
    /// It was answered.
    MessageResponded,
    /// A message begins a thread.
    ConversationStarted,
    ConversationResolved,
    /// Two members disagree.
    ConflictDetected,
    /// Somebody else is asked to decide.
    ConflictEscalated,
    ConflictResolved,
}

impl MessageEventKind {
    /// Returns its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MessageSent => "message_sent",
            Self::MessageReceived => "message_received",
            Self::MessageRead => "message_read",
            Self::MessageAcknowledged => "message_acknowledged",
            Self::MessageResponded => "message_responded",
            Self::ConversationStarted => "conversation_started",
            Self::ConversationResolved => "conversation_resolved",
            Self::ConflictDetected => "conflict_detected",
            Self::ConflictEscalated => "conflict_escalated",
            Self::ConflictResolved => "conflict_resolved",
        }
    }
}

/// Who decides a disagreement that its parties have not settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConflictLevel {
    /// A member that is no party to it.
    ExpertArbitration,
    /// The user.
    HumanDecision,
}

/// Somebody whom an event is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EventParty {
    /// The name of a member; `bridge`, `human`, or an address such as `all` and `@role`.
    pub name: String,
}

impl EventParty {
    pub(super) fn of(name: &impl ToString) -> Self {
        Self { name: name.to_string() }
    }
}
