//! Why a message was taken from an inbox before it was read.

use crate::bus::event::{Entry, Event, MessageSent};

/// What tells a message from others.
pub(in crate::view) struct WithdrawnMessage<'a> {
    pub(in crate::view) id: &'a str,
    pub(in crate::view) from: &'a str,
    pub(in crate::view) thread: &'a str,
    pub(in crate::view) request: Option<&'a str>,
}

/// Says why a message was taken from an inbox, as far as its append shows that.
pub(in crate::view) fn why_withdrawn(
    entry: &Entry,
    message: &WithdrawnMessage<'_>,
) -> Option<String> {
    let answers = |sent: &MessageSent| {
        sent.reply_to.as_ref().is_some_and(|answered| answered.to_string() == message.id)
    };
    let takes_place = |sent: &MessageSent| {
        let is_named = sent.more.as_ref().and_then(|more| more.supersedes.as_ref());
        let is_named = is_named.is_some_and(|id| id.to_string() == message.id);
        let thread = sent.thread.as_ref().map(ToString::to_string);
        let is_next =
            sent.from.to_string() == message.from && thread.as_deref() == Some(message.thread);
        is_named || is_next
    };
    let is_its = |id: &dyn ToString| message.request == Some(&*id.to_string());
    entry.events.iter().find_map(|event| match event {
        Event::MessageSent(sent) if takes_place(sent) => {
            Some(format!("{} takes its place", sent.id))
        }
        Event::MessageSent(sent) if answers(sent) => Some(format!("answered in {}", sent.id)),
        Event::RequestClaimed { id, by, .. } | Event::RequestHandedOver { id, to: by, .. }
            if is_its(id) =>
        {
            Some(format!("{by} has the request"))
        }
        Event::RequestExpired { id }
        | Event::RequestFailed { id }
        | Event::RequestCompleted { id, .. }
            if is_its(id) =>
        {
            Some("the request has ended".to_owned())
        }
        _ => None,
    })
}
