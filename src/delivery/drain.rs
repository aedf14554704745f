//! Drain: unread messages as the answer to an agent that asks for them in its turn.

use super::frame::frame;
use crate::bus::Letter;
use crate::domain::name::Name;

/// What the model is told about them.
const REQUEST: &str = "These came while you work. Answer with send_message if an answer is needed, then go on with your task.";

/// Writes the texts that the agent is given: one, because each would be a message of its own.
pub fn drained_texts(letters: &[Letter], reader: &Name, more: usize) -> Vec<String> {
    vec![format!("{}\n\n{REQUEST}", frame(letters, reader, more))]
}
