//! Sending a message with all that it may have.

use super::{Call, SentMessage};
use crate::bus::api::bus::Bus;
use crate::bus::error::BusError;
use crate::bus::event::Envelope;
use crate::bus::rules::{Operation, Refusal};
use crate::domain::messaging::{MessageKind, Priority};

/// A message to send.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// The recipient, as the caller wrote it.
    pub to: String,
    pub content: String,
    /// The message or request that it answers, as the caller wrote it.
    pub reply_to: Option<String>,
    pub priority: Priority,
    /// What few messages have.
    pub more: Option<Box<Envelope>>,
}

impl Call {
    /// Sends a message to one member.
    pub async fn send_out(&mut self, message: Outgoing) -> Result<SentMessage, BusError> {
        let Outgoing { to, content, reply_to, priority, more } = message;
        let body = Bus::body(content);
        let more = more.filter(|more| !more.is_empty());
        let send = Operation::Send { to, body, reply_to, priority, more };
        let receipt = match self.ask(send).await {
            Err(BusError::Refused(Refusal::Double { id })) => return Ok(self.sent_before(id)),
            outcome => outcome?,
        };
        self.membership.note_wrote(&receipt);
        self.sent_in(&receipt, &[MessageKind::Message, MessageKind::Response])
    }
}
