//! How messages from project to project change the state, and what it says of them.

use crate::bus::event::{Event, MessageHeld, MessageRelayed, MessageSent};
use crate::bus::state::event_place::At;
use crate::bus::state::{
    Arrived, AwaitedAnswer, Crossed, Delivery, Due, Message, OtherProjects, State,
};
use crate::domain::ids::{MessageId, SessionId};
use crate::domain::limits;
use crate::domain::member::{Label, MemberKind};
use crate::domain::messaging::{Acknowledgement, MessageOrigin, ReceiptElsewhere, StateElsewhere};
use crate::domain::name::Name;

impl State {
    /// Returns what is known of other projects.
    pub fn other_projects(&self) -> &OtherProjects {
        &self.other_projects
    }

    /// Returns the messages that wait for the way to another project, oldest first.
    pub fn outbox(&self) -> Vec<&Message> {
        let waiting = self.queue().map(|(message, _)| message);
        let mut outbox: Vec<_> = waiting.filter(|one| one.audience.elsewhere().is_some()).collect();
        outbox.sort_by_key(|message| message.seq);
        outbox
    }

    /// Returns what has become of a message to another project, if anything has.
    pub fn crossed(&self, id: &MessageId) -> Option<&Crossed> {
        self.other_projects.crossed.iter().rev().find(|crossed| crossed.id == *id)
    }

    /// Returns the messages to another project of which more is known than that they wait, as long as both stand here.
    pub fn sent_to(&self, tag: &Label) -> impl Iterator<Item = (&Message, &Crossed)> {
        self.other_projects.crossed.iter().filter_map(move |crossed| {
            let message = self.message(&crossed.id)?;
            let went_there = message.audience.elsewhere().is_some_and(|to| to.tag == *tag);
            went_there.then_some((message, crossed))
        })
    }

    /// Says whether a message is on the bus of another project.
    pub fn is_relayed(&self, id: &MessageId) -> bool {
        self.crossed(id).is_some_and(|crossed| crossed.there.is_some())
    }

    /// Says whether somebody in another project may still answer a message that is there, of whom these have.
    pub(in crate::bus::state) fn may_answer_elsewhere(
        &self,
        id: &MessageId,
        answered: &[&Name],
    ) -> bool {
        self.crossed(id).is_some_and(|crossed| {
            let mut receipts = crossed.receipts.iter();
            let may =
                receipts.any(|one| !one.state.ended_unseen() && !answered.contains(&&one.name));
            crossed.there.is_some() && (may || crossed.receipts.is_empty())
        })
    }

    /// Returns the message here that has this origin.
    pub fn arrived(&self, origin: &MessageOrigin) -> Option<&Arrived> {
        let is_it = |arrived: &&Arrived| {
            arrived.origin.id == origin.id && arrived.origin.sent_ms == origin.sent_ms
        };
        self.other_projects.arrived.iter().rev().find(is_it)
    }

    /// Returns the messages from other projects whose receipts have changed since these were told, with the receipts.
    pub fn receipts_to_tell(&self) -> impl Iterator<Item = (&Arrived, Vec<ReceiptElsewhere>)> {
        self.other_projects.arrived.iter().filter_map(|arrived| {
            let receipts = self.receipts_here(self.message(&arrived.id)?);
            (receipts != arrived.told).then_some((arrived, receipts))
        })
    }

    /// Returns the receipts of a message that came from another project.
    pub fn receipts_here(&self, message: &Message) -> Vec<ReceiptElsewhere> {
        let deliveries = message.deliveries.iter().take(limits::RECEIPTS_FROM_ELSEWHERE);
        let receipt = |(name, delivery): (&Name, &Delivery)| {
            ReceiptElsewhere::of(name.clone(), state_of(*delivery))
        };
        deliveries.map(receipt).collect()
    }

    /// Returns the sessions that take messages across: the lead, or the peers where nobody leads who responds. If several do, the rules
    /// let each message arrive once.
    pub fn couriers(&self) -> Vec<SessionId> {
        if let Some(lead) = self.lead().filter(|lead| !lead.hung) {
            return vec![lead.id];
        }
        let sessions = self.live_sessions().into_iter();
        sessions.filter(|one| one.kind == MemberKind::Peer && !one.hung).map(|one| one.id).collect()
    }

