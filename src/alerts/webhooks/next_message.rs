//! Which bridge sends, and which message comes next. Pure: the state comes in.

use crate::bus::state::{Delivery, Message, State};
use crate::config::Webhook;
use crate::domain::ids::SessionId;
use crate::domain::messaging::Audience;

/// Says whether this session is the one that sends: the lead, as long as it responds.
pub(super) fn sends(state: &State, me: SessionId) -> bool {
    state.lead().is_some_and(|lead| lead.id == me && !lead.hung)
}

/// Returns the first message to an address behind a seq. One that its sender took back before anybody saw it is none.
pub(super) fn next_message<'s>(state: &'s State, to: &Audience, after: u64) -> Option<&'s Message> {
    messages_behind(state, to, after).min_by_key(|message| message.seq)
}

/// Counts the messages that a webhook has still to get. Before the first lead that knows it, there are none.
pub fn messages_waiting(state: &State, webhook: &Webhook) -> usize {
    let place = state.webhook_place(&webhook.name);
    place.map_or(0, |place| messages_behind(state, &webhook.to, place).count())
}

fn messages_behind<'s>(
    state: &'s State,
    to: &Audience,
    after: u64,
) -> impl Iterator<Item = &'s Message> {
    let of_address = move |message: &&Message| {
        message.seq > after && message.audience.is_same(to) && !is_taken_back(state, message)
    };
    state.messages().filter(of_address)
}

/// A message that nobody has is one that waits for somebody, or that its sender took back before anybody came.
fn is_taken_back(state: &State, message: &Message) -> bool {
    let mut deliveries = message.deliveries.iter();
    if message.deliveries.is_empty() {
        return !state.is_queued(&message.id);
    }
    deliveries.all(|(_, delivery)| *delivery == Delivery::Superseded)
}
