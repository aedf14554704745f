//! Interrupt: where nothing gets into a running turn, urgent messages end it, and the agent is prompted again with both.

use super::before_task;
use crate::bus::LoadedMessage;
use crate::delivery::policy::{Busy, Mail};
use crate::delivery::recipient::Reader;

/// What an agent is told whose turn was ended for a message.
const INTERRUPTED: &str = "Your turn was interrupted for the messages below. Handle them, then \
                           check how far you got with your task, and continue from there.";

/// Says whether a turn is ended for its mail. Once is enough: an agent that does not end its turn goes on undisturbed.
pub(crate) fn is_due(mail: &Mail, busy: &Busy) -> bool {
    mail.urgent.is_some() && !busy.reach.is_any() && !busy.interrupted
}

/// Writes the prompt with which the same task goes on.
pub fn again_prompt<'r>(
    letters: &[LoadedMessage],
    reader: impl Into<Reader<'r>>,
    more: usize,
    task: &str,
) -> String {
    before_task::task_prompt(Some(INTERRUPTED), letters, reader, more, task)
}
