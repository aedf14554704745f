//! Messages to a group that nobody is in yet: each waits under its address for the first who fits.
//!
//! It stays in the queue until somebody has seen it: if who got it dies before, it waits again, for the next who fits; if that one does not
//! respond, the next who fits has it.

use crate::bus::event::{Addressees, MessageSent};
use crate::bus::state::event_place::At;
use crate::bus::state::{Delivery, Message, Session, State};
use crate::domain::ids::MessageId;
use crate::domain::messaging::Audience;
use crate::domain::name::Name;
use crate::domain::time::Now;
use crate::domain::wait_times;

impl State {
    /// Says whether a message waits for somebody who fits, and nobody has it yet.
    pub fn is_queued(&self, id: &MessageId) -> bool {
        self.queued.contains(id)
            && self.message(id).is_none_or(|message| message.holder().is_none())
    }

    /// Says whether a message waits, or would wait again if who has it died.
    pub fn is_promised(&self, id: &MessageId) -> bool {
        self.queued.contains(id)
    }

    /// Returns the messages of the queue, oldest first, each with whether somebody has it by now.
    pub(in crate::bus) fn queue(&self) -> impl Iterator<Item = (&Message, bool)> {
        let messages = self.queued.iter().filter_map(|id| self.message(id));
        messages.map(|message| (message, message.holder().is_some()))
    }

    /// Returns the messages that somebody fits now, each with the first who does.
    pub(in crate::bus) fn queue_that_fits(&self) -> impl Iterator<Item = (&MessageId, &Session)> {
        self.queued.iter().filter_map(|id| {
            let message = self.message(id)?;
            let is_free = match message.holder() {
                None => true,
                // What is in flight is unread again first.
                Some((name, Delivery::Unread { .. })) => {
                    let is_away = self.live(name).is_none_or(|holder| holder.hung);
                    is_away || self.is_for_another(message, name)
                }
                Some(_) => false,
            };
            // Who fits is looked up for those alone.
            is_free.then(|| self.first_fitting(message)).flatten().map(|session| (id, session))
        })
    }

    /// Says whether a message to the user is with somebody who does not speak with them any more, while another does.
    fn is_for_another(&self, message: &Message, name: &Name) -> bool {
        let speaker = self.speaks_with_user().filter(|_| message.audience.is_human());
        speaker.is_some_and(|speaker| speaker.name != *name)
    }

    /// Returns the messages that nobody has and that have waited for too long.
    pub(in crate::bus) fn queue_that_lapsed(&self, now: Now) -> impl Iterator<Item = &MessageId> {
        self.queued.iter().filter(move |id| {
            self.message(id)
                .is_none_or(|message| message.holder().is_none() && self.has_lapsed(message, now))
        })
    }

    /// Returns when something is to be done about the messages that wait, in milliseconds of the boot.
    pub(in crate::bus::state) fn queue_is_due_ms(&self, now: Now) -> Option<u64> {
        if self.queued.is_empty() {
            return None;
        }
        if self.queue_that_fits().next().is_some() || self.queue_that_lapsed(now).next().is_some() {
            return Some(0);
        }
        let waiting = self.queue().filter(|(_, is_held)| !is_held);
        let ends = waiting.filter_map(|(message, _)| message.more.as_ref()?.expires_ms);
        // As the machine's time runs on from the last entry.
        let left_ms = ends.min()?.saturating_sub(self.watch.wall_ms());
        let since_ms = self.watch.ms_of(self.boot).unwrap_or(now.tick.ms);
        Some(since_ms.saturating_add(u64::try_from(left_ms).unwrap_or_default()))
    }

    /// Says whether somebody fits the address of a message.
    pub(in crate::bus) fn fits_somebody(&self, message: &Message) -> bool {
        self.first_fitting(message).is_some()
    }

    /// Returns the first who fits the address of a message and may get it: also one that has a copy of it, and one that died with it.
    fn first_fitting(&self, message: &Message) -> Option<&Session> {
        let Audience::Group(group) = &message.audience else {
            return None;
        };
        self.in_group(group).into_iter().find(|session| {
            let name = &session.name;
            let may_get = match message.delivery(name) {
                None | Some(Delivery::Superseded | Delivery::Expired) => true,
                Some(_) => message.is_copy_for(name),
            };
            may_get
                && message.from.member() != Some(name)
                && !session.hung
                && self.has_room(name, 1)
        })
    }

