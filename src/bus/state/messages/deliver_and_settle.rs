//! How the events of messages and waits change the state.

use std::collections::BTreeSet;

use crate::bus::event::LogPosition;
use crate::bus::event::{Addressees, AnswerWritten, MessageSent};
use crate::bus::state::event_place::At;
use crate::bus::state::{Beside, Delivery, Due, Likeness, Message, State, Wait};
use crate::domain::ids::{CallId, MessageId, SessionId};
use crate::domain::limits;
use crate::domain::member::Activity;
use crate::domain::messaging::{Audience, Author, DeliveryMethod, MessageKind};
use crate::domain::name::Name;
use crate::domain::wait_times;

impl State {
    pub(in crate::bus::state) fn message_sent(&mut self, sent: &MessageSent, at: &At) {
        if sent.kind == MessageKind::Notice {
            for id in sent.task.iter().chain(&sent.ends) {
                if let Some(task) = self.tasks.get_mut(id) {
                    task.notice = Some(sent.id.clone());
                }
            }
        }
        self.note_pace(sent, at);
        self.reopen_thread(sent);
        self.party_speaks(sent, at);
        self.note_replaced(sent);
        let mut message = Message::sent(sent, at.origin());
        self.queued.remove(&sent.id);
        if sent.is_queued() {
            self.queue_message(&mut message);
        }
        self.message_arrives(message, &sent.to);
        self.note_origin(sent);
        self.start_deadlines(sent, at);
        self.note_question(sent);
    }

    /// Notes that a message takes the place of an earlier one of its sender.
    fn note_replaced(&mut self, sent: &MessageSent) {
        let before = sent.more.as_ref().and_then(|more| more.supersedes.as_ref());
        let before = before.and_then(|id| self.messages.get_mut(id));
        if let Some(before) = before.filter(|before| before.from == sent.from) {
            before.replaced = true;
        }
    }

    /// Counts a message of a member for its rate, if the team has a limit of that.
    fn note_pace(&mut self, sent: &MessageSent, at: &At) {
        if self.limits.messages_per_minute == 0 || !self.is_counted(sent) {
            return;
        }
        let from = sent.from.member().and_then(|name| self.members.get_mut(name));
        if let Some(member) = from {
            let likeness = Likeness {
                kind: sent.kind,
                audience: &sent.audience,
                reply_to: sent.reply_to.as_ref(),
                priority: sent.priority,
                beside: Beside::Envelope(sent.more.as_deref()),
                body: &sent.body,
            };
            let pace = member.pace.get_or_insert_default();
            pace.note((&sent.id, &likeness), &self.limits, at.tick.ms);
        }
    }

    /// Says whether a message counts for the rate of its sender: what a member writes of its own accord. Notices, the news of a claim,
    /// and the answer that a claim obliges to do not count.
    fn is_counted(&self, sent: &MessageSent) -> bool {
        match sent.kind {
            MessageKind::Message | MessageKind::Broadcast => true,
            MessageKind::Response => {
                let from = sent.from.member().and_then(|name| self.members.get(name)?.session);
                let completes = || {
                    let id = sent.request.as_ref()?;
                    let requester = &self.requests.get(id)?.from;
                    let is_told = self.is_addressed(&sent.to, requester);
                    from.map(|session| is_told && self.completes(id, session, requester))
                };
                sent.claimed_by.is_none() && !(sent.class().answers() && completes() == Some(true))
            }
            _ => false,
        }
    }

    pub(in crate::bus::state) fn message_arrives(&mut self, mut message: Message, to: &Addressees) {
        let id = message.id.clone();
        if let Author::Member(from) = &mut message.from {
            self.share(from);
        }
        if let Audience::One(to) = &mut message.audience {
            self.share(to);
        }
        if let Some(before) = self.messages.insert(id.clone(), message) {
            // The rules give no id twice. In a log that does, the earlier message is gone, and the sums of its inboxes are wrong now.
            for member in self.members.values_mut() {
                let _ = member.lose(&before);
            }
            self.rebuild_inboxes();
        }
        self.put_into_inboxes(&id, to);
    }

