//! How far a message has come with one recipient, step by step.

use schemars::JsonSchema;
use serde::Serialize;

use crate::view::Moment;

/// How far a message has come with one recipient.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TraceReceipt {
    pub member: String,
    /// The last step.
    pub status: Progress,
    /// Each step, oldest first.
    pub steps: Vec<TraceProgress>,
}

/// A step of a message on its way to one recipient.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TraceProgress {
    pub status: Progress,
    pub at: Moment,
    /// The way by which it was handed over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// What the recipient says of it, as one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Why it was withdrawn, or has expired, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// It is in the inbox.
    Stored,
    /// It is on its way to the model, by some method.
    Handed,
    /// The delivery failed, and it is in the inbox again.
    Returned,
    /// It is proven that the model has seen it.
    Seen,
    /// The recipient knows of it.
    Acked,
    /// The recipient has dealt with it.
    Resolved,
    /// For the recipient, something else has taken its place.
    Superseded,
    /// It was taken from the inbox before it was seen.
    Withdrawn,
    /// It will not reach the recipient.
    Expired,
}

impl Progress {
    /// Returns its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Handed => "handed",
            Self::Returned => "unread again",
            Self::Seen => "seen",
            Self::Acked => "acked",
            Self::Resolved => "resolved",
            Self::Superseded => "superseded",
            Self::Withdrawn => "withdrawn",
            Self::Expired => "expired",
        }
    }

    /// Says whether the model has seen it, whatever its member has said of it since.
    pub fn is_seen(self) -> bool {
        matches!(self, Self::Seen | Self::Acked | Self::Resolved | Self::Superseded)
    }

    /// Says whether it ended without a reader.
    pub fn is_lost(self) -> bool {
        matches!(self, Self::Withdrawn | Self::Expired)
    }
}

impl TraceReceipt {
    /// Says how far it has come, in words.
    pub fn in_words(&self, sent: Moment) -> String {
        let steps: Vec<_> = self.steps.iter().map(|step| step.in_words(sent)).collect();
        format!("{}: {}", self.member, steps.join(", "))
    }
}

impl TraceProgress {
    fn in_words(&self, sent: Moment) -> String {
        let by = self.method.as_ref().map(|method| format!(" by {method}")).unwrap_or_default();
        let after = match (self.status, sent.until(self.at)) {
            (Progress::Stored, 0) => String::new(),
            (_, ms) => format!(" after {}.{} s", ms / 1000, ms % 1000 / 100),
        };
        let why = self.why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
        let note = self.note.as_ref().map(|note| format!(": {}", serde_json::Value::from(&**note)));
        format!("{}{by}{after}{why}{}", self.status.as_str(), note.unwrap_or_default())
    }
}
