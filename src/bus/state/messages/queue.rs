//! Messages to a group that nobody is in yet: each waits under its address for the first who fits.

use crate::bus::event::{Addressees, MessageSent};
use crate::bus::state::event_place::At;
use crate::bus::state::{Message, Session, State};
use crate::domain::ids::MessageId;
use crate::domain::messaging::Audience;
use crate::domain::name::Name;
use crate::domain::time::Now;
use crate::domain::wait_times;

impl State {
    /// Says whether a message waits for somebody who fits.
    pub fn is_queued(&self, id: &MessageId) -> bool {
        self.queued.contains(id)
    }

    /// Returns how many messages wait so: of this member, and of all.
    pub(in crate::bus) fn queued_by(&self, name: &Name) -> (usize, usize) {
        let messages = self.queued.iter().filter_map(|id| self.message(id));
        let own = messages.filter(|message| message.from.member() == Some(name)).count();
        (own, self.queued.len())
    }

    /// Returns the messages that somebody fits now, each with the first who does.
    pub(in crate::bus) fn queue_that_fits(&self) -> impl Iterator<Item = (&MessageId, &Session)> {
        self.queued.iter().filter_map(|id| Some((id, self.first_fitting(self.message(id)?)?)))
    }

    /// Returns the messages that have waited for too long.
    pub(in crate::bus) fn queue_that_lapsed(&self, now: Now) -> impl Iterator<Item = &MessageId> {
        self.queued
            .iter()
            .filter(move |id| self.message(id).is_none_or(|message| self.has_lapsed(message, now)))
    }

    /// Returns when something is to be done about the messages that wait, in milliseconds of the boot.
    pub(in crate::bus::state) fn queue_is_due_ms(&self, now: Now) -> Option<u64> {
        if self.queued.is_empty() {
            return None;
        }
        if self.queue_that_fits().next().is_some() || self.queue_that_lapsed(now).next().is_some() {
            return Some(0);
        }
        let ends = self.queued.iter().filter_map(|id| self.message(id)?.more.as_ref()?.expires_ms);
        // As the machine's time runs on from the last entry.
        let left_ms = ends.min()?.saturating_sub(self.watch.wall_ms());
        let since_ms = self.watch.ms_of(self.boot).unwrap_or(now.tick.ms);
        Some(since_ms.saturating_add(u64::try_from(left_ms).unwrap_or_default()))
    }

    /// Says whether somebody fits the address of a message.
    pub(in crate::bus) fn fits_somebody(&self, message: &Message) -> bool {
        self.first_fitting(message).is_some()
    }

    fn first_fitting(&self, message: &Message) -> Option<&Session> {
        let Audience::Group(group) = &message.audience else {
            return None;
        };
        self.in_group(group).into_iter().find(|session| {
            !message.is_visible_to(&session.name)
                && !session.hung
                && self.has_room(&session.name, 1)
        })
    }

    /// Notes that a message waits, for a month if its sender says no time.
    pub(in crate::bus::state) fn queue_message(&mut self, message: &mut Message) {
        self.queued.insert(message.id.clone());
        if let Some(more) = &mut message.more {
            let month_ms = wait_times::ABSENT_MAIL_MS;
            more.expires_ms = Some(self.watch.wall_ms().saturating_add_unsigned(month_ms));
        }
    }

    /// Delivers a message to more members. One that has waited for them begins the deadlines that its sender gave it.
    pub(in crate::bus::state) fn message_addressed(
        &mut self,
        id: &MessageId,
        to: &Addressees,
        at: &At,
    ) {
        let was_queued = self.queued.remove(id);
        if was_queued
            && let Some(message) = self.messages.get_mut(id)
            && let Some(more) = &mut message.more
            && more.ttl_seconds.is_none()
        {
            more.expires_ms = None;
        }
        self.put_into_inboxes(id, to);
        if was_queued {
            self.await_answer(id, at);
        }
    }

    /// Ends a message that has waited in vain, or whose place another one takes.
    pub(in crate::bus::state) fn message_unclaimed(&mut self, id: &MessageId) {
        if self.queued.remove(id) {
            self.end_message_if_settled(id);
        }
    }
}

impl MessageSent {
    /// Says whether it waits for somebody who fits its address.
    pub fn is_queued(&self) -> bool {
        self.more.as_ref().is_some_and(|more| more.queue)
    }
}
