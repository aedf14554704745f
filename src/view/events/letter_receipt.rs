//! A receipt: how far a message has come with one recipient. It goes forward only, but for a delivery that fails.

use schemars::JsonSchema;
use serde::Serialize;

use crate::bus::state::Delivery;
use crate::domain::limits;
use crate::domain::messaging::{Acknowledgement, Audience, DeliveryMethod, StateElsewhere};
use crate::domain::text::visible_letters::{beginning, quoted, seen};
use crate::view::Moment;

/// Returns the beginning of a note, or of the summary of a thread, as one line. Like the receipt that its sender gets, it has `�` for each
/// letter that acts on a terminal or deceives a reader.
pub(in crate::view) fn shown_note(note: &str, most: usize) -> String {
    beginning(&seen(note), most)
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
    /// When the recipient acknowledged it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledged_at: Option<Moment>,
    /// The beginning of what the recipient says of it then, as one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When it was withdrawn, or given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Moment>,
    /// Why it was withdrawn, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The method and the time of a delivery that has failed, or seems so: its proof may come late.
    #[serde(skip)]
    pub(crate) failed: Option<(String, Moment)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptStatus {
    /// It is on its way to another project, and not there yet.
    Queued,
    /// It is stored, and in the inbox.
    Unread,
    /// It is on its way to the model, which has not proven to have seen it.
    Delivered,
    /// The model has seen it.
    Seen,
    /// The model has seen it, and knows of it.
    Acked,
    /// The recipient has dealt with it.
    Resolved,
    /// The recipient has seen it, and something else has taken its place.
    Superseded,
    /// It was withdrawn before it was read.
    Withdrawn,
    /// The recipient is gone, or did not come back in time.
    Expired,
    /// It never came to the other project.
    Undelivered,
}

impl ReceiptStatus {
    /// Returns its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Unread => "unread",
            Self::Delivered => "delivered",
            Self::Seen => "seen",
            Self::Acked => "acked",
            Self::Resolved => "resolved",
            Self::Superseded => "superseded",
            Self::Withdrawn => "withdrawn",
            Self::Expired => "expired",
            Self::Undelivered => "undelivered",
        }
    }

    /// Returns its word for the beginning of a phrase that ends with the name of the recipient.
    pub fn before_name(self) -> String {
        let before = match self {
            Self::Unread | Self::Seen | Self::Acked | Self::Resolved | Self::Superseded => "by",
            Self::Delivered | Self::Undelivered => "to",
            Self::Queued | Self::Expired => "for",
            Self::Withdrawn => "from",
        };
        format!("{} {before}", self.as_str())
    }

    /// Says whether the model has seen it, whatever its member has said of it since.
    pub fn is_seen(self) -> bool {
        match self {
            Self::Seen | Self::Acked | Self::Resolved | Self::Superseded => true,
            Self::Queued
            | Self::Unread
            | Self::Delivered
            | Self::Withdrawn
            | Self::Expired
            | Self::Undelivered => false,
        }
    }

    /// Says whether nobody has read it, and nobody will.
    pub(super) fn is_lost(self) -> bool {
        matches!(self, Self::Withdrawn | Self::Expired | Self::Undelivered)
    }

    fn is_final(self) -> bool {
        self.is_seen() || self.is_lost()
    }
}

impl Receipt {
    /// Says how far a message has come that was sent at that moment.
    pub fn in_words(&self, sent: Moment) -> String {
        let method = self.method.as_ref().map(|method| format!(" by {method}")).unwrap_or_default();
        let after = self.after(sent).unwrap_or_default();
        let note = self.said().unwrap_or_default();
        let why = self.why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
        format!("{}: {}{method}{after}{why}{note}", self.member, self.status.as_str())
    }

    /// Says how long after the sending it was acknowledged, or else seen.
    pub fn after(&self, sent: Moment) -> Option<String> {
        let ms = sent.until(self.acknowledged_at.or(self.seen_at)?);
        Some(format!(" after {}.{} s", ms / 1000, ms % 1000 / 100))
    }

    /// Quotes what the recipient says of it, for the end of a sentence.
    pub fn said(&self) -> Option<String> {
        self.note.as_ref().map(|note| format!(": {}", quoted(note, limits::PROMPT_CHARS)))
    }

    pub(crate) fn unread(member: String) -> Self {
        Self {
            member,
            status: ReceiptStatus::Unread,
            method: None,
            delivered_at: None,
            seen_at: None,
            acknowledged_at: None,
            note: None,
            ended_at: None,
            why: None,
            failed: None,
        }
    }

    /// Returns the receipts of a message that was just sent: of one to another project that it is on its way.
    pub(super) fn on_the_way(audience: &Audience) -> Vec<Self> {
        let address = audience.elsewhere().map(ToString::to_string);
        let queued = |address| Self { status: ReceiptStatus::Queued, ..Self::unread(address) };
        address.map(queued).into_iter().collect()
    }

