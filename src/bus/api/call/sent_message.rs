//! What the events of a command tell of the message that it has sent.

use super::{Call, SentMessage};
use crate::bus::error::BusError;
use crate::bus::event::{Addressees, Event, MessageSent};
use crate::bus::shared::Receipt;
use crate::bus::state::State;
use crate::domain::messaging::{Author, MessageKind};
use crate::domain::name::Name;

impl Call {
    /// Finds this member's message among a command's events. Overdue events stand before it.
    pub(super) fn sent_in(
        &self,
        receipt: &Receipt,
        kinds: &[MessageKind],
    ) -> Result<SentMessage, BusError> {
        let is_own = |sent: &&MessageSent| {
            kinds.contains(&sent.kind) && sent.from.member() == Some(self.membership.name())
        };
        let sent =
            receipt.events.iter().rev().filter_map(as_sent).find(is_own).ok_or(BusError::Closed)?;
        // A message for the user waits, and somebody gets it in the same append.
        let addressed = receipt.events.iter().find_map(|event| match event {
            Event::MessageAddressed { id, to } if *id == sent.id => Some(to.clone()),
            _ => None,
        });
        let recipients = self.membership.bus().look(|state| {
            let recipients_in_state = || {
                let message = state.message(&sent.id);
                let deliveries = message.map(|message| message.deliveries.iter());
                let names = deliveries.into_iter().flatten().map(|(name, _)| name);
                names.cloned().collect()
            };
            let names: Vec<Name> = match addressed.as_ref().unwrap_or(&sent.to) {
                Addressees::Named(names) => names.clone(),
                Addressees::AllBut(_) => recipients_in_state(),
            };
            with_liveness(state, names)
        });
        let mentions = sent.more.as_ref().map(|more| more.mentions.clone()).unwrap_or_default();
        let id = sent.id.clone();
        let is_queued = sent.is_queued() && addressed.is_none();
        Ok(SentMessage { id, recipients, is_double: false, is_queued, mentions, request: None })
    }
}

fn as_sent(event: &Event) -> Option<&MessageSent> {
    match event {
        Event::MessageSent(sent) if matches!(sent.from, Author::Member(_)) => Some(sent),
        _ => None,
    }
}

/// Says of each member whether it is live.
pub(super) fn with_liveness(
    state: &State,
    names: impl IntoIterator<Item = Name>,
) -> Vec<(Name, bool)> {
    let with = |name: Name| (state.live(&name).is_some(), name);
    names.into_iter().map(with).map(|(live, name)| (name, live)).collect()
}
