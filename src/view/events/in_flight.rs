//! The messages that calls carry, between their delivery and its proof: the events of the proof name only the call.

use std::collections::BTreeMap;

use crate::domain::ids::{CallId, MessageId, SessionId};
use crate::domain::name::Name;

/// The messages of each call, until the model has seen them or they are unread again.
#[derive(Clone, Debug, Default)]
pub(in crate::view) struct InFlight {
    calls: BTreeMap<(SessionId, CallId), Carried>,
}

/// What a call carries.
#[derive(Clone, Debug)]
pub(in crate::view) struct Carried {
    /// The owner of the inbox.
    pub(in crate::view) member: Name,
    pub(in crate::view) ids: Vec<MessageId>,
}

impl InFlight {
    /// Notes a delivery.
    pub(in crate::view) fn hand(
        &mut self,
        (session, call): (SessionId, CallId),
        member: &Name,
        ids: &[MessageId],
    ) {
        let carried = self.calls.entry((session, call));
        let carried =
            carried.or_insert_with(|| Carried { member: member.clone(), ids: Vec::new() });
        carried.ids.extend_from_slice(ids);
    }

    /// Notes that a member has acknowledged messages: their calls do not carry them any more.
    pub(in crate::view) fn acknowledge(&mut self, member: &Name, ids: &[MessageId]) {
        let mine = self.calls.values_mut().filter(|carried| carried.member == *member);
        mine.for_each(|carried| carried.ids.retain(|id| !ids.contains(id)));
        self.calls.retain(|_, carried| !carried.ids.is_empty());
    }

    /// Returns what a call carried that has ended; none if it carried nothing, or was begun before the first entry.
    pub(in crate::view) fn settle(&mut self, session: SessionId, call: CallId) -> Option<Carried> {
        self.calls.remove(&(session, call))
    }

    /// Returns what the calls of a session carried that has left: it is unread again.
    pub(in crate::view) fn left(&mut self, session: SessionId) -> Vec<Carried> {
        let of_session = self.calls.extract_if(.., |(of, _), _| *of == session);
        of_session.map(|(_, carried)| carried).collect()
    }
}
