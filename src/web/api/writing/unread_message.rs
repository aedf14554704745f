//! A message of the inbox of a program, with its whole text and all that it has beside that.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::bus::LoadedMessage;
use crate::domain::messaging::{Priority, Urgency};
use crate::domain::name::Name;
use crate::view::{LetterAttachment, Moment};

/// An unread message.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::web::api) struct UnreadMessage {
    message_id: String,
    /// The seq of its event.
    pub(super) seq: u64,
    at: Moment,
    /// The sender; `bridge` is the bus itself, `human` the person at the command line.
    from: String,
    /// A name, `all`, or a group such as `@role`.
    to: String,
    /// message, request, response, nudge, broadcast, shutdown or notice.
    kind: String,
    /// The whole text.
    content: String,
    /// Why the text is lost, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<String>,
    /// The first message of its thread.
    thread_id: String,
    /// The message that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<String>,
    /// The request that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    /// The task that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<String>,
    /// low, high or urgent, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<&'static str>,
    /// 0 to 1, if its sender chose a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    urgency: Option<f64>,
    /// What it is about, as its sender says.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    /// What it says to programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<Map<String, Value>>,
    /// Its sender wants an answer within these seconds: a message with its id as `reply_to`.
    #[serde(skip_serializing_if = "Option::is_none")]
    response_seconds: Option<u64>,
    /// What is attached to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attachments: Vec<LetterAttachment>,
    /// Whether it is worth an interruption.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    urgent: bool,
}

impl UnreadMessage {
    /// Makes a message as this reader is shown it.
    pub(in crate::web::api) fn of(loaded: LoadedMessage, reader: &Name) -> Self {
        let LoadedMessage { header, text, lost, more, .. } = loaded;
        let envelope = header.more.as_deref();
        let response_seconds = envelope.and_then(|more| more.response_seconds);
        let attached = more.iter().flat_map(|more| &more.attachments);
        let attachments = attached.map(LetterAttachment::from).collect();
        Self {
            signal: header.signal().map(ToString::to_string),
            priority: (!header.priority.is_normal()).then(|| header.priority.as_str()),
            urgency: envelope.and_then(|more| more.urgency).map(Urgency::as_f64),
            reference: envelope.and_then(|more| more.reference.clone()),
            payload: more.as_ref().and_then(|more| more.payload.clone()),
            response_seconds: response_seconds.filter(|_| !header.is_copy_for(reader)),
            message_id: header.id.into(),
            seq: header.seq,
            at: Moment(header.sent_ms),
            from: header.from.to_string(),
            to: header.audience.to_string(),
            kind: header.kind.as_str().to_owned(),
            content: text,
            lost,
            thread_id: header.thread.into(),
            reply_to: header.reply_to.map(String::from),
            request_id: header.request.map(String::from),
            task_id: header.task.map(String::from),
            attachments,
            urgent: header.priority >= Priority::High,
        }
    }
}