    pub(in crate::bus::state) fn crossing_event(&mut self, event: &Event, at: &At) {
        match event {
            Event::ProjectsListed(listed) => self.other_projects.list(listed, at.seq),
            Event::MessageRelayed(relayed) => self.message_relayed(relayed, at),
            Event::MessageHeld(MessageHeld { id, why }) if self.is_promised(id) => {
                self.other_projects.crossed_mut(id).held = Some(*why);
            }
            Event::ReceiptsTold(told) => {
                let mut arrived = self.other_projects.arrived.iter_mut();
                if let Some(arrived) = arrived.find(|arrived| arrived.id == told.id) {
                    arrived.told = told.receipts.iter().map(without_note).collect();
                }
            }
            _ => {}
        }
    }

    fn message_relayed(&mut self, relayed: &MessageRelayed, at: &At) {
        let MessageRelayed { id, there, receipts } = relayed;
        let waits = self.is_promised(id);
        if !waits && !self.is_relayed(id) {
            return;
        }
        let crossed = self.other_projects.crossed_mut(id);
        (crossed.there, crossed.held) = (Some(there.clone()), None);
        let kept = receipts.iter().take(limits::RECEIPTS_FROM_ELSEWHERE);
        crossed.receipts = kept.map(without_note).collect();
        if waits {
            self.queued.remove(id);
            self.await_answer_from_elsewhere(id, at);
            self.end_message_if_settled(id);
            self.other_projects.forget_old_crossed();
        }
    }

    /// Awaits the answer of another project, once the question is there.
    fn await_answer_from_elsewhere(&mut self, id: &MessageId, at: &At) {
        let Some(message) = self.messages.get(id) else { return };
        let seconds = message.more.as_ref().and_then(|more| more.response_seconds);
        let (Some(seconds), Some(from)) = (seconds, message.from.member()) else { return };
        // The answer may be here before the note that the question is there.
        let is_it = |message: &Message| self.is_answer(message, id);
        if self.messages.values().any(is_it) {
            return;
        }
        let awaited = AwaitedAnswer {
            from: from.clone(),
            audience: message.audience.clone(),
            to: Vec::new(),
            thread: message.thread.clone(),
            seconds,
            reminders: 0,
        };
        self.awaited.insert(id.clone(), awaited);
        self.timers.start(Due::Answer(id.clone()), at.tick.ms, seconds.saturating_mul(1_000));
    }

    /// Notes where a message came from, so that it does not come twice.
    pub(in crate::bus::state) fn note_origin(&mut self, sent: &MessageSent) {
        let origin = sent.more.as_ref().and_then(|more| more.origin.as_ref());
        let (Some(origin), Some(_)) = (origin, sent.from.elsewhere()) else { return };
        let told = self.message(&sent.id).map(|message| self.receipts_here(message));
        let (id, told) = (sent.id.clone(), told.unwrap_or_default());
        let last = origin.clone();
        self.other_projects.arrived.push_back(Arrived { id, origin: last.clone(), told });
        self.other_projects.forget_old_arrived(&last);
    }

    /// Forgets what kept a message that does not wait any more.
    pub(in crate::bus::state) fn forget_held(&mut self, id: &MessageId) {
        let stays = |crossed: &Crossed| crossed.id != *id || crossed.there.is_some();
        self.other_projects.crossed.retain(stays);
    }
}

/// Returns a receipt as the state has it.
pub(in crate::bus) fn without_note(receipt: &ReceiptElsewhere) -> ReceiptElsewhere {
    ReceiptElsewhere::of(receipt.name.clone(), receipt.state)
}

fn state_of(delivery: Delivery) -> StateElsewhere {
    match delivery {
        Delivery::Unread { .. } | Delivery::InFlight { .. } => StateElsewhere::Unread,
        Delivery::Seen => StateElsewhere::Seen,
        Delivery::Superseded => StateElsewhere::Withdrawn,
        Delivery::Expired => StateElsewhere::Expired,
        Delivery::Acknowledged(Acknowledgement::Acked) => StateElsewhere::Acked,
        Delivery::Acknowledged(Acknowledgement::Resolved) => StateElsewhere::Resolved,
        Delivery::Acknowledged(Acknowledgement::Superseded) => StateElsewhere::Superseded,
    }
}
