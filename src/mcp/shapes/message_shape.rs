//! The shape of a message in the results of all tools.

use schemars::JsonSchema;
use serde::Serialize;

use crate::bus::api::message_text::shown_part;
use crate::bus::state::Task;
use crate::bus::{LoadedMessage, Membership};
use crate::domain::messaging::{MessageKind, Priority};
use crate::domain::time::iso8601;

/// A message.
#[derive(Debug, Serialize, JsonSchema)]
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
    /// urgent, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<&'static str>,
    /// Length of the whole content, if this is a part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_bytes: Option<usize>,
    /// Where the rest begins: `check_messages` with `id` and `offset`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
    /// Why the content is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// true if you were given it before, but nothing proves that you read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<bool>,
}

impl From<LoadedMessage> for MessageView {
    fn from(letter: LoadedMessage) -> Self {
        let next_offset = letter.next_offset();
        let is_part = next_offset.is_some() || letter.offset > 0;
        let header = letter.header;
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
            priority: (header.priority == Priority::Urgent).then_some("urgent"),
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
            request_id: None,
            claimed_by: None,
            reply_to: None,
            thread_id: task.id.to_string(),
            priority: None,
            content_bytes: is_part.then_some(whole.len()),
            next_offset: (end < whole.len()).then_some(end),
            lost: None,
            again: None,
        }
    }
}

/// Converts messages to their shape in results.
pub(crate) fn views(messages: Vec<LoadedMessage>) -> Vec<MessageView> {
    messages.into_iter().map(MessageView::from).collect()
}
