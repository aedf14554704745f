//! A message with its receipts: how far it has come with each recipient.

use schemars::JsonSchema;
use serde::Serialize;

use crate::bus::state::Delivery;
use crate::domain::messaging::DeliveryMethod;
use crate::view::Moment;

/// A message.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Letter {
    pub message_id: String,
    /// The seq of its event.
    pub seq: u64,
    pub at: Moment,
    /// The sender; `bridge` is the bus itself, `human` the person at the command line.
    pub from: String,
    /// A name, or `all`.
    pub to: String,
    /// message, request, response, nudge, broadcast, shutdown or notice.
    pub kind: String,
    /// The beginning of its text as one line; missing if the text cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The length of its text in bytes.
    pub bytes: u64,
    /// The first message of its thread.
    pub thread_id: String,
    /// The message that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// The request that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The task that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Whether it is worth an interruption.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub urgent: bool,
    /// How far it has come, by recipient.
    pub receipts: Vec<Receipt>,
}

/// How far a message has come with one recipient.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Receipt {
    pub member: String,
    pub status: ReceiptStatus,
    /// The method of its last delivery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// When it was last delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivered_at: Option<Moment>,
    /// When it was proven that the model has seen it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen_at: Option<Moment>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptStatus {
    /// It is stored, and in the inbox.
    Unread,
    /// It is on its way to the model, which has not proven to have seen it.
    Delivered,
    /// The model has seen it.
    Seen,
    /// It was withdrawn before it was read.
    Withdrawn,
    /// The recipient is gone, or did not come back in time.
    Expired,
}

impl ReceiptStatus {
    /// Returns its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unread => "unread",
            Self::Delivered => "delivered",
            Self::Seen => "seen",
            Self::Withdrawn => "withdrawn",
            Self::Expired => "expired",
        }
    }

    fn is_final(self) -> bool {
        matches!(self, Self::Seen | Self::Withdrawn | Self::Expired)
    }
}

impl Letter {
    /// Says whether it is no talk: a notice of the bridge, or the farewell to an agent that is stopped.
    pub fn is_routine(&self) -> bool {
        matches!(self.kind.as_str(), "notice" | "shutdown")
    }

    /// Returns the receipt of a member, which may be new.
    pub(super) fn receipt(&mut self, member: &str) -> &mut Receipt {
        let known = self.receipts.iter().position(|receipt| receipt.member == member);
        let index = known.unwrap_or_else(|| {
            self.receipts.push(Receipt::unread(member.to_owned()));
            self.receipts.len() - 1
        });
        &mut self.receipts[index]
    }
}

impl Receipt {
    /// Says how far a message has come that was sent at that moment.
    pub fn in_words(&self, sent: Moment) -> String {
        let method = self.method.as_ref().map(|method| format!(" by {method}")).unwrap_or_default();
        let after = self.seen_at.map(|seen| {
            let ms = sent.until(seen);
            format!(" after {}.{} s", ms / 1000, ms % 1000 / 100)
        });
        let after = after.unwrap_or_default();
        format!("{}: {}{method}{after}", self.member, self.status.as_str())
    }

    fn unread(member: String) -> Self {
        Self {
            member,
            status: ReceiptStatus::Unread,
            method: None,
            delivered_at: None,
            seen_at: None,
        }
    }

    pub(super) fn is_final(&self) -> bool {
        self.status.is_final()
    }

    /// Says whether it is as far as a delivery is.
    pub(super) fn is_as(&self, delivery: Delivery) -> bool {
        match (self.status, delivery) {
            (ReceiptStatus::Unread, Delivery::Unread { .. })
            | (ReceiptStatus::Seen, Delivery::Seen)
            | (ReceiptStatus::Withdrawn, Delivery::Superseded)
            | (ReceiptStatus::Expired, Delivery::Expired) => true,
            (ReceiptStatus::Delivered, Delivery::InFlight { method, .. }) => {
                self.method.as_deref() == Some(method.as_str())
            }
            _ => false,
        }
    }

    /// Notes that the message is in the inbox, also again after it was withdrawn.
    pub(super) fn begins(&mut self) {
        if self.status == ReceiptStatus::Withdrawn {
            *self = Self::unread(std::mem::take(&mut self.member));
        }
    }

    pub(super) fn delivered(&mut self, method: DeliveryMethod, at: Moment) {
        self.status = ReceiptStatus::Delivered;
        self.method = Some(method.as_str().to_owned());
        self.delivered_at = Some(at);
    }

    pub(super) fn seen(&mut self, at: Moment) {
        self.status = ReceiptStatus::Seen;
        self.seen_at = Some(at);
    }

    /// Notes that the delivery failed.
    pub(super) fn returned(&mut self) {
        if self.status == ReceiptStatus::Delivered {
            *self = Self::unread(std::mem::take(&mut self.member));
        }
    }

    /// Notes an end without a reader, unless there was another end before.
    pub(super) fn ends(&mut self, status: ReceiptStatus) {
        if !self.status.is_final() {
            self.status = status;
        }
    }
}
