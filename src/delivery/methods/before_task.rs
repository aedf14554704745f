//! Inject: unread messages in front of the next task's prompt.

use crate::bus::rules::Pick;
use crate::delivery::message_frame::frame;
use crate::delivery::recipient::Reader;
use crate::delivery::thread_context::Mail;
use crate::domain::limits;

/// Selects the messages in front of a prompt: the oldest ones, up to 16 KiB.
pub fn pick() -> Pick {
    Pick::any(limits::MAX_CHECK_LIMIT, limits::INJECT_BYTES, limits::INJECT_BYTES)
}

/// Writes the prompt of a task: the introduction if the agent has had none, the messages, and the task.
pub fn task_prompt<'m, 'r>(
    introduction: Option<&str>,
    mail: impl Into<Mail<'m>>,
    reader: impl Into<Reader<'r>>,
    more: usize,
    task: &str,
) -> String {
    let (mail, mut parts) = (mail.into(), Vec::new());
    parts.extend(introduction.map(str::to_owned));
    if !mail.messages.is_empty() {
        parts.push(frame(mail, reader, more));
    }
    parts.push(format!("Your task: {task}"));
    parts.join("\n\n")
}
