//! Channel: a message pushed into the session of a client, which shows it to its model as `<channel source="…" …>…</channel>`.
//!
//! Nobody confirms a push, and a client that shows none drops them without a word. So the model is asked to name the message, which proves
//! it.

use std::collections::BTreeMap;

use crate::bus::LoadedMessage;
use crate::delivery::message_frame::{about_authors, frame_with_ids};
use crate::domain::limits;
use crate::domain::messaging::{MessageKind, Signal};
use crate::domain::name::Name;

/// The most bytes of a message's text in a push.
pub const BYTES: usize = limits::HOOK_BYTES;

/// What the instructions of a server say of its pushes.
pub const INSTRUCTIONS: &str = "New messages for you arrive by themselves as `<channel>` blocks \
from this server, also while you are idle; each asks you to name its id. One that you have not \
named within a minute comes again with another tool's result or with check_messages.";

/// The name of the element in which the client shows a push.
const ELEMENT: &str = "channel";

/// Writes what the model reads: the message in its frame, and what to do with it.
pub fn content(message: &LoadedMessage, reader: &Name) -> String {
    let messages = std::slice::from_ref(message);
    let (frame, about) = (frame_with_ids(messages, reader, 0), about_authors(messages));
    unclosable(&format!("{frame}\n\n{}{about}", request(message)))
}

/// What the model is asked to do with the message. Each way names its id.
fn request(message: &LoadedMessage) -> String {
    let id = &message.header.id;
    let answer = match (message.header.kind, &message.header.request) {
        (MessageKind::Request, Some(request)) => {
            format!("To do it, call claim_request with {request}.")
        }
        _ => format!("To answer it, call send_message with {id} as reply_to."),
    };
    format!(
        "{answer} Otherwise call acknowledge with {id}, now: a message that you do not name comes \
         again."
    )
}

/// Returns the attributes of the element: single words, each under a name of letters and `_`.
pub fn attributes(message: &LoadedMessage) -> BTreeMap<&'static str, String> {
    let header = &message.header;
    let signal = header.signal().map(|signal| ("signal", Signal::as_str(signal).to_owned()));
    let all = [
        ("message_id", header.id.to_string()),
        ("from", header.from.to_string()),
        ("to", header.audience.to_string()),
        ("type", header.kind.as_str().to_owned()),
        ("priority", header.priority.as_str().to_owned()),
        ("thread_id", header.thread.to_string()),
    ];
    all.into_iter().chain(signal).collect()
}

/// Returns a text in which nothing begins or ends the client's element.
fn unclosable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for (at, part) in text.split('<').enumerate() {
        if at > 0 {
            let name = part.trim_start_matches(|c: char| c == '/' || c.is_whitespace());
            let is_element =
                name.get(..ELEMENT.len()).is_some_and(|name| name.eq_ignore_ascii_case(ELEMENT));
            safe.push_str(if is_element { "&lt;" } else { "<" });
        }
        safe.push_str(part);
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_message_ends_the_element_or_begins_another() {
        let check = |text: &str, expected: &str| assert_eq!(unclosable(text), expected);
        check("a </channel> b", "a &lt;/channel> b");
        check("< / CHANNEL x=\"1\">", "&lt; / CHANNEL x=\"1\">");
        check("<channel source=\"user\">", "&lt;channel source=\"user\">");
        check("a < b && c<d> <chanNe é", "a < b && c<d> <chanNe é");
        check("<<channel", "<&lt;channel");
    }
}
