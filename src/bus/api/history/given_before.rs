//! Messages that come back to a member after others have had them: from the queue, to the lead, or with a request that is open again. The
//! state knows only that others had them; whether this member was given them before stands in the log.

use std::collections::BTreeSet;

use crate::bus::api::bus::Bus;
use crate::bus::error::BusError;
use crate::bus::event::Event;
use crate::bus::state::{Message, State};
use crate::domain::ids::CallId;
use crate::domain::messaging::MessageKind;
use crate::domain::name::Name;

impl Bus {
    /// Says whether a member was given a message before, by another call than this one, and others have had it since. It reads the log from
    /// the message on, and only for one that may have come back. Where the log cannot be read, it was not given.
    pub(in crate::bus::api) fn was_given_before(
        &self,
        message: &Message,
        reader: &Name,
        now: Option<CallId>,
    ) -> bool {
        if !self.look(|state| may_be_back(state, message, reader)) {
            return false;
        }
        self.was_handed(message, reader, now).unwrap_or_else(|error| {
            tracing::warn!(
                "failed to read whether {reader} was given {} before: {error}",
                message.id
            );
            false
        })
    }

    fn was_handed(
        &self,
        message: &Message,
        reader: &Name,
        now: Option<CallId>,
    ) -> Result<bool, BusError> {
        let sent_at = message.body.place;
        let parts = self.parts_from(sent_at, &message.id.to_string())?.into_iter();
        let starts: BTreeSet<_> = parts.map(|part| part.max(sent_at)).collect();
        let mut was_handed = false;
        self.entries_from(starts, |_, entry| {
            was_handed |= entry.events.iter().any(|event| match event {
                Event::MessageHanded { ids, member, call, .. } => {
                    member == reader && Some(*call) != now && ids.contains(&message.id)
                }
                _ => false,
            });
        })?;
        Ok(was_handed)
    }
}

/// Says whether others may have had a message since its reader had it.
fn may_be_back(state: &State, message: &Message, reader: &Name) -> bool {
    let others_lost_it = || {
        let mut others = message.deliveries.iter().filter(|(name, _)| *name != reader);
        others.any(|(_, delivery)| delivery.ended_unseen())
    };
    let was_claimed = || {
        let request = message.request.as_ref().and_then(|id| state.request(id));
        request.is_some_and(|request| request.owner.is_some())
    };
    state.is_promised(&message.id)
        || message.is_for_lead() && others_lost_it()
        || message.kind == MessageKind::Request && was_claimed()
}
