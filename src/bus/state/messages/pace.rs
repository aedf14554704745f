//! How fast a member sends, and what it sent last: for the limit of its rate, and for messages and requests that it sends twice.
//!
//! A bucket leaks: each message pours into it, and time drains it at the allowed rate. It never holds more than the burst. All numbers
//! are integers, so every process computes the same.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::bus::event::{Body, Envelope, RequestOpened};
use crate::domain::ids::MessageId;
use crate::domain::limits::{self, TeamLimits};
use crate::domain::messaging::{Audience, MessageKind, Priority};
use crate::domain::wait_times;

/// What one message pours into the bucket: the milliseconds of a minute, so that a rate of messages a minute drains as many units a
/// millisecond.
const MESSAGE: u64 = 60_000;

/// How fast a member sends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// What is in the bucket.
    filled: u64,
    /// When that was, in milliseconds of the boot.
    at_ms: u64,
    /// What it sent last, oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    lately: VecDeque<SentLately>,
}

/// A message that was just sent, or one that shows a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SentLately {
    id: MessageId,
    digest: u64,
    /// In milliseconds of the boot.
    at_ms: u64,
}

impl SentLately {
    /// Says whether the same message now would be this one. One of another boot, whose clock was ahead, is not fresh.
    fn is_fresh(&self, now_ms: u64) -> bool {
        let passed_ms = now_ms.checked_sub(self.at_ms);
        passed_ms.is_some_and(|passed_ms| passed_ms < wait_times::DOUBLE_MS)
    }
}

/// What makes two messages of one sender the same.
pub struct Likeness<'a> {
    pub kind: MessageKind,
    pub audience: &'a Audience,
    pub reply_to: Option<&'a MessageId>,
    pub priority: Priority,
    pub beside: Beside<'a>,
    pub body: &'a Body,
}

/// What a message has beside its text.
pub enum Beside<'a> {
    Envelope(Option<&'a Envelope>),
    /// The terms of a request.
    Terms(&'a RequestOpened),
}

impl Beside<'_> {
    /// Returns it in words without a NUL.
    fn text(&self) -> String {
        let json = match self {
            Self::Envelope(more) => more.map(serde_json::to_string),
            Self::Terms(RequestOpened { context, nudge_ms, ttl_ms, lease_ms, urgency, .. }) => {
                Some(serde_json::to_string(&(context, nudge_ms, ttl_ms, lease_ms, urgency)))
            }
        };
        json.and_then(Result::ok).unwrap_or_default()
    }
}

impl<'a> Likeness<'a> {
    /// Returns what makes two requests of one member the same, given whom this one is for.
    pub fn of_request(opened: &'a RequestOpened, audience: &'a Audience) -> Self {
        Self {
            kind: MessageKind::Request,
            audience,
            reply_to: None,
            priority: opened.priority(),
            beside: Beside::Terms(opened),
            body: &opened.description,
        }
    }
}

impl Likeness<'_> {
    /// Returns a digest; none for a text that is stored elsewhere, and so cannot be compared.
    fn digest(&self) -> Option<u64> {
        let Body::Text(text) = self.body else {
            return None;
        };
        let audience = self.audience.folded();
        let reply_to = self.reply_to.map(ToString::to_string).unwrap_or_default();
        let beside = self.beside.text();
        let mut hasher = Sha256::new();
        // No part but the last has a NUL in it.
        for part in [self.kind.as_str(), &audience, &reply_to, self.priority.as_str(), &beside] {
            hasher.update(part);
            hasher.update([0]);
        }
        hasher.update(text.as_bytes());
        hasher.finalize().first_chunk().map(|head| u64::from_be_bytes(*head))
    }
}

impl Pace {
    /// Returns after how many milliseconds the next message is allowed, if it is not now.
    pub(in crate::bus) fn wait_ms(&self, limits: &TeamLimits, now_ms: u64) -> Option<u64> {
        let rate = limits.messages_per_minute;
        if rate == 0 {
            return None;
        }
        let room = limits.message_burst.max(1).saturating_mul(MESSAGE);
        let over = self.filled_at(rate, now_ms).saturating_add(MESSAGE).saturating_sub(room);
        (over > 0).then(|| over.div_ceil(rate))
    }

