//! Messages that nobody may read any more: their sender took them back, or they expired, before anybody was shown them. The state says it
//! of those that it still has; of the others the log does, so whoever tells an old part of it reads on to its end first.

use std::collections::{BTreeMap, BTreeSet};

use crate::bus::event::{Entry, Event, MessageSent};
use crate::bus::state::{Message, State};
use crate::domain::ids::{CallId, MessageId, SessionId};
use crate::domain::messaging::{Audience, MessageKind};

/// What became of the messages of a log, as far as it was read.
#[derive(Clone, Debug, Default)]
pub struct LostMessages {
    /// Those that nobody was shown so far, and whether they have ended for somebody.
    unshown: BTreeMap<MessageId, bool>,
    /// Those that a call carries, and whether they had ended for somebody before.
    carried: BTreeMap<(SessionId, CallId), Vec<(MessageId, bool)>>,
}

impl LostMessages {
    /// Notes what an entry says.
    pub fn note(&mut self, entry: &Entry) {
        for event in &entry.events {
            match event {
                Event::MessageSent(sent) if can_be_lost(sent) => {
                    self.unshown.insert(sent.id.clone(), false);
                }
                Event::MessageHanded { ids, session, call, .. } => {
                    let taken = ids.iter().filter_map(|id| self.unshown.remove_entry(id));
                    self.carried.entry((*session, *call)).or_default().extend(taken);
                }
                Event::MessageSeen { session, call } => {
                    self.carried.remove(&(*session, *call));
                }
                Event::MessageReturned { session, call } => {
                    self.unshown
                        .extend(self.carried.remove(&(*session, *call)).into_iter().flatten());
                }
                Event::MessageAcknowledged(said) => {
                    for id in &said.ids {
                        self.unshown.remove(id);
                    }
                    for ids in self.carried.values_mut() {
                        ids.retain(|(id, _)| !said.ids.contains(id));
                    }
                }
                Event::MessageSuperseded { id, .. }
                | Event::MessageExpired { id, .. }
                | Event::MessageUnclaimed { id } => {
                    if let Some(has_ended) = self.unshown.get_mut(id) {
                        *has_ended = true;
                    }
                }
                Event::MemberLeft { session, .. } => {
                    let calls = self.carried.extract_if(.., |(of, _), _| of == session);
                    self.unshown.extend(calls.flat_map(|(_, ids)| ids));
                }
                _ => {}
            }
        }
    }

    /// Returns those that have ended for all, by a state that was made of all that was noted, or of more.
    pub fn lost(&self, state: &State) -> BTreeSet<MessageId> {
        let ended = self.unshown.iter().filter(|(_, has_ended)| **has_ended);
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
