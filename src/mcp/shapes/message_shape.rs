//! The shape of a message in the results of all tools.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::attachment_shape::AttachmentView;
use crate::bus::api::message_text::shown_part;
use crate::bus::state::Task;
use crate::bus::{LoadedMessage, Membership};
use crate::domain::messaging::{MessageKind, Urgency};
use crate::domain::name::Name;
use crate::domain::time::iso8601;

/// A message.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct MessageView {
    /// The id, for `reply_to`.
    pub id: String,
    /// message, request, response, nudge, broadcast, shutdown or notice.
    #[serde(rename = "type")]
    pub kind: String,
    /// The sender; `bridge` is the bus itself, `human` your user.
    pub from: String,
    /// A name, all, or a group.
    pub to: String,
    /// What it says.
    pub content: String,
    /// When it was sent, in UTC.
    pub timestamp: String,
    /// The request it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Who claimed that request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<String>,
    /// The message it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// The first message of its thread.
    pub thread_id: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// low, high or urgent, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<&'static str>,
    /// 0 to 1, if its sender chose a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub urgency: Option<f64>,
    /// What it says to programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Map<String, Value>>,
    /// Length of the payload as JSON, if that is too long to be shown here: `check_messages` with the id, a slash and `payload`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_bytes: Option<u64>,
    /// What is attached to it: `check_messages` with the id of an attachment reads that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<AttachmentView>,
    /// What it is about.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The message whose place it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
    /// Who has a copy because the content mentions them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<String>,
    /// Its sender wants an answer, with its id as `reply_to`, within these seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_seconds: Option<u64>,
    /// Length of the whole content, if this is a part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_bytes: Option<usize>,
    /// Where the rest begins: `check_messages` with `id` and `offset`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
    /// Why the content cannot be shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// true if you were given it before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<bool>,
}

impl MessageView {
    /// Makes a message as this reader is shown it.
    pub(crate) fn of(letter: LoadedMessage, reader: &Name) -> Self {
        let next_offset = letter.next_offset();
        let is_part = next_offset.is_some() || letter.offset > 0;
        let payload_bytes = letter.long_payload_bytes();
        let payload = letter.shown_payload().cloned();
        let with_texts = letter.shows_attached_texts();
        let attached = letter.more.as_ref().map(|more| more.attachments.as_slice());
        let attachments = attached.unwrap_or_default().iter().zip(1..);
        let attachments = attachments.map(|(attachment, number)| {
            AttachmentView::new(attachment, (&letter.header.id, number), with_texts)
        });
        let attachments = attachments.collect();
        let supersedes = letter.more.as_ref().and_then(|more| more.supersedes.clone());
        let supersedes = supersedes.map(String::from);
        let header = letter.header;
        let more = header.more.as_deref();
        let urgency = more.and_then(|more| more.urgency);
        let reference = more.and_then(|more| more.reference.clone());
        let response_seconds = more.and_then(|more| more.response_seconds);
        let response_seconds = response_seconds.filter(|_| !header.is_copy_for(reader));
        let mentions = more.map(|more| more.mentions.iter().map(ToString::to_string).collect());
        let mentions = mentions.unwrap_or_default();
        let signal = header.signal().map(ToString::to_string);
        Self {
            id: header.id.into(),
            kind: header.kind.as_str().to_owned(),
            from: header.from.to_string(),
            to: header.audience.to_string(),
            content: letter.text,
            timestamp: iso8601(header.sent_ms),
            request_id: header.request.map(String::from),
            claimed_by: header.claimed_by.map(|name| name.to_string()),
            reply_to: header.reply_to.map(String::from),
            thread_id: header.thread.into(),
            signal,
            priority: (!header.priority.is_normal()).then(|| header.priority.as_str()),
            urgency: urgency.map(Urgency::as_f64),
            payload,
            payload_bytes,
            attachments,
            reference,
            supersedes,
            mentions,
            response_seconds,
            content_bytes: is_part.then_some(letter.total),
            next_offset,
            lost: letter.lost,
            again: letter.is_again.then_some(true),
        }
    }
}

impl MessageView {
    /// Makes a message of a task's output, from `offset` on, with its agent as the sender.
    pub(crate) fn of_output(
        task: &Task,
        membership: &Membership,
        whole: &str,
        offset: usize,
    ) -> Self {
        let (offset, text) = shown_part(whole, offset, membership.text_room());
        let end = offset + text.len();
        let is_part = text.len() < whole.len();
        Self {
            id: task.id.to_string(),
            kind: MessageKind::Message.as_str().to_owned(),
            from: task.agent.to_string(),
            to: membership.name().to_string(),
            content: text.to_owned(),
            timestamp: iso8601(task.ended_ms.unwrap_or(task.queued_ms)),
            thread_id: task.id.to_string(),
            content_bytes: is_part.then_some(whole.len()),
            next_offset: (end < whole.len()).then_some(end),
            ..Self::default()
        }
    }
}

/// Converts messages to their shape in results.
pub(crate) fn views(messages: Vec<LoadedMessage>, reader: &Name) -> Vec<MessageView> {
    messages.into_iter().map(|letter| MessageView::of(letter, reader)).collect()
}
