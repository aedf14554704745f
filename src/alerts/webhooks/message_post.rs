//! A message as the POST of a webhook: JSON, with the words of its author only if the user wants them.

use serde_json::json;

use crate::alerts::targets::Post;
use crate::bus::LoadedMessage;
use crate::config::Webhook;
use crate::domain::time::iso8601;

/// Returns the POST of a message. Receivers that know an id have the message already.
pub(super) fn post_of(
    webhook: &Webhook,
    (project, with_text): (&str, bool),
    message: &LoadedMessage,
) -> Post {
    let header = &message.header;
    let mut body = json!({
        "id": header.id.to_string(),
        "project": project,
        "from": header.from.to_string(),
        "to": header.audience.to_string(),
        "type": header.kind.as_str(),
        "priority": header.priority.as_str(),
        "at": iso8601(header.sent_ms),
        "thread_id": header.thread.to_string(),
    });
    let mut add = |key: &str, value: Option<String>| {
        if let Some(value) = value {
            body[key] = value.into();
        }
    };
    add("signal", header.signal().map(ToString::to_string));
    add("reply_to", header.reply_to.as_ref().map(ToString::to_string));
    if with_text {
        add("text", Some(message.text.clone()));
        if message.next_offset().is_some() {
            body["text_bytes"] = message.total.into();
        }
    }
    let headers = vec![
        "Content-Type: application/json".to_owned(),
        format!("Idempotency-Key: {}", header.id),
    ];
    Post { url: webhook.url.clone(), headers, body: body.to_string() }
}
