//! Which bridge sends, and which message comes next. Pure: the state comes in.

use crate::bus::state::{Delivery, Message, State};
use crate::domain::ids::SessionId;
use crate::domain::messaging::Audience;

/// Says whether this session is the one that sends: the lead, as long as it responds.
pub(super) fn sends(state: &State, me: SessionId) -> bool {
    state.lead().is_some_and(|lead| lead.id == me && !lead.hung)
}

/// Returns the first message to an address behind a seq. One that its sender took back before anybody saw it is none.
pub(super) fn next_message<'s>(state: &'s State, to: &Audience, after: u64) -> Option<&'s Message> {
    let of_address = |message: &&Message| {
        message.seq > after && message.audience.is_same(to) && !is_taken_back(state, message)
    };
    state.messages().filter(of_address).min_by_key(|message| message.seq)
}

/// A message that nobody has is one that waits for somebody, or that its sender took back before anybody came.
fn is_taken_back(state: &State, message: &Message) -> bool {
    let mut deliveries = message.deliveries.iter();
    if message.deliveries.is_empty() {
        return !state.is_queued(&message.id);
    }
    deliveries.all(|(_, delivery)| *delivery == Delivery::Superseded)
}