    /// Returns the message that was sent within the last moments and is the same.
    pub(in crate::bus) fn double(&self, of: &Likeness<'_>, now_ms: u64) -> Option<&MessageId> {
        let digest = of.digest()?;
        let is_double = |sent: &&SentLately| sent.digest == digest && sent.is_fresh(now_ms);
        self.lately.iter().rev().find(is_double).map(|sent| &sent.id)
    }

    /// Says whether anything in it still counts.
    pub(in crate::bus::state) fn lasts(&self, limits: &TeamLimits, now_ms: u64) -> bool {
        self.filled_at(limits.messages_per_minute, now_ms) > 0
            || self.lately.iter().any(|sent| sent.is_fresh(now_ms))
    }

    /// Counts one more message.
    pub(in crate::bus::state) fn fill(&mut self, limits: &TeamLimits, now_ms: u64) {
        self.filled = self.filled_at(limits.messages_per_minute, now_ms).saturating_add(MESSAGE);
        self.at_ms = now_ms;
    }

    /// Notes a message that was sent, or a request.
    pub(in crate::bus::state) fn note(
        &mut self,
        (id, likeness): (&MessageId, &Likeness<'_>),
        limits: &TeamLimits,
        now_ms: u64,
    ) {
        self.fill(limits, now_ms);
        self.lately.retain(|sent| sent.is_fresh(now_ms));
        if let Some(digest) = likeness.digest() {
            self.lately.push_back(SentLately { id: id.clone(), digest, at_ms: now_ms });
        }
        while self.lately.len() > limits::KEPT_SENT_LATELY {
            self.lately.pop_front();
        }
    }

    fn filled_at(&self, rate: u64, now_ms: u64) -> u64 {
        // In another boot nothing drains until the next message.
        let passed_ms = now_ms.saturating_sub(self.at_ms);
        self.filled.saturating_sub(passed_ms.saturating_mul(rate))
    }

    /// Returns how many messages are remembered.
    #[cfg(test)]
    pub(in crate::bus) fn remembered(&self) -> usize {
        self.lately.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::name::Name;

    fn limits(messages_per_minute: u64, message_burst: u64) -> TeamLimits {
        TeamLimits { messages_per_minute, message_burst, ..TeamLimits::default() }
    }

    fn send(pace: &mut Pace, limits: &TeamLimits, now_ms: u64) {
        let body = Body::Text("x".into());
        let likeness = Likeness {
            kind: MessageKind::Message,
            audience: &Audience::One(Name::parse("ann").unwrap()),
            reply_to: None,
            priority: Priority::Normal,
            beside: Beside::Envelope(None),
            body: &body,
        };
        pace.note((&MessageId::from_bits(now_ms), &likeness), limits, now_ms);
    }

    #[test]
    fn a_burst_is_allowed_at_once_and_then_one_message_at_a_time() {
        let (mut pace, limits) = (Pace::default(), limits(60, 3));
        for _ in 0..3 {
            assert_eq!(pace.wait_ms(&limits, 1_000_000), None);
            send(&mut pace, &limits, 1_000_000);
        }
        assert_eq!(pace.wait_ms(&limits, 1_000_000), Some(1_000));
        assert_eq!(pace.wait_ms(&limits, 1_000_999), Some(1));
        assert_eq!(pace.wait_ms(&limits, 1_001_000), None);
        send(&mut pace, &limits, 1_001_000);
        assert_eq!(pace.wait_ms(&limits, 1_001_000), Some(1_000));
        // After a while the whole burst is there again, and no more.
        for _ in 0..3 {
            assert_eq!(pace.wait_ms(&limits, 9_000_000), None);
            send(&mut pace, &limits, 9_000_000);
        }
        assert_eq!(pace.wait_ms(&limits, 9_000_000), Some(1_000));
    }

    #[test]
    fn a_rate_of_zero_is_no_limit_and_a_clock_that_begins_again_drains_nothing() {
        let (mut pace, fast) = (Pace::default(), limits(0, 1));
        for _ in 0..100 {
            send(&mut pace, &fast, 5);
            assert_eq!(pace.wait_ms(&fast, 5), None);
        }
        assert!(pace.lately.len() <= limits::KEPT_SENT_LATELY);
        let (mut pace, slow) = (Pace::default(), limits(1, 1));
        send(&mut pace, &slow, 1_000_000);
        assert_eq!(pace.wait_ms(&slow, 7), Some(60_000));
    }
}
