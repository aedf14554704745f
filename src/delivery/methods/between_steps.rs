//! Hook: messages as additional context of a Claude Code session, between two of its own steps. Where a hook cannot be trusted
//! with the messages, a notice of them.

use crate::bus::LoadedMessage;
use crate::bus::rules::Pick;
use crate::delivery::message_frame::{about_authors, frame_with_ids};
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

/// Writes the notice of unread messages, of which there is at least one. It delivers none.
pub fn notice(unread: usize) -> String {
    let messages = if unread == 1 { "message" } else { "messages" };
    format!("You have {unread} unread {messages} from your team. Call check_messages now.")
}
