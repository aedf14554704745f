//! Sending a message with all that it may have.

use std::time::Duration;

use serde_json::Value;

use super::ask_and_claim::OpenedRequest;
use super::sent_message::with_liveness;
use super::{Call, SentMessage};
use crate::bus::api::bus::Bus;
use crate::bus::error::BusError;
use crate::bus::event::Envelope;
use crate::bus::rules::{Operation, Refusal, check_envelope};
use crate::domain::messaging::{Address, MessageKind, Priority, SignalClass};
use crate::domain::wait_times;

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
    /// Sends a message to one member, or to a group; work for a group opens a request.
    pub async fn send_out(&mut self, message: Outgoing) -> Result<SentMessage, BusError> {
        if message.is_work_for_a_group() {
            return self.delegate(message).await;
        }
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

    /// Opens a request for a group: of many that get work, one does it.
    async fn delegate(&mut self, message: Outgoing) -> Result<SentMessage, BusError> {
        if let Some(what) = message.has_beside_a_request() {
            return Err(Refusal::OpensRequest { what }.into());
        }
        let more = message.more.map(|more| *more).unwrap_or_default();
        check_envelope(&more, None)?;
        let Envelope { payload, reference, ttl_seconds, response_seconds, urgency, .. } = more;
        let exactly = urgency.unwrap_or_else(|| message.priority.urgency());
        let reference = reference.map(|reference| format!("about: {reference}"));
        let payload = payload.map(|payload| format!("payload: {}", Value::Object(payload)));
        let context: Vec<_> = reference.into_iter().chain(payload).collect();
        let context = (!context.is_empty()).then(|| context.join("\n"));
        let nudge = response_seconds.unwrap_or(wait_times::REQUEST_NUDGE_SECONDS);
        let ttl = ttl_seconds.unwrap_or(wait_times::REQUEST_TTL_SECONDS);
        let times = (
            Duration::from_secs(nudge),
            Duration::from_secs(ttl),
            Some(Duration::from_secs(wait_times::LEASE_SECONDS)),
        );
        let texts = (message.content, context);
        let opened = self.open_request_to(Some(message.to), texts, times, Some(exactly)).await?;
        let OpenedRequest { id, is_double } = opened;
        let opened = self.membership.bus().look(|state| {
            let message = &state.request(&id)?.message;
            let deliveries = state.message(message)?.deliveries.iter();
            let names = deliveries.map(|(name, _)| name.clone());
            Some((message.clone(), with_liveness(state, names)))
        });
        let (message, recipients) = opened.ok_or(BusError::Closed)?;
        Ok(SentMessage {
            id: message,
            recipients,
            is_double,
            is_queued: false,
            mentions: Vec::new(),
            request: Some(id),
        })
    }
}

impl Outgoing {
    fn is_work_for_a_group(&self) -> bool {
        let signal = self.more.as_ref().and_then(|more| more.signal.as_ref());
        signal.is_some_and(|signal| signal.class() == SignalClass::Work)
            && Address::parse(&self.to).is_ok_and(|address| address.is_several())
    }

    /// Returns the name of a field that no request has.
    fn has_beside_a_request(&self) -> Option<&'static str> {
        let more = self.more.as_ref();
        let has = |field: fn(&Envelope) -> bool| more.is_some_and(|more| field(more));
        if self.reply_to.is_some() {
            return Some("reply_to");
        }
        if has(|more| !more.attachments.is_empty()) {
            return Some("attachments");
        }
        if has(|more| more.queue) {
            return Some("queue");
        }
        if has(|more| !more.mentions.is_empty() || !more.mentioned_sessions.is_empty()) {
            return Some("mention");
        }
        has(|more| more.supersedes.is_some()).then_some("supersedes")
    }
}
