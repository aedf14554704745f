//! Drain: unread messages as the answer to an agent that asks for them during its turn.

use crate::bus::LoadedMessage;
use crate::delivery::message_frame::{about_authors, frame};
use crate::delivery::recipient::Reader;

/// What the model is asked to do with the messages.
fn request(messages: &[LoadedMessage], reader: Reader<'_>) -> String {
    let tool = reader.tool("send_message");
    format!(
        "These arrived while you work. Answer with {tool} if needed, then continue with your \
         task.{}",
        about_authors(messages)
    )
}

/// Writes the answer: a single text, because the agent makes each text a message of its own.
pub fn drained_texts<'r>(
    messages: &[LoadedMessage],
    reader: impl Into<Reader<'r>>,
    more: usize,
) -> Vec<String> {
    let reader = reader.into();
    let frame = frame(messages, reader, more);
    vec![format!("{frame}\n\n{}", request(messages, reader))]
}
