//! Changes of inboxes: delivering to waiting calls, requeueing, withdrawing.

use super::Writer;
use crate::bus::event::{Addressees, Event};
use crate::bus::state::{AwaitedReply, Delivery, Message, Session, Wait};
use crate::domain::ids::{CallId, MessageId, SessionId};
use crate::domain::limits;
use crate::domain::messaging::RequestStatus;
use crate::domain::messaging::{DeliveryMethod, MessageKind};
use crate::domain::name::Name;

impl Writer<'_> {
    /// Delivers a new message to the oldest fitting wait of each addressee. A shutdown ends the other waits, too. Above the limit
    /// of one append, the waiting processes find the message themselves.
    pub(in crate::bus::rules) fn deliver_to_waits(&mut self, message: &Message, to: &[Name]) {
        for name in to {
            if self.in_flight >= limits::DELIVERED_AT_ONCE {
                return;
            }
            let Some(session) = self.state.live(name) else {
                continue;
            };
            if [self.leaving, self.not_waiting].contains(&Some(session.id)) {
                continue;
            }
            let fitting = |call: CallId| !self.answered.contains(&(session.id, call));
            let mut calls = session
                .waits
                .iter()
                .filter(|wait| fitting(wait.call) && wait.fits(self.state, message))
                .map(|wait| wait.call);
            let Some(call) = calls.next() else { continue };
            let rest: Vec<_> =
                if message.kind == MessageKind::Shutdown { calls.collect() } else { Vec::new() };
            self.answered.insert((session.id, call));
            self.in_flight += 1;
            self.push(Event::MessageHanded {
                ids: vec![message.id.clone()],
                member: name.clone(),
                session: session.id,
                call,
                method: DeliveryMethod::Pull,
            });
            for call in rest {
                self.answered.insert((session.id, call));
                self.push(Event::WaitEnded { session: session.id, call });
            }
            self.end_other_waits(message, name, call);
        }
    }

    /// Ends the other waits for an answer that this call of a member gets, unless they get another one.
    pub(in crate::bus::rules) fn end_other_waits(
        &mut self,
        answer: &Message,
        member: &Name,
        call: CallId,
    ) {
        let elsewhere = || answer.from.elsewhere().map(|from| &from.name);
        let (Some(asked), Some(from)) = (&answer.reply_to, answer.from.member().or_else(elsewhere))
        else {
            return;
        };
        let is_asker = |message: &Message| message.from.member() == Some(member);
        if self.state.message(asked).is_some_and(is_asker) && self.state.is_answer(answer, asked) {
            if let Some(session) = self.state.live(member) {
                self.answered.insert((session.id, call));
            }
            self.end_vain_waits(asked, std::slice::from_ref(from));
        }
    }

    /// Ends the waits for the answer to a message that nobody will give, if these members give none any more.
    pub(in crate::bus::rules) fn end_vain_waits(&mut self, asked: &MessageId, members: &[Name]) {
        let state = self.state;
        self.end_waits_for(asked, |me, wait| {
            state.awaited_reply(&me.name, wait, members) != AwaitedReply::Open
        });
    }

    /// Ends those waits for the answer to a message that are over.
    pub(in crate::bus::rules) fn end_waits_for(
        &mut self,
        asked: &MessageId,
        is_over: impl Fn(&Session, &Wait) -> bool,
    ) {
        let sender = self.state.message(asked).and_then(|message| message.from.member());
        let Some(session) = sender.and_then(|name| self.state.live(name)) else {
            return;
        };
        if [self.leaving, self.not_waiting].contains(&Some(session.id)) {
            return;
        }
        for wait in session.waits.iter().filter(|wait| wait.reply_to.as_ref() == Some(asked)) {
            let call = wait.call;
            if !self.answered.contains(&(session.id, call)) && is_over(session, wait) {
                self.answered.insert((session.id, call));
                self.push(Event::WaitEnded { session: session.id, call });
            }
        }
    }

    /// Requeues the messages of a call, and delivers them to other waiting calls of the same session. Withdraws a request that
    /// another member has claimed in the meantime, and a message whose place another one has taken, as they would have been without the
    /// delivery.
    pub(in crate::bus::rules) fn requeue(&mut self, session: SessionId, call: CallId) {
        let state = self.state;
        self.push(Event::MessageReturned { session, call });
        let Some(holder) = state.session(session) else {
            return;
        };
        let name = std::slice::from_ref(&holder.name);
        for message in state.in_flight_to(session, call) {
            let request = message.request.as_ref().and_then(|id| state.request(id));
            let is_open = request.is_some_and(|request| request.status == RequestStatus::Open);
            if message.replaced || (message.kind == MessageKind::Request && !is_open) {
                self.push(Event::MessageSuperseded {
                    id: message.id.clone(),
                    members: name.to_vec().into(),
                });
            } else if state.has_lapsed(message, self.now) {
                self.expire(message, name);
            } else {
                self.deliver_to_waits(message, name);
            }
        }
    }

    /// Withdraws a message from all inboxes in which it is unread.
    pub(in crate::bus::rules) fn supersede(&mut self, id: &MessageId) {
        let Some(message) = self.state.message(id) else {
            return;
        };
        let unread = |delivery: &Delivery| matches!(delivery, Delivery::Unread { .. });
        let members: Vec<_> = message
            .deliveries
            .iter()
            .filter(|(_, delivery)| unread(delivery))
            .map(|(name, _)| name.clone())
            .collect();
        if members.is_empty() {
            return;
        }
        let members = if members.len() > limits::NAMED_AT_ONCE {
            Addressees::AllBut(Vec::new())
        } else {
            members.into()
        };
        self.push(Event::MessageSuperseded { id: id.clone(), members });
    }

    /// Returns the calls whose answers this command proves to be read.
    pub(in crate::bus::rules) fn seen_calls(&self) -> impl Iterator<Item = (SessionId, CallId)> {
        self.events.iter().filter_map(|event| match event {
            Event::MessageSeen { session, call } => Some((*session, *call)),
            _ => None,
        })
    }
}
