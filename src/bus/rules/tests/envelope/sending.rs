//! Sending messages that have something beside their texts.

use crate::bus::event::Envelope;
use crate::bus::rules::tests::*;
use crate::domain::messaging::{Priority, Signal, scaled};

/// Makes an operation that sends something with an envelope.
pub(in crate::bus::rules::tests) fn sending_with(
    to: &str,
    more: Envelope,
    reply_to: Option<&MessageId>,
) -> Operation {
    let (priority, urgency) = scaled(None, more.urgency, more.signal.as_ref());
    Operation::Send {
        to: to.into(),
        body: text("what I say"),
        reply_to: reply_to.map(ToString::to_string),
        priority,
        more: Some(Box::new(Envelope { urgency, ..more })),
    }
}

pub(in crate::bus::rules::tests) fn signal(word: &str) -> Envelope {
    Envelope { signal: Some(Signal::parse(word).unwrap()), ..Envelope::default() }
}

impl World {
    #[track_caller]
    pub(super) fn send_with(&mut self, by: SessionId, to: &str, more: Envelope) -> MessageId {
        let events = self.ask(by, sending_with(to, more, None));
        sent(&events).id.clone()
    }

    #[track_caller]
    pub(in crate::bus::rules::tests) fn reply_with(
        &mut self,
        by: SessionId,
        to: &str,
        more: Envelope,
        reply_to: &MessageId,
    ) -> MessageId {
        let events = self.ask(by, sending_with(to, more, Some(reply_to)));
        all_sent(&events).last().unwrap().id.clone()
    }

    pub(super) fn send_as(&mut self, by: SessionId, to: &str, priority: Priority) -> MessageId {
        let mut sending = sending(to, &format!("{priority:?}"), None);
        if let Operation::Send { priority: of, .. } = &mut sending {
            *of = priority;
        }
        let events = self.ask(by, sending);
        sent(&events).id.clone()
    }
}
