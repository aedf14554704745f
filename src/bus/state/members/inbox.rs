//! The unread messages in an inbox, the sum of their bytes, and which of them have been delivered before. The last two follow from the
//! messages and are not stored.
//!
//! Each change adds to them or takes from them. If a log gives a seq twice, which no rules do, both are computed again.

use crate::bus::state::{Member, Message, State, UnreadPlace};
use crate::domain::ids::MessageId;
use crate::domain::limits;
use crate::domain::name::Name;

impl Member {
    /// Puts a message into the inbox. Says whether the sum is still right.
    #[must_use]
    pub(in crate::bus::state) fn receive(&mut self, message: &Message) -> bool {
        let place = message.unread_place();
        let before = self.unread.insert(place, message.id.clone());
        if message.is_returned_to(&self.name) {
            self.returned.insert(place);
        }
        // Wrapping, so that a removal always undoes the insertion.
        self.unread_bytes = self.unread_bytes.wrapping_add(message.bytes());
        before.is_none()
    }

    /// Removes a message from the inbox, if it is there. Says whether the sum is still right.
    #[must_use]
    pub(in crate::bus::state) fn lose(&mut self, message: &Message) -> bool {
        let place = message.unread_place();
        let Some(gone) = self.unread.remove(&place) else {
            return true;
        };
        self.returned.remove(&place);
        self.unread_bytes = self.unread_bytes.wrapping_sub(message.bytes());
        gone == message.id
    }
}

impl State {
    /// Says whether an inbox has less than this multiple of the limits, in unread messages and in their bytes.
    pub fn has_room(&self, name: &Name, times: usize) -> bool {
        let most = self.limits().unread.saturating_mul(times);
        let most_bytes = limits::MAX_UNREAD_BYTES.saturating_mul(times as u64);
        let fits = |member: &Member| member.unread.len() < most && member.unread_bytes < most_bytes;
        self.member(name).is_none_or(fits)
    }

    /// Computes what is not stored of the inboxes of a state that was read, in one walk over their messages; and gives urgent messages
    /// their places, which come first: an older version gave them the places of others.
    pub(in crate::bus::state) fn rebuild_read_inboxes(&mut self) {
        let mut has_lost = false;
        for member in self.members.values_mut() {
            let (mut bytes, mut moved) = (0_u64, Vec::new());
            for (place, id) in member.unread.iter() {
                let Some(message) = self.messages.get(id) else { continue };
                bytes = bytes.wrapping_add(message.bytes());
                let right = message.unread_place();
                if message.is_returned_to(&member.name) {
                    member.returned.insert(right);
                }
                if message.seq == place.seq && right != *place {
                    moved.push((*place, right, id.clone()));
                }
            }
            for (before, right, id) in moved {
                member.unread.remove(&before);
                has_lost |= member.unread.insert(right, id).is_some();
            }
            member.unread_bytes = bytes;
        }
        if has_lost {
            self.rebuild_inboxes();
        }
    }

    /// Computes again what is not stored of all inboxes.
    pub(in crate::bus::state) fn rebuild_inboxes(&mut self) {
        let names: Vec<_> = self.members.keys().cloned().collect();
        for name in names {
            let Some(member) = self.members.get_mut(&name) else {
                continue;
            };
            let known =
                |(place, id): (&UnreadPlace, &MessageId)| Some((*place, self.messages.get(id)?));
            let unread = || member.unread.iter().filter_map(known);
            let bytes = unread().map(|(_, message)| message.bytes());
            let returned = unread().filter(|(_, message)| message.is_returned_to(&name));
            (member.unread_bytes, member.returned) =
                (bytes.fold(0, u64::wrapping_add), returned.map(|(place, _)| place).collect());
        }
    }
}
