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
    if with_text && message.lost.is_some() {
        add("lost", message.lost.clone());
    } else if with_text {
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

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::bus::event::{Event, LogPosition, MessageSent};
    use crate::bus::state::State;
    use crate::domain::ids::MessageId;
    use crate::domain::member::Label;
    use crate::domain::messaging::Audience;
    use crate::domain::name::Name;
    use crate::view::tests::entry;

    #[test]
    fn a_text_that_is_lost_is_said_to_be_lost_and_not_sent_as_an_empty_one() {
        let (id, ann) = (MessageId::from_bits(1), Name::parse("ann").unwrap());
        let sent = MessageSent::plain(id.clone(), ann, Audience::All, "x");
        let mut state = State::default();
        state.apply(&entry(1, Event::MessageSent(sent)), &[0], LogPosition::default());
        let message = |text: &str, lost: Option<&str>| LoadedMessage {
            header: state.message(&id).unwrap().clone(),
            text: text.to_owned(),
            offset: 0,
            total: text.len(),
            lost: lost.map(str::to_owned),
            is_again: false,
            more: None,
        };
        let webhook = Webhook {
            name: Label::parse("ci").unwrap(),
            url: "http://127.0.0.1/hook".to_owned(),
            to: Audience::All,
            secret_env: None,
        };
        let body = |with_text: bool, message: &LoadedMessage| -> Value {
            let post = post_of(&webhook, ("/project", with_text), message);
            serde_json::from_str(&post.body).unwrap()
        };
        let lost = message("", Some("it is damaged"));
        let said = body(true, &lost);
        assert_eq!((&said["lost"], said.get("text")), (&json!("it is damaged"), None));
        let without = body(false, &lost);
        assert_eq!((without.get("lost"), without.get("text")), (None, None));
        let whole = body(true, &message("x", None));
        assert_eq!((&whole["text"], whole.get("lost")), (&json!("x"), None));
    }
}
