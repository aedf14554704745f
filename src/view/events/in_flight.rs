//! The messages that calls carry, between their delivery and its proof: the events of the proof name only the call. A proof may come
//! late, when the messages are unread again: it counts as long as no other call has carried them since.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::bus::event::{Addressees, Event};
use crate::domain::ids::{CallId, MessageId, SessionId};
use crate::domain::messaging::DeliveryMethod;
use crate::domain::name::Name;

/// The messages of each call, until the model has seen them or they are unread again.
#[derive(Clone, Debug, Default)]
pub(in crate::view) struct InFlight {
    calls: Calls,
    /// What is unread again, by the call that carried it last: that call may still prove it.
    returned: Calls,
}

/// What a call carries.
#[derive(Clone, Debug)]
pub(in crate::view) struct Carried {
    /// The owner of the inbox.
    pub(in crate::view) member: Name,
    pub(in crate::view) method: DeliveryMethod,
    pub(in crate::view) ids: Vec<MessageId>,
}

impl InFlight {
    /// Notes a delivery. What was unread again is carried by this call alone now.
    pub(in crate::view) fn hand(
        &mut self,
        (session, call): (SessionId, CallId),
        (member, method): (&Name, DeliveryMethod),
        ids: &[MessageId],
    ) {
        drop_ids(&mut self.returned, member, ids);
        let carried = Carried { member: member.clone(), method, ids: ids.to_vec() };
        add(&mut self.calls, (session, call), carried);
    }

    /// Notes that a member has acknowledged messages: their calls do not carry them any more.
    pub(in crate::view) fn acknowledge(&mut self, member: &Name, ids: &[MessageId]) {
        drop_ids(&mut self.calls, member, ids);
        drop_ids(&mut self.returned, member, ids);
    }

    /// Returns what a call carried that has proven it, also what was unread again; none if it carried nothing, or was begun before the
    /// first entry.
    pub(in crate::view) fn prove(&mut self, session: SessionId, call: CallId) -> Option<Carried> {
        let late = self.returned.remove(&(session, call));
        let mut carried = self.calls.remove(&(session, call));
        match (&mut carried, late) {
            (Some(carried), Some(late)) => carried.ids.extend(late.ids),
            (None, late) => carried = late,
            (Some(_), None) => {}
        }
        carried
    }

    /// Returns what a call carried that is unread again.
    pub(in crate::view) fn give_back(
        &mut self,
        session: SessionId,
        call: CallId,
    ) -> Option<Carried> {
        let carried = self.calls.remove(&(session, call))?;
        add(&mut self.returned, (session, call), carried.clone());
        Some(carried)
    }

    /// Returns what the calls of a session carried that has left: it is unread again, and they prove nothing any more.
    pub(in crate::view) fn left(&mut self, session: SessionId) -> Vec<Carried> {
        self.returned.retain(|(of, _), _| *of != session);
        let of_session = self.calls.extract_if(.., |(of, _), _| *of == session);
        of_session.map(|(_, carried)| carried).collect()
    }

    /// Notes that a message which was unread again has ended without a reader, if the event says so: no call proves it any more.
    pub(in crate::view) fn end(&mut self, event: &Event) {
        let (Event::MessageExpired { id, .. } | Event::MessageSuperseded { id, .. }) = event else {
            return;
        };
        let is_meant = |name: &Name| match event {
            Event::MessageExpired { member, .. } => name == member,
            Event::MessageSuperseded { members: Addressees::Named(names), .. } => {
                names.contains(name)
            }
            Event::MessageSuperseded { members: Addressees::AllBut(names), .. } => {
                !names.contains(name)
            }
            _ => false,
        };
        let meant = self.returned.values_mut().filter(|carried| is_meant(&carried.member));
        meant.for_each(|carried| carried.ids.retain(|other| other != id));
        self.returned.retain(|_, carried| !carried.ids.is_empty());
    }

    /// Returns what calls carry.
    pub(in crate::view) fn ids(&self) -> impl Iterator<Item = &MessageId> {
        self.calls.values().flat_map(|carried| &carried.ids)
    }
}

type Calls = BTreeMap<(SessionId, CallId), Carried>;

fn add(calls: &mut Calls, call: (SessionId, CallId), carried: Carried) {
    match calls.entry(call) {
        Entry::Occupied(mut known) => known.get_mut().ids.extend(carried.ids),
        Entry::Vacant(new) => {
            new.insert(carried);
        }
    }
}

fn drop_ids(calls: &mut Calls, member: &Name, ids: &[MessageId]) {
    let of_member = calls.values_mut().filter(|carried| carried.member == *member);
    of_member.for_each(|carried| carried.ids.retain(|id| !ids.contains(id)));
    calls.retain(|_, carried| !carried.ids.is_empty());
}