    /// Takes over how far the message is with a member of another project, as its receipt says that came at that moment.
    pub(super) fn take_over(&mut self, state: StateElsewhere, note: Option<String>, at: Moment) {
        match state {
            StateElsewhere::Unread => self.begins(),
            StateElsewhere::Seen => self.seen(at),
            StateElsewhere::Acked => self.acknowledged(Acknowledgement::Acked, note, at),
            StateElsewhere::Resolved => self.acknowledged(Acknowledgement::Resolved, note, at),
            StateElsewhere::Superseded => self.acknowledged(Acknowledgement::Superseded, note, at),
            StateElsewhere::Withdrawn => self.ends(ReceiptStatus::Withdrawn, at),
            StateElsewhere::Expired => self.ends(ReceiptStatus::Expired, at),
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
            (status, Delivery::Acknowledged(said)) => status == ReceiptStatus::from(said),
            (ReceiptStatus::Delivered, Delivery::InFlight { method, .. }) => {
                self.method.as_deref() == Some(method.as_str())
            }
            _ => false,
        }
    }

    /// Notes that the message is in the inbox, also again: a later session of the member is shown a request afresh.
    pub(super) fn begins(&mut self) {
        if self.status.is_final() {
            *self = Self::unread(std::mem::take(&mut self.member));
        }
    }

    /// Notes that the message is in the inbox, unless the member has seen it or will not.
    pub(super) fn begins_unless_read(&mut self) {
        if self.status == ReceiptStatus::Withdrawn {
            self.begins();
        }
    }

    /// Takes over how far a delivery is, if it is elsewhere. When it came there is not known then.
    pub(super) fn correct(&mut self, delivery: Delivery) {
        if self.is_as(delivery) {
            return;
        }
        match delivery {
            Delivery::Unread { .. } => *self = Self::unread(std::mem::take(&mut self.member)),
            Delivery::InFlight { method, .. } => {
                *self = Self::unread(std::mem::take(&mut self.member));
                self.status = ReceiptStatus::Delivered;
                self.method = Some(method.as_str().to_owned());
            }
            Delivery::Seen => self.status = ReceiptStatus::Seen,
            Delivery::Superseded => self.status = ReceiptStatus::Withdrawn,
            Delivery::Expired => self.status = ReceiptStatus::Expired,
            Delivery::Acknowledged(said) => self.status = said.into(),
        }
    }

    pub(super) fn delivered(&mut self, method: DeliveryMethod, at: Moment) {
        self.status = ReceiptStatus::Delivered;
        self.method = Some(method.as_str().to_owned());
        self.delivered_at = Some(at);
    }

    pub(super) fn seen(&mut self, at: Moment) {
        if !self.status.is_seen() {
            self.status = ReceiptStatus::Seen;
            self.seen_at = Some(at);
            if let Some((method, at)) = self.failed.take().filter(|_| self.delivered_at.is_none()) {
                (self.method, self.delivered_at) = (Some(method), Some(at));
            }
        }
    }

    /// Notes that a delivery is proven, also one that was taken for failed.
    pub(super) fn proven(&mut self, method: DeliveryMethod, at: Moment) {
        if !self.is_final() {
            self.seen(at);
            self.method = Some(method.as_str().to_owned());
        }
    }

    /// Notes what the recipient says of it, which proves that it has seen it.
    pub(super) fn acknowledged(&mut self, said: Acknowledgement, note: Option<String>, at: Moment) {
        self.seen(at);
        self.status = said.into();
        self.acknowledged_at = Some(at);
        self.note = note;
    }

    /// Notes that the delivery failed. It may be proven yet.
    pub(super) fn returned(&mut self) {
        if self.status == ReceiptStatus::Delivered {
            let failed = self.method.take().zip(self.delivered_at);
            *self = Self::unread(std::mem::take(&mut self.member));
            self.failed = failed;
        }
    }

    /// Notes that it was withdrawn, unless there was another end before.
    pub(super) fn withdrawn(&mut self, why: Option<&String>, at: Moment) {
        if !self.status.is_final() {
            self.why = why.cloned();
        }
        self.ends(ReceiptStatus::Withdrawn, at);
    }

    /// Notes an end without a reader, unless there was another end before.
    pub(super) fn ends(&mut self, status: ReceiptStatus, at: Moment) {
        if !self.status.is_final() {
            self.status = status;
            self.ended_at = Some(at);
        }
    }
}

impl From<Acknowledgement> for ReceiptStatus {
    fn from(said: Acknowledgement) -> Self {
        match said {
            Acknowledgement::Acked => Self::Acked,
            Acknowledgement::Resolved => Self::Resolved,
            Acknowledgement::Superseded => Self::Superseded,
        }
    }
}
