//! What the header of a message keeps of its envelope, and the place of a message among the unread ones.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bus::event::Envelope;
use crate::domain::is_zero::is_zero;
use crate::domain::messaging::{MessageOrigin, Priority, Signal, Urgency};
use crate::domain::name::Name;

/// What the header of a message keeps of its envelope. The rest stays in the log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvelopeHeader {
    /// What the message is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<Signal>,
    /// Its place on the scale of urgency, if that is another one than that of its priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urgency: Option<Urgency>,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "ref")]
    pub reference: Option<String>,
    /// It expires where it is not seen after these seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u64>,
    /// When that is, in the time of the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<i64>,
    /// Its sender wants an answer within these seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_seconds: Option<u64>,
    /// The recipients that get a copy because its text mentions them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<Name>,
    /// The message of another project that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<MessageOrigin>,
    /// Who has resolved the thread that it begins, while that is resolved. Older versions do not note it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_by: Option<Name>,
    /// The bytes of what stays in the log beside its text.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes: u64,
}

impl EnvelopeHeader {
    /// Returns what a header keeps.
    pub(in crate::bus) fn of(envelope: &Envelope) -> Self {
        Self {
            signal: envelope.signal.clone(),
            urgency: envelope.urgency,
            reference: envelope.reference.clone(),
            ttl_seconds: envelope.ttl_seconds,
            expires_ms: None,
            response_seconds: envelope.response_seconds,
            mentions: envelope.mentions.clone(),
            origin: envelope.origin.clone(),
            resolved_by: None,
            bytes: envelope.bytes(),
        }
    }
}

/// The place of a message among the unread ones: the most urgent is first, and then the oldest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Cow<'_, str>", into = "String")]
pub struct UnreadPlace {
    urgency: Reverse<u16>,
    /// The seq of its event.
    pub seq: u64,
}

impl UnreadPlace {
    pub(in crate::bus::state) fn new(urgency: Urgency, seq: u64) -> Self {
        Self { urgency: urgency.first(), seq }
    }
}

/// The key of an unread message in a snapshot is none.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not the place of an unread message")]
pub struct PlaceError(String);

/// Written like the seq alone, as in earlier versions, unless the message has another urgency than most: `12@950`.
impl fmt::Display for UnreadPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Reverse(urgency), seq) = (self.urgency, self.seq);
        if self.urgency == Priority::Normal.urgency().first() {
            write!(f, "{seq}")
        } else {
            write!(f, "{seq}@{urgency}")
        }
    }
}

impl TryFrom<Cow<'_, str>> for UnreadPlace {
    type Error = PlaceError;

    fn try_from(text: Cow<'_, str>) -> Result<Self, PlaceError> {
        let wrong = || PlaceError(text.chars().take(32).collect());
        let (seq, urgency) = match text.split_once('@') {
            None => (text.as_ref(), Priority::Normal.urgency()),
            Some((seq, urgency)) => {
                let steps = urgency.parse().map_err(|_| wrong())?;
                (seq, Urgency::of_thousandths(steps))
            }
        };
        let seq = seq.parse().map_err(|_| wrong())?;
        Ok(Self { urgency: urgency.first(), seq })
    }
}

impl From<UnreadPlace> for String {
    fn from(place: UnreadPlace) -> Self {
        place.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_most_messages_is_written_as_it_first_was() {
        let place = |urgency: Urgency| UnreadPlace { urgency: urgency.first(), seq: 12 };
        for (urgency, written) in [
            (Priority::Normal, "\"12\""),
            (Priority::Urgent, "\"12@950\""),
            (Priority::Low, "\"12@200\""),
        ] {
            let place = place(urgency.urgency());
            assert_eq!(serde_json::to_string(&place).unwrap(), written);
            assert_eq!(serde_json::from_str::<UnreadPlace>(written).unwrap(), place);
        }
        for wrong in ["\"\"", "\"x\"", "\"1@\"", "\"1@x\"", "\"@1\""] {
            assert!(serde_json::from_str::<UnreadPlace>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_header_without_an_envelope_grows_by_one_pointer() {
        assert_eq!(size_of::<Option<Box<EnvelopeHeader>>>(), size_of::<usize>());
    }
}
