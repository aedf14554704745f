//! Reading before delivery: a call receives only messages whose texts could be read, so that none counts as shown without its text.

use super::bus::Bus;
use super::message_text::LoadedMessage;
use crate::bus::error::BusError;
use crate::bus::rules::{Pick, picked};
use crate::bus::state::{Delivery, Message, State};
use crate::domain::ids::{CallId, MessageId, SessionId};
use crate::domain::limits;
use crate::domain::name::Name;

/// How many texts may fail before reading stops: after that many, the fault is not in the texts.
const FAILURES: usize = 16;

/// Unread messages with their texts, not yet delivered.
#[derive(Debug, Default)]
pub struct Readable {
    messages: Vec<LoadedMessage>,
    /// Why some could not be read. They stay unread.
    pub failed: Option<BusError>,
}

impl Bus {
    /// Reads the unread messages that a pick selects. Others take the place of those that cannot be read now. `proven` are calls of
    /// this session whose messages are about to count as seen.
    pub fn readable(&self, session: SessionId, pick: &Pick, proven: &[CallId]) -> Readable {
        let mut readable = Readable::default();
        let name = self.look(|state| state.session(session).map(|live| live.name.clone()));
        let Some(name) = name else { return readable };
        let mut unreadable: Vec<MessageId> = Vec::new();
        loop {
            let candidates: Vec<(Message, bool)> = self.look(|state| {
                let left_out = |message: &Message| {
                    unreadable.contains(&message.id) || is_proven(message, &name, session, proven)
                };
                let picked = picked(state, &name, pick, left_out).into_iter();
                picked.map(|message| (message.clone(), message.is_returned_to(&name))).collect()
            });
            readable.messages.retain(|loaded| {
                candidates.iter().any(|(message, _)| message.id == loaded.header.id)
            });
            let failures = unreadable.len();
            for (message, is_again) in candidates {
                let known = |loaded: &LoadedMessage| loaded.header.id == message.id;
                if readable.messages.iter().any(known) {
                    continue;
                }
                let id = message.id.clone();
                match self.load_message(message, &name, 0, pick.head_bytes) {
                    Ok(loaded) => {
                        let is_again =
                            is_again || self.was_given_before(&loaded.header, &name, None);
                        readable.messages.push(LoadedMessage { is_again, ..loaded });
                    }
                    Err(error) => {
                        tracing::warn!("failed to read {id}, which stays unread: {error}");
                        readable.failed = Some(error);
                        unreadable.push(id);
                    }
                }
            }
            if unreadable.len() == failures || unreadable.len() >= FAILURES {
                readable.messages.sort_by_key(|loaded| loaded.header.unread_place());
                return readable;
            }
        }
    }
}

/// Says whether a message was requeued from a call whose answer is proven now.
fn is_proven(message: &Message, name: &Name, session: SessionId, proven: &[CallId]) -> bool {
    match message.delivery(name) {
        Some(Delivery::Unread { last: Some((holder, call)) }) => {
            holder == session && proven.contains(&call)
        }
        _ => false,
    }
}

impl Readable {
    /// Returns a pick of exactly these messages.
    pub fn pick(&self, pick: Pick) -> Pick {
        let ids = self.messages.iter().map(|loaded| loaded.header.id.clone());
        Pick { only: Some(ids.collect()), ..pick }
    }

    /// Keeps the first messages that fit into an answer. If even the first one does not fit, its text is cut.
    pub fn fit(&mut self, room: usize) {
        let mut left = room;
        let mut fitting = 0;
        for loaded in &mut self.messages {
            if fitting == 0 {
                loaded.shorten(room.saturating_sub(limits::HEADER_BYTES));
            }
            let Some(rest) = left.checked_sub(loaded.shown_len()) else {
                break;
            };
            left = rest;
            fitting += 1;
        }
        self.messages.truncate(fitting.max(1));
    }

    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns the messages that were delivered to this call. Another call may have received the others first.
    pub fn delivered(self, state: &State, session: SessionId, call: CallId) -> Vec<LoadedMessage> {
        let in_flight = state.in_flight_to(session, call);
        let is_ours = |loaded: &LoadedMessage| {
            let mut in_flight = in_flight.iter();
            in_flight.any(|message| message.id == loaded.header.id)
        };
        self.messages.into_iter().filter(is_ours).collect()
    }
}
