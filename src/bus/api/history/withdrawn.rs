//! Messages that were taken from a reader before it was shown them: withdrawn by their sender, or expired. The state knows that of its own
//! messages; of forgotten ones the log says it.

use std::collections::BTreeSet;

use super::LINES;
use crate::bus::api::bus::Bus;
use crate::bus::error::BusError;
use crate::bus::event::{Addressees, Event};
use crate::bus::state::Message;
use crate::bus::storage::LogError;
use crate::domain::ids::MessageId;
use crate::domain::messaging::MessageKind;
use crate::domain::name::Name;

/// What became of some messages for one reader, as far as the log has been read.
pub(super) struct Fates<'a> {
    reader: &'a Name,
    /// Those of which it is not known yet.
    open: BTreeSet<MessageId>,
    withdrawn: BTreeSet<MessageId>,
}

impl<'a> Fates<'a> {
    pub(super) fn of(reader: &'a Name, messages: impl IntoIterator<Item = MessageId>) -> Self {
        Self { reader, open: messages.into_iter().collect(), withdrawn: BTreeSet::new() }
    }

    /// Notes what an event says. What was delivered once may have been shown, whatever became of it then.
    pub(super) fn note(&mut self, event: &Event) {
        match event {
            Event::MessageHanded { ids, member, .. } if member == self.reader => {
                self.open.retain(|id| !ids.contains(id));
            }
            Event::MessageAcknowledged(said) if said.member == *self.reader => {
                self.open.retain(|id| !said.ids.contains(id));
            }
            // One that waited for somebody who fits can come back to who has lost it.
            Event::MessageAddressed { id, to } if to.named().contains(self.reader) => {
                self.open.extend(self.withdrawn.take(id));
            }
            Event::MessageSuperseded { id, members } if self.is_among(members) => self.take(id),
            Event::MessageExpired { id, member } if member == self.reader => self.take(id),
            _ => {}
        }
    }

    fn is_among(&self, members: &Addressees) -> bool {
        match members {
            Addressees::Named(names) => names.contains(self.reader),
            Addressees::AllBut(others) => !others.contains(self.reader),
        }
    }

    fn take(&mut self, id: &MessageId) {
        self.withdrawn.extend(self.open.take(id));
    }

    pub(super) fn is_withdrawn(&self, id: &MessageId) -> bool {
        self.withdrawn.contains(id)
    }
}

/// Says whether a past message may be withdrawn from a reader: a message of others that is no request, which stays readable.
pub(super) fn can_be_withdrawn(message: &Message, reader: &Name) -> bool {
    message.from.member() != Some(reader) && message.kind != MessageKind::Request
}

impl Bus {
    /// Leaves out the messages that were taken from the reader before it was shown them. Those of the state need nothing but that; for
    /// forgotten ones it reads on in the log, from the first of them until it is known of each: mostly a few lines.
    pub(super) fn without_withdrawn(
        &self,
        mut found: Vec<Message>,
        reader: &Name,
    ) -> Result<Vec<Message>, BusError> {
        let mut forgotten = Vec::new();
        self.look(|state| {
            found.retain(|message| match state.message(&message.id) {
                Some(known) => known.is_readable_by(reader),
                None => true,
            });
            let is_forgotten = |message: &&Message| {
                state.message(&message.id).is_none() && can_be_withdrawn(message, reader)
            };
            let places = found.iter().filter(is_forgotten);
            forgotten.extend(places.map(|message| (message.body.place, message.id.clone())));
        });
        let Some(mut position) = forgotten.iter().map(|(place, _)| *place).min() else {
            return Ok(found);
        };
        let mut fates = Fates::of(reader, forgotten.into_iter().map(|(_, id)| id));
        while !fates.open.is_empty() {
            let (lines, next) = match self.read_after(position, LINES) {
                // Retention has removed it meanwhile.
                Err(BusError::Log(LogError::Gone)) => break,
                outcome => outcome?,
            };
            if lines.is_empty() {
                break;
            }
            lines.iter().flat_map(|(_, entry)| &entry.events).for_each(|event| fates.note(event));
            position = next;
        }
        found.retain(|message| !fates.is_withdrawn(&message.id));
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::{CallId, SessionId};
    use crate::domain::messaging::DeliveryMethod;

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    fn id(bits: u64) -> MessageId {
        MessageId::from_bits(bits)
    }

    #[test]
    fn what_was_delivered_once_is_never_withdrawn_and_what_was_not_may_be() {
        let ann = name("ann");
        let handed = |to: &str| Event::MessageHanded {
            ids: vec![id(1)],
            member: name(to),
            session: SessionId(uuid::Uuid::nil()),
            call: CallId(uuid::Uuid::nil()),
            method: DeliveryMethod::Pull,
        };
        let superseded = |members: Addressees| Event::MessageSuperseded { id: id(1), members };
        let all_but = |names: &[&str]| {
            superseded(Addressees::AllBut(names.iter().map(|other| name(other)).collect()))
        };
        let expired = |member: &str| Event::MessageExpired { id: id(1), member: name(member) };
        let addressed = |to: &str| Event::MessageAddressed { id: id(1), to: vec![name(to)].into() };
        for (events, is_withdrawn) in [
            (vec![superseded(vec![name("ann")].into())], true),
            (vec![superseded(vec![name("bob")].into())], false),
            (vec![all_but(&["bob"])], true),
            (vec![all_but(&["ann"])], false),
            (vec![expired("ann")], true),
            (vec![expired("bob")], false),
            (vec![handed("bob"), expired("ann")], true),
            (vec![handed("ann"), expired("ann")], false),
            (vec![handed("ann"), all_but(&[])], false),
            (vec![expired("ann"), addressed("bob")], true),
            (vec![expired("ann"), addressed("ann"), handed("ann")], false),
        ] {
            let mut fates = Fates::of(&ann, [id(1)]);
            for event in &events {
                fates.note(event);
            }
            assert_eq!(fates.is_withdrawn(&id(1)), is_withdrawn, "{events:?}");
        }
    }
}