    /// Makes a name share the text of its member's name: one member may have thousands of messages.
    fn share(&self, name: &mut Name) {
        if let Some(member) = self.members.get(name)
            && member.name.as_str() == name.as_str()
        {
            *name = member.name.clone();
        }
    }

    pub(in crate::bus::state) fn put_into_inboxes(&mut self, id: &MessageId, to: &Addressees) {
        let to = self.new_addressees(id, to);
        let Some(message) = self.messages.get_mut(id) else {
            return;
        };
        let mut sums_are_right = true;
        for name in to {
            if let Some(member) = self.members.get_mut(&name) {
                let fresh = Delivery::Unread { last: None };
                message.deliveries.insert(member.name.clone(), fresh);
                sums_are_right &= member.receive(message);
            }
        }
        if !sums_are_right {
            self.rebuild_inboxes();
        }
        self.end_message_if_settled(id);
    }

    /// Says whether an event puts a new message into the inbox of this member.
    fn is_addressed(&self, to: &Addressees, name: &Name) -> bool {
        match to {
            Addressees::Named(names) => names.contains(name),
            Addressees::AllBut(names) => self.live(name).is_some() && !names.contains(name),
        }
    }

    /// Returns the members into whose inboxes an event puts a message.
    fn new_addressees(&self, id: &MessageId, to: &Addressees) -> Vec<Name> {
        let others = match to {
            Addressees::Named(names) => return names.clone(),
            Addressees::AllBut(names) => names.iter().collect::<BTreeSet<_>>(),
        };
        let message = self.messages.get(id);
        let lacks = |name: &Name| {
            let delivery = message.and_then(|message| message.delivery(name));
            matches!(delivery, None | Some(Delivery::Superseded))
        };
        let live = self.members.values().filter(|one| one.session.is_some());
        live.map(|member| &member.name)
            .filter(|name| !others.contains(name) && lacks(name))
            .cloned()
            .collect()
    }

    /// Withdraws a message from inboxes.
    pub(in crate::bus::state) fn message_superseded(
        &mut self,
        id: &MessageId,
        members: &Addressees,
    ) {
        for name in self.members_to_withdraw_from(id, members) {
            self.settle(id, &name, Delivery::Superseded);
            self.message_not_seen(id, &name);
            self.forget_member_if_idle(&name);
        }
    }

    /// Returns the members from whose inboxes an event withdraws a message.
    fn members_to_withdraw_from(&self, id: &MessageId, members: &Addressees) -> Vec<Name> {
        let others = match members {
            Addressees::Named(names) => return names.clone(),
            Addressees::AllBut(names) => names.iter().collect::<BTreeSet<_>>(),
        };
        let Some(message) = self.messages.get(id) else {
            return Vec::new();
        };
        let unread = |delivery: &Delivery| matches!(delivery, Delivery::Unread { .. });
        let deliveries = message.deliveries.iter();
        deliveries
            .filter(|(name, delivery)| unread(delivery) && !others.contains(name))
            .map(|(name, _)| name.clone())
            .collect()
    }

