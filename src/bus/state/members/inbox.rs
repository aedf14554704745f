//! What is in an inbox, and how many bytes of texts that are: the sum follows from the messages, and is not written down.
//!
//! It is kept by adding and subtracting. Where a log has given a number twice, which no rules do, it has to be found anew.

use crate::bus::state::{Member, Message, State};

impl Member {
    /// Puts a message into the inbox. Says whether the sum is still known.
    #[must_use]
    pub(in crate::bus::state) fn receive(&mut self, message: &Message) -> bool {
        let before = self.unread.insert(message.seq, message.id.clone());
        // Wrapping, so that taking out what was put in always leads back.
        self.unread_bytes = self.unread_bytes.wrapping_add(message.body.bytes);
        before.is_none()
    }

    /// Takes a message out of the inbox, if it is there. Says whether the sum is still known.
    #[must_use]
    pub(in crate::bus::state) fn lose(&mut self, message: &Message) -> bool {
        let Some(gone) = self.unread.remove(&message.seq) else {
            return true;
        };
        self.unread_bytes = self.unread_bytes.wrapping_sub(message.body.bytes);
        gone == message.id
    }
}

impl State {
    /// Finds the sums of all inboxes anew.
    pub(in crate::bus::state) fn rebuild_inboxes(&mut self) {
        let names: Vec<_> = self.members.keys().cloned().collect();
        for name in names {
            let Some(member) = self.members.get_mut(&name) else {
                continue;
            };
            let unread = member.unread.values();
            let unread = unread.filter_map(|id| self.messages.get(id));
            let bytes = unread.map(|message| message.body.bytes);
            member.unread_bytes = bytes.fold(0, u64::wrapping_add);
        }
    }
}
