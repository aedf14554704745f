//! How fast members send, as plainly as possible: every message is kept, and all are counted again for each.

use std::collections::{BTreeMap, BTreeSet};

use crate::bus::event::{Entry, Event, MessageSent, RequestOpened};
use crate::bus::model::asked_request::Asked;
use crate::domain::ids::{MessageId, RequestId, SessionId};
use crate::domain::limits::TeamLimits;
use crate::domain::messaging::{MessageKind, RequestStatus};
use crate::domain::name::Name;

/// The limits of the team, and what each member has sent since they, or the boot, or its generated name began.
#[derive(Default)]
pub(in crate::bus::model) struct PaceLedger {
    limits: TeamLimits,
    paces: BTreeMap<Name, Vec<(u64, Option<MessageSent>)>>,
    opened: Vec<(u64, RequestOpened)>,
}

impl PaceLedger {
    pub(in crate::bus::model) fn limit(&mut self, limits: TeamLimits) {
        *self = Self { limits, ..Self::default() };
    }

    pub(in crate::bus::model) fn forget_all(&mut self) {
        self.paces.clear();
        self.opened.clear();
    }

    pub(in crate::bus::model) fn forget(&mut self, name: &Name) {
        self.paces.remove(name);
        self.opened.retain(|(_, opened)| opened.from != *name);
    }

    /// Counts what is never refused.
    pub(in crate::bus::model) fn count(
        &mut self,
        entry: &Entry,
        from: Option<&Name>,
        sent: Option<&MessageSent>,
    ) {
        if let Some(from) = from.filter(|_| self.limits.messages_per_minute > 0) {
            let pace = self.paces.entry(from.clone()).or_default();
            pace.push((entry.tick.ms, sent.cloned()));
        }
    }

    /// Checks that a member opens requests neither too fast nor the same twice at once.
    pub(in crate::bus::model) fn check_opened(
        &mut self,
        entry: &Entry,
        opened: &RequestOpened,
        requests: &BTreeMap<RequestId, Asked>,
    ) {
        let now_ms = entry.tick.ms;
        if self.limits.messages_per_minute > 0 {
            let has_ended = |id: &RequestId| {
                let ended = [RequestStatus::Expired, RequestStatus::Failed];
                requests.get(id).is_none_or(|asked| ended.contains(&asked.status))
            };
            let is_double = |(ms, before): &(u64, RequestOpened)| {
                now_ms - ms < 2_000 && is_same(before, opened) && !has_ended(&before.id)
            };
            assert!(!self.opened.iter().any(is_double), "the same request twice: {opened:?}");
            self.opened.push((now_ms, opened.clone()));
        }
        self.check(entry, Some(&opened.from), None, &BTreeSet::new());
    }

    /// Checks that a member sends neither too fast nor the same twice at once. `ended` are the deliveries that ended without a reader.
    pub(in crate::bus::model) fn check(
        &mut self,
        entry: &Entry,
        from: Option<&Name>,
        sent: Option<&MessageSent>,
        ended: &BTreeSet<(MessageId, Name)>,
    ) {
        let (rate, burst) = (self.limits.messages_per_minute, self.limits.message_burst);
        let Some(from) = from.filter(|_| rate > 0) else {
            return;
        };
        if sent.is_some_and(|sent| ends_claim(entry, sent)) {
            return self.count(entry, Some(from), sent);
        }
        let now_ms = entry.tick.ms;
        let pace = self.paces.entry(from.clone()).or_default();
        let what = |sent: &MessageSent| {
            let more = (sent.priority, sent.more.clone());
            (sent.kind, sent.audience.folded(), sent.reply_to.clone(), sent.body.clone(), more)
        };
        let is_double = |(ms, other): &(u64, Option<MessageSent>)| {
            let both = other.as_ref().zip(sent);
            let has_ended = |other: &MessageSent| {
                let mut to = other.to.named().iter();
                to.all(|name| ended.contains(&(other.id.clone(), name.clone())))
            };
            now_ms - ms < 2_000
                && both.is_some_and(|(other, sent)| what(other) == what(sent) && !has_ended(other))
        };
        assert!(!pace.iter().any(is_double), "the same message twice in 2 s: {sent:?}");
        pace.push((now_ms, sent.cloned()));
        for (index, (since_ms, _)) in pace.iter().enumerate() {
            let count = (pace.len() - index) as u64;
            let allowed = burst * 60_000 + (now_ms - since_ms) * rate;
            assert!(count * 60_000 <= allowed, "{count} messages in {} ms", now_ms - since_ms);
        }
    }
}

/// Says whether a message counts for the rate: all but notices, the news of a claim, and the answer of an owner to its requester.
pub(in crate::bus::model) fn counts(
    by: Option<SessionId>,
    sent: &MessageSent,
    requests: &BTreeMap<RequestId, Asked>,
) -> bool {
    let asked = sent.request.as_ref().and_then(|id| requests.get(id));
    let is_owners = asked.is_some_and(|asked| {
        sent.class().answers()
            && asked.owner == by
            && by.is_some()
            && sent.to.named().contains(&asked.from)
    });
    match sent.kind {
        MessageKind::Message | MessageKind::Broadcast => true,
        MessageKind::Response => sent.claimed_by.is_none() && !is_owners,
        _ => false,
    }
}

/// Says whether two requests are the same, of the same member.
fn is_same(one: &RequestOpened, other: &RequestOpened) -> bool {
    let times = |opened: &RequestOpened| (opened.nudge_ms, opened.ttl_ms, opened.lease_ms);
    one.from == other.from
        && one.audience().is_same(&other.audience())
        && (&one.description, &one.context) == (&other.description, &other.context)
        && times(one) == times(other)
}

/// Says whether a message is what an owner says when it releases its claim or gives the request up.
fn ends_claim(entry: &Entry, sent: &MessageSent) -> bool {
    let ends = |event: &Event| {
        matches!(event, Event::RequestReopened { released: true, .. } | Event::RequestFailed { .. })
    };
    sent.kind == MessageKind::Message && sent.thread.is_some() && entry.events.iter().any(ends)
}
