//! Messages that nobody may read any more: their sender took them back, or they expired, before anybody was shown them. The state says it
//! of those that it still has; of the others the log does, so whoever tells an old part of it reads on to its end first.

use std::collections::{BTreeMap, BTreeSet};

use crate::bus::event::{Entry, Event, MessageSent};
use crate::bus::state::{Message, State};
use crate::domain::ids::MessageId;
use crate::domain::messaging::{Audience, MessageKind};
use crate::view::events::InFlight;

/// What became of the messages of a log, as far as it was read.
#[derive(Clone, Debug, Default)]
pub struct LostMessages {
    /// Those that nobody has proven to have seen so far, and whether they have ended for somebody.
    unproven: BTreeMap<MessageId, bool>,
    in_flight: InFlight,
}

impl LostMessages {
    /// Notes what an entry says.
    pub fn note(&mut self, entry: &Entry) {
        for event in &entry.events {
            self.in_flight.end(event);
            match event {
                Event::MessageSent(sent) if can_be_lost(sent) => {
                    self.unproven.insert(sent.id.clone(), false);
                }
                Event::MessageHanded { ids, member, session, call, method } => {
                    self.in_flight.hand((*session, *call), (member, *method), ids);
                }
                Event::MessageSeen { session, call } => {
                    let carried = self.in_flight.prove(*session, *call);
                    self.prove(carried.iter().flat_map(|carried| &carried.ids));
                }
                Event::MessageReturned { session, call } => {
                    self.in_flight.give_back(*session, *call);
                }
                Event::MessageAcknowledged(said) => {
                    self.in_flight.acknowledge(&said.member, &said.ids);
                    self.prove(said.ids.iter());
                }
                Event::MessageSuperseded { id, .. }
                | Event::MessageExpired { id, .. }
                | Event::MessageUnclaimed { id } => {
                    if let Some(has_ended) = self.unproven.get_mut(id) {
                        *has_ended = true;
                    }
                }
                Event::MemberLeft { session, .. } => {
                    self.in_flight.left(*session);
                }
                _ => {}
            }
        }
    }

    fn prove<'m>(&mut self, ids: impl Iterator<Item = &'m MessageId>) {
        for id in ids {
            self.unproven.remove(id);
        }
    }

    /// Returns those that have ended for all, by a state that was made of all that was noted, or of more.
    pub fn lost(&self, state: &State) -> BTreeSet<MessageId> {
        let carried: BTreeSet<_> = self.in_flight.ids().collect();
        let ended =
            self.unproven.iter().filter(|(id, has_ended)| **has_ended && !carried.contains(id));
        let lost = ended.filter(|(id, _)| match state.message(id) {
            // It waited for somebody who fits, and nobody came.
            Some(known) if known.deliveries.is_empty() => !state.is_queued(id),
            Some(known) => is_lost(known),
            None => true,
        });
        lost.map(|(id, _)| id.clone()).collect()
    }

    /// Says whether a state knows that nobody may read a message any more.
    pub fn is_known(state: &State, id: &MessageId) -> bool {
        state.message(id).is_some_and(is_lost)
    }
}

/// Says whether a message is of those that can be lost. Whoever claims a request, answers the user's mail, or lives in another project, reads on.
fn can_be_lost(sent: &MessageSent) -> bool {
    sent.kind != MessageKind::Request && is_of_this_team(&sent.audience)
}

fn is_of_this_team(audience: &Audience) -> bool {
    !audience.is_human() && audience.elsewhere().is_none()
}

fn is_lost(message: &Message) -> bool {
    let mut deliveries = message.deliveries.iter();
    message.kind != MessageKind::Request
        && is_of_this_team(&message.audience)
        && !message.deliveries.is_empty()
        && deliveries.all(|(_, delivery)| delivery.ended_unseen())
}
