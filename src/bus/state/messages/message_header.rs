//! Makes the header of a message from its event.

use crate::bus::event::LogPosition;
use crate::bus::event::{MessageSent, RequestOpened};
use crate::bus::state::{BodyRef, Deliveries, EnvelopeHeader, Message};
use crate::domain::messaging::{Author, MessageKind};

/// The position and the time of an event.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::bus) struct Origin {
    pub(in crate::bus) seq: u64,
    /// Milliseconds since 1970.
    pub(in crate::bus) wall_ms: i64,
    /// The beginning of its line.
    pub(in crate::bus) place: LogPosition,
    /// Its index in the line.
    pub(in crate::bus) index: u16,
}

impl Origin {
    /// Returns the reference to a text of the event.
    pub(in crate::bus) fn body(self, bytes: u64) -> BodyRef {
        let Self { place, index, .. } = self;
        BodyRef { place, index, bytes }
    }
}

impl Message {
    /// Makes the header of a sent message, which is in no inbox yet.
    pub(in crate::bus) fn sent(sent: &MessageSent, origin: Origin) -> Self {
        Self {
            id: sent.id.clone(),
            seq: origin.seq,
            sent_ms: origin.wall_ms,
            kind: sent.kind,
            from: sent.from.clone(),
            audience: sent.audience.clone(),
            request: sent.request.clone(),
            task: sent.task.clone(),
            claimed_by: sent.claimed_by.clone(),
            reply_to: sent.reply_to.clone(),
            thread: sent.thread.clone().unwrap_or_else(|| sent.id.clone()),
            priority: sent.priority,
            quiet: sent.quiet,
            resolved: false,
            disputed: false,
            replaced: false,
            more: sent.more.as_ref().map(|more| Box::new(EnvelopeHeader::of(more))),
            body: origin.body(sent.body.bytes()),
            deliveries: Deliveries::default(),
        }
    }

    /// Makes the header of the message that shows a request, which is in no inbox yet.
    pub(in crate::bus) fn opened(opened: &RequestOpened, origin: Origin) -> Self {
        let exactly = opened.urgency.filter(|urgency| *urgency != opened.priority().urgency());
        Self {
            id: opened.message.clone(),
            seq: origin.seq,
            sent_ms: origin.wall_ms,
            kind: MessageKind::Request,
            from: Author::Member(opened.from.clone()),
            audience: opened.audience(),
            request: Some(opened.id.clone()),
            task: None,
            claimed_by: None,
            reply_to: None,
            thread: opened.message.clone(),
            priority: opened.priority(),
            quiet: false,
            resolved: false,
            disputed: false,
            replaced: false,
            more: exactly.map(|urgency| {
                Box::new(EnvelopeHeader { urgency: Some(urgency), ..EnvelopeHeader::default() })
            }),
            body: origin.body(opened.bytes()),
            deliveries: Deliveries::default(),
        }
    }
}
