//! Hook: messages as additional context of a Claude Code session, between two of its own steps. Where a hook cannot be trusted
//! with the messages, a notice of them.

use crate::bus::LoadedMessage;
use crate::bus::rules::Pick;
use crate::bus::state::Message;
use crate::delivery::message_frame::{about_authors, frame_with_ids, label_words};
use crate::domain::limits;
use crate::domain::name::Name;

/// What the model is asked to do with the messages.
const REQUEST: &str = "These arrived while you worked. To answer one, call send_message with its \
id as reply_to; get_task_result returns the result of a finished task.";

/// Selects the messages of one hook call: the oldest ones, as many as the client accepts without cutting them.
pub fn pick() -> Pick {
    Pick::any(limits::HOOK_MESSAGES, limits::HOOK_BYTES, limits::HOOK_BYTES)
}

/// Writes the additional context.
pub fn context(messages: &[LoadedMessage], reader: &Name, more: usize) -> String {
    let (frame, about) = (frame_with_ids(messages, reader, more), about_authors(messages));
    format!("{frame}\n\n{REQUEST}{about}")
}

/// The most words about unread messages in a notice: it is a line.
const MOST_MARKS: usize = 5;

/// Writes the notice of unread messages, if there are any: how many, and which groups, signals and priorities are among them. It
/// delivers none.
pub fn notice<'m>(unread: impl Iterator<Item = &'m Message>) -> Option<String> {
    let (mut count, mut marks) = (0, Vec::new());
    for message in unread {
        count += 1;
        let group = (!message.audience.is_one()).then(|| format!("to {}", message.audience));
        for mark in label_words(message).into_iter().chain(group) {
            if marks.len() < MOST_MARKS && !marks.contains(&mark) {
                marks.push(mark);
            }
        }
    }
    let messages = match count {
        0 => return None,
        1 => "message",
        _ => "messages",
    };
    let among = match (marks.is_empty(), count) {
        (true, _) => String::new(),
        (false, 1) => format!(": {}", marks.join(", ")),
        (false, _) => format!(", among them: {}", marks.join(", ")),
    };
    Some(format!(
        "You have {count} unread {messages} from your team{among}. Call check_messages now."
    ))
}