    pub(in crate::bus::state) fn message_delivered(
        &mut self,
        ids: &[MessageId],
        member: &Name,
        (session, call, method): (SessionId, CallId, DeliveryMethod),
        at: &At,
    ) {
        let Some(holder) = self.sessions.get_mut(&session) else {
            return;
        };
        let held = holder.in_flight.entry(call).or_default();
        let mut sums_are_right = true;
        for id in ids {
            let Some(message) = self.messages.get_mut(id) else {
                continue;
            };
            let delivery = message.deliveries.get_mut(member);
            let Some(delivery @ Delivery::Unread { .. }) = delivery else {
                continue;
            };
            *delivery = Delivery::InFlight { session, call, method };
            if let Some(member) = self.members.get_mut(member) {
                sums_are_right &= member.lose(message);
            }
            held.push(id.clone());
        }
        if held.is_empty() {
            holder.in_flight.remove(&call);
            return;
        }
        if method == DeliveryMethod::Hook {
            // Its client runs hooks between the steps of its model.
            holder.note_call(at);
        }
        if method == DeliveryMethod::Prompt {
            // A prompt of its own begins a turn.
            holder.activity = Activity::Running;
            holder.last_ms = at.wall_ms();
        }
        if method == DeliveryMethod::Pull {
            holder.waits.retain(|wait| wait.call != call);
            self.timers.stop(&Due::Wait(session, call));
        }
        if method.is_by_answer() {
            holder.held_since.insert(call, at.tick.ms);
        }
        if let Some(lost_after_ms) = method.lost_after_ms() {
            self.timers.start(Due::Requeue(session, call), at.tick.ms, lost_after_ms);
        }
        if !sums_are_right {
            self.rebuild_inboxes();
        }
        if method == DeliveryMethod::Prompt {
            self.turn_changed(session, at);
        }
        for id in ids {
            self.time_message_with_end(id);
        }
    }

    /// Lets the time of a message run or stand still, if it has one.
    fn time_message_with_end(&mut self, id: &MessageId) {
        let message = self.messages.get(id);
        if message.is_some_and(|message| message.more.is_some()) {
            self.time_message(id);
        }
    }

    /// Requeues the messages of a call.
    pub(in crate::bus::state) fn message_requeued(&mut self, session: SessionId, call: CallId) {
        let (name, ids) = self.take_in_flight(session, call);
        let Some(name) = name else { return };
        for id in ids {
            let Some(message) = self.messages.get_mut(&id) else {
                continue;
            };
            let Some(delivery) = message.deliveries.get_mut(&name) else {
                continue;
            };
            *delivery = Delivery::Unread { last: Some((session, call)) };
            if let Some(member) = self.members.get_mut(&name)
                && !member.receive(message)
            {
                self.rebuild_inboxes();
            }
            self.time_message_with_end(&id);
        }
    }

    /// Marks the messages of a call as seen, even if they were requeued and not delivered since, and its claims as known.
    pub(in crate::bus::state) fn message_seen(&mut self, session: SessionId, call: CallId) {
        if let Some(holder) = self.sessions.get_mut(&session) {
            holder.unheard.retain(|_, by| *by != call);
        }
        let (name, mut ids) = self.take_in_flight(session, call);
        let Some(name) = name else { return };
        let last = Some((session, call));
        let of_call =
            |message: &&Message| message.delivery(&name) == Some(Delivery::Unread { last });
        ids.extend(self.returned(&name).filter(of_call).map(|message| message.id.clone()));
        for id in &ids {
            self.settle(id, &name, Delivery::Seen);
        }
    }

    /// Notes that the answer of a call has been written.
    pub(in crate::bus::state) fn answer_written(&mut self, written: &AnswerWritten) {
        let AnswerWritten { session, call, .. } = *written;
        if self.holds(session, call)
            && let Some(holder) = self.sessions.get_mut(&session)
        {
            holder.written.insert(call);
            self.release_call(session, call);
        }
    }

    /// Removes the messages from a call, and returns them with the name of the session's member.
    fn take_in_flight(
        &mut self,
        session: SessionId,
        call: CallId,
    ) -> (Option<Name>, Vec<MessageId>) {
        self.timers.stop(&Due::Requeue(session, call));
        let Some(holder) = self.sessions.get_mut(&session) else {
            return (None, Vec::new());
        };
        let ids = holder.in_flight.remove(&call).unwrap_or_default();
        let name = holder.name.clone();
        self.release_call(session, call);
        (Some(name), ids)
    }

