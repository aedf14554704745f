//! Ending a message whose time is over.

use super::Writer;
use crate::bus::event::Event;
use crate::bus::rules::notice::{Notice, listed, notice};
use crate::bus::state::Message;
use crate::domain::name::Name;

impl Writer<'_> {
    /// Ends a message that these recipients have not seen in time, and notifies its sender.
    pub(in crate::bus::rules) fn expire(&mut self, message: &Message, names: &[Name]) {
        for member in names {
            self.push(Event::MessageExpired { id: message.id.clone(), member: member.clone() });
        }
        self.end_vain_waits(&message.id, names);
        let seconds = message.more.as_ref().and_then(|more| more.ttl_seconds).unwrap_or_default();
        if let (Some(sender), false) = (message.from.member(), names.is_empty()) {
            let names = names.iter().map(|name| Notice::default().and(name)).collect();
            let text = notice![
                "your message ",
                message.id,
                " to ",
                listed(names),
                " expired: it was not seen within ",
                seconds,
                " s"
            ];
            self.notice(sender, text);
        }
    }
}
