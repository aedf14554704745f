//! Inject: unread messages in front of the next task's prompt.

use crate::bus::LoadedMessage;
use crate::bus::rules::Pick;
use crate::delivery::message_frame::frame;
use crate::delivery::recipient::Reader;
use crate::domain::limits;

/// Selects the messages in front of a prompt: the oldest ones, up to 16 KiB.
pub fn pick() -> Pick {
    Pick::any(limits::MAX_CHECK_LIMIT, limits::INJECT_BYTES, limits::INJECT_BYTES)
}

/// Writes the prompt of a task: the introduction if the agent has had none, the messages, and the task.
pub fn task_prompt<'r>(
    introduction: Option<&str>,
    messages: &[LoadedMessage],
    reader: impl Into<Reader<'r>>,
    more: usize,
    task: &str,
) -> String {
    let mut parts = Vec::new();
    parts.extend(introduction.map(str::to_owned));
    if !messages.is_empty() {
        parts.push(frame(messages, reader, more));
    }
    parts.push(format!("Your task: {task}"));
    parts.join("\n\n")
}
