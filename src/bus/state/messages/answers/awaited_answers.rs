//! The deadlines of messages: until when they have to be seen, and until when answered.

use crate::bus::event::MessageSent;
use crate::bus::state::event_place::At;
use crate::bus::state::{AwaitedAnswer, Delivery, Due, Message, State};
use crate::domain::ids::MessageId;
use crate::domain::name::Name;
use crate::domain::time::Now;

impl State {
    /// Returns the answer that a message awaits.
    pub fn awaited_answer(&self, id: &MessageId) -> Option<&AwaitedAnswer> {
        self.awaited.get(id)
    }

    /// Returns the answers that a member owes, alone or with others, by the messages that they answer.
    pub fn answers_owed_by<'a>(
        &'a self,
        name: &Name,
    ) -> impl Iterator<Item = (&'a Message, &'a AwaitedAnswer)> {
        let owed = self.awaited.iter().filter(move |(_, awaited)| awaited.to.contains(name));
        owed.filter_map(|(id, awaited)| Some((self.messages.get(id)?, awaited)))
    }

    /// Returns when whoever owes the answer to a message is reminded next, in wall time.
    pub fn answer_due_ms(&self, id: &MessageId, now: Now) -> Option<i64> {
        self.due_at_ms(&Due::Answer(id.clone()), now)
    }

    /// Returns how many answers a member awaits.
    pub(in crate::bus) fn answers_awaited_by(&self, name: &Name) -> usize {
        self.awaited.values().filter(|awaited| awaited.from == *name).count()
    }

    /// Says whether a message is not worth reading any more, wherever it is unread.
    pub(in crate::bus) fn has_lapsed(&self, message: &Message, now: Now) -> bool {
        let expires_ms = message.more.as_ref().and_then(|more| more.expires_ms);
        expires_ms.is_some_and(|expires_ms| expires_ms <= self.watch.after(now).wall_ms())
    }

    /// Starts the deadlines of a message that was sent, and ends that of the message which it answers.
    pub(in crate::bus::state) fn start_deadlines(&mut self, sent: &MessageSent, at: &At) {
        self.answer_arrives(sent);
        let Some(more) = &sent.more else { return };
        if let Some(before) = &more.supersedes
            && let Some(awaited) = self.awaited.get(before)
            && sent.from.member() == Some(&awaited.from)
        {
            self.answer_not_awaited(before);
        }
        if let Some(seconds) = more.ttl_seconds {
            let expires_ms = self.watch.wall_ms().saturating_add_unsigned(in_ms(seconds));
            let message = self.messages.get_mut(&sent.id);
            if let Some(header) = message.and_then(|message| message.more.as_mut()) {
                header.expires_ms = Some(expires_ms);
            }
            self.time_message(&sent.id);
        }
        self.await_answer(&sent.id, at);
    }

    /// Awaits the answer to a message whose sender wants one, once somebody has the message.
    pub(in crate::bus::state) fn await_answer(&mut self, id: &MessageId, at: &At) {
        let Some(message) = self.messages.get(id) else { return };
        let seconds = message.more.as_ref().and_then(|more| more.response_seconds);
        let (Some(seconds), Some(from)) = (seconds, message.from.member()) else {
            return;
        };
        let having = message.deliveries.iter().filter(|(_, delivery)| !delivery.ended_unseen());
        let names = having.map(|(name, _)| name);
        let to: Vec<_> = names.filter(|name| message.asks(name)).cloned().collect();
        if to.is_empty() {
            return;
        }
        let (from, audience) = (from.clone(), message.audience.clone());
        let thread = message.thread.clone();
        let awaited = AwaitedAnswer { from, audience, to, thread, seconds, reminders: 0 };
        self.awaited.insert(id.clone(), awaited);
        self.timers.start(Due::Answer(id.clone()), at.tick.ms, in_ms(seconds));
    }

    /// Ends the wait for an answer, if a message is it: the first one counts.
    fn answer_arrives(&mut self, sent: &MessageSent) {
        let Some(asked) = &sent.reply_to else { return };
        let Some(awaited) = self.awaited.get(asked) else { return };
        if let Some(message) = self.messages.get(&sent.id)
            && message.delivery(&awaited.from).is_some()
            && self.is_answer(message, asked)
        {
            self.answer_not_awaited(asked);
        }
    }

    /// Counts a reminder, and waits for the next.
    pub(in crate::bus::state) fn message_reminded(&mut self, id: &MessageId, at: &At) {
        if let Some(awaited) = self.awaited.get_mut(id) {
            awaited.reminders = awaited.reminders.saturating_add(1);
            let after_ms = in_ms(awaited.seconds);
            self.timers.start(Due::Answer(id.clone()), at.tick.ms, after_ms);
        } else {
            self.timers.stop(&Due::Answer(id.clone()));
        }
    }

    /// Ends the wait for an answer.
    pub(in crate::bus::state) fn answer_not_awaited(&mut self, id: &MessageId) {
        self.awaited.remove(id);
        self.timers.stop(&Due::Answer(id.clone()));
    }

    pub(in crate::bus::state) fn message_expired(&mut self, id: &MessageId, member: &Name) {
        self.settle(id, member, Delivery::Expired);
        self.message_not_seen(id, member);
        self.queue_again(id);
        self.forget_member_if_idle(member);
    }

    /// Notes that a member will not see a message any more, and so owes no answer. Where nobody owes it, it is not awaited.
    pub(in crate::bus::state) fn message_not_seen(&mut self, id: &MessageId, member: &Name) {
        let Some(awaited) = self.awaited.get_mut(id) else { return };
        awaited.to.retain(|name| name != member);
        if awaited.to.is_empty() {
            self.answer_not_awaited(id);
        }
    }

    /// Ends the waits of a name that no session will have again.
    pub(in crate::bus::state) fn forget_awaited_by(&mut self, name: &Name) {
        let own = self.awaited.iter().filter(|(_, awaited)| awaited.from == *name);
        let own: Vec<_> = own.map(|(id, _)| id.clone()).collect();
        for id in own {
            self.answer_not_awaited(&id);
        }
    }

    /// Lets the time of a message run while it is unread somewhere. What is in flight expires when it is unread again.
    pub(in crate::bus::state) fn time_message(&mut self, id: &MessageId) {
        let message = self.messages.get(id);
        let expires_ms = message.and_then(|message| message.more.as_ref()?.expires_ms);
        let is_unread = message.is_some_and(|message| {
            let mut deliveries = message.deliveries.iter();
            deliveries.any(|(_, delivery)| matches!(delivery, Delivery::Unread { .. }))
        });
        let due = Due::Message(id.clone());
        match expires_ms.filter(|_| is_unread) {
            None => self.timers.stop(&due),
            Some(_) if self.timers.runs(&due) => {}
            Some(expires_ms) => {
                let left_ms = expires_ms.saturating_sub(self.watch.wall_ms());
                let now_ms = self.watch.ms_of(self.boot).unwrap_or_default();
                self.timers.start(due, now_ms, u64::try_from(left_ms).unwrap_or_default());
            }
        }
    }
}

fn in_ms(seconds: u64) -> u64 {
    seconds.saturating_mul(1_000)
}