    /// Notes that a message waits, for a month if its sender says no time.
    pub(in crate::bus::state) fn queue_message(&mut self, message: &mut Message) {
        self.queued.insert(message.id.clone());
        if let Some(more) = &mut message.more {
            more.expires_ms = Some(self.in_a_month_ms());
        }
    }

    fn in_a_month_ms(&self) -> i64 {
        self.watch.wall_ms().saturating_add_unsigned(wait_times::ABSENT_MAIL_MS)
    }

    /// Delivers a message to more members. One that has waited for them begins the deadlines that its sender gave it.
    pub(in crate::bus::state) fn message_addressed(
        &mut self,
        id: &MessageId,
        to: &Addressees,
        at: &At,
    ) {
        if !self.queued.contains(id) {
            self.put_into_inboxes(id, to);
            // Whoever leads next has the whole time for the answer.
            let passes_on = self.message(id).is_some_and(Message::is_for_lead);
            if passes_on && self.awaited.contains_key(id) {
                self.await_answer(id, at);
            }
            return;
        }
        if let Some((before, _)) = self.message(id).and_then(Message::holder) {
            let before = before.clone();
            self.settle(id, &before, Delivery::Superseded);
            self.message_not_seen(id, &before);
            self.forget_member_if_idle(&before);
        }
        let mut fresh = to.named().to_vec();
        if let Some(message) = self.messages.get_mut(id) {
            let has_it =
                |name: &Name| message.delivery(name).is_some_and(|one| !one.ended_unseen());
            fresh.retain(|name| !has_it(name));
            if let Some(more) = &mut message.more {
                if more.ttl_seconds.is_none() {
                    more.expires_ms = None;
                }
                // Who had a copy is meant by the address now.
                more.mentions.retain(|name| !to.named().contains(name));
            }
        }
        self.put_into_inboxes(id, &fresh.into());
        if self.is_queued(id) {
            // In a log from elsewhere, to somebody who is no member.
            self.message_unclaimed(id);
        }
        self.await_answer(id, at);
    }

    /// Lets a message wait again which ended unseen for who had it; unless its time is over.
    pub(in crate::bus::state) fn queue_again(&mut self, id: &MessageId) {
        if !self.is_queued(id) {
            return;
        }
        let (month_ms, now_ms) = (self.in_a_month_ms(), self.watch.wall_ms());
        let Some(more) = self.messages.get_mut(id).and_then(|message| message.more.as_mut()) else {
            return;
        };
        if more.expires_ms.is_some_and(|expires_ms| expires_ms <= now_ms) {
            self.message_unclaimed(id);
        } else if more.ttl_seconds.is_none() {
            more.expires_ms = Some(month_ms);
        }
    }

    /// Removes a message from the queue once somebody whom its address means has seen it.
    pub(in crate::bus::state) fn forget_if_seen(&mut self, id: &MessageId) {
        if !self.queued.contains(id) {
            return;
        }
        let is_seen = self.message(id).is_some_and(|message| {
            let mut meant =
                message.deliveries.iter().filter(|(name, _)| !message.is_copy_for(name));
            meant.any(|(_, delivery)| delivery.is_seen())
        });
        if is_seen {
            self.queued.remove(id);
        }
    }

    /// Ends a message that has waited in vain, or whose place another one takes. Who has it keeps it.
    pub(in crate::bus::state) fn message_unclaimed(&mut self, id: &MessageId) {
        if self.queued.remove(id) {
            self.forget_held(id);
            if self.message(id).is_some_and(|message| message.holder().is_none()) {
                self.forget_question(id);
            }
            self.end_message_if_settled(id);
        }
    }
}

impl Message {
    /// Returns who has a message that has waited, and has not seen it yet.
    pub(in crate::bus) fn holder(&self) -> Option<(&Name, &Delivery)> {
        let meant = self.deliveries.iter().filter(|(name, _)| !self.is_copy_for(name));
        let mut unseen = meant.filter(|(_, delivery)| !delivery.is_final());
        unseen.next()
    }
}

impl MessageSent {
    /// Says whether it waits for somebody who fits its address.
    pub fn is_queued(&self) -> bool {
        self.more.as_ref().is_some_and(|more| more.queue)
    }
}
