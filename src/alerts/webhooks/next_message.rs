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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::event::{Entry, Envelope, Event, LogPosition, MessageSent};
    use crate::domain::ids::{CommandId, MessageId};
    use crate::domain::member::Label;
    use crate::domain::messaging::Group;
    use crate::domain::name::Name;
    use crate::domain::time::Tick;

    fn id(number: u64) -> MessageId {
        MessageId::from_bits(number)
    }

    fn builds() -> Audience {
        Audience::Group(Group::Topic(Label::parse("builds").unwrap()))
    }

    fn enter(state: &mut State, seq: u64, event: Event) {
        let entry = Entry {
            seq,
            ts: 1,
            tick: Tick { boot: 1, ms: seq },
            id: CommandId(uuid::Uuid::from_u128(u128::from(seq))),
            by: None,
            events: vec![event],
        };
        state.apply(&entry, &[0], LogPosition::default());
    }

    /// Sends a message to a topic that nobody follows, for the first who will.
    fn queued(number: u64) -> Event {
        let more = Envelope { queue: true, ..Envelope::default() };
        Event::MessageSent(MessageSent {
            more: Some(Box::new(more)),
            ..MessageSent::plain(id(number), Name::parse("ann").unwrap(), builds(), "it is red")
        })
    }

    #[test]
    fn what_waits_for_somebody_is_passed_on_unless_it_was_taken_back_before() {
        let mut state = State::default();
        enter(&mut state, 1, queued(1));
        enter(&mut state, 2, queued(2));
        let next = |state: &State, after| {
            next_message(state, &builds(), after).map(|message| message.id.clone())
        };
        assert_eq!(next(&state, 0), Some(id(1)));
        enter(&mut state, 3, Event::MessageUnclaimed { id: id(1) });
        assert_eq!((next(&state, 0), next(&state, 2)), (Some(id(2)), None));
    }
}