    /// Ends the delivery of a message to one member.
    pub(in crate::bus::state) fn settle(&mut self, id: &MessageId, name: &Name, outcome: Delivery) {
        let Some(message) = self.messages.get_mut(id) else {
            return;
        };
        let Some(delivery) = message.deliveries.get_mut(name) else {
            return;
        };
        if delivery.is_final() {
            return;
        }
        let mut release_call = None;
        if let Delivery::InFlight { session, call, .. } = *delivery
            && let Some(holder) = self.sessions.get_mut(&session)
            && let Some(ids) = holder.in_flight.get_mut(&call)
        {
            ids.retain(|other| other != id);
            if ids.is_empty() {
                holder.in_flight.remove(&call);
                release_call = Some((session, call));
            }
        }
        *delivery = outcome;
        if let Some(member) = self.members.get_mut(name)
            && !member.lose(message)
        {
            self.rebuild_inboxes();
        }
        if let Some((session, call)) = release_call {
            self.release_call(session, call);
        }
        self.end_message_if_settled(id);
    }

    pub(in crate::bus::state) fn end_message_if_settled(&mut self, id: &MessageId) {
        self.forget_if_seen(id);
        self.time_message(id);
        if !self.is_ended(id) {
            return;
        }
        self.ended_messages.push_back(id.clone());
        while self.ended_messages.len() > limits::KEPT_ENDED {
            let Some(oldest) = self.ended_messages.pop_front() else {
                break;
            };
            // If it has been addressed to more members since, it has not ended.
            if self.is_ended(&oldest) {
                self.messages.remove(&oldest);
            }
        }
    }

    /// Says whether all deliveries of a message are final. The message of a request does not end before the request, as it may
    /// have to be shown to more members.
    fn is_ended(&self, id: &MessageId) -> bool {
        let Some(message) = self.messages.get(id) else {
            return false;
        };
        let of_unanswered = message.kind == MessageKind::Request
            && message
                .request
                .as_ref()
                .and_then(|request| self.requests.get(request))
                .is_some_and(|request| !request.status.is_final());
        let settled = |delivery: &Delivery| delivery.is_final();
        !of_unanswered
            && !self.queued.contains(id)
            && message.deliveries.iter().all(|(_, delivery)| settled(delivery))
    }

    /// Returns the position of the oldest text that may still be read: of an unsettled message, an unanswered request, an
    /// unfinished task, or an unfinished workflow. The steps of a workflow are all younger than its prompts.
    pub(in crate::bus) fn oldest_text_alive(&self) -> Option<LogPosition> {
        let messages = self.messages.values();
        let messages = messages
            .filter(|message| !self.is_ended(&message.id))
            .map(|message| message.body.place);
        let requests = self.unanswered_requests().map(|request| request.body.place);
        let tasks = self.tasks.values();
        let tasks = tasks.filter(|task| !task.status.is_final()).map(|task| task.prompt.place);
        let workflows = self.workflows.values();
        let workflows = workflows
            .filter(|workflow| !workflow.status.is_final())
            .map(|workflow| workflow.prompts.place);
        messages.chain(requests).chain(tasks).chain(workflows).min()
    }

    pub(in crate::bus::state) fn wait_started(
        &mut self,
        session: SessionId,
        wait: Wait,
        timeout_ms: u64,
        at: &At,
    ) {
        let Some(holder) = self.sessions.get_mut(&session) else {
            return;
        };
        self.timers.start(
            Due::Wait(session, wait.call),
            at.tick.ms,
            timeout_ms.saturating_add(wait_times::WAIT_SLACK_MS),
        );
        holder.waits.push(wait);
    }

    pub(in crate::bus::state) fn wait_ended(&mut self, session: SessionId, call: CallId) {
        self.timers.stop(&Due::Wait(session, call));
        if let Some(holder) = self.sessions.get_mut(&session) {
            holder.waits.retain(|wait| wait.call != call);
        }
    }
}
