//! Interrupt: if no method gets into a running turn, an urgent message ends it, and the next prompt has the messages and the task.

use super::before_task;
use crate::delivery::pending_mail::{PendingMail, RunningTurn};
use crate::delivery::recipient::Reader;
use crate::delivery::thread_context::Mail;

/// The text before a task whose turn was interrupted.
const INTERRUPTED: &str = "Your turn was interrupted for the messages below. Handle them, then \
                           check how far you got with your task, and continue from there.";

/// Says whether pending mail interrupts the turn. Once is enough: an agent that ignores the cancel request continues undisturbed.
pub(crate) fn is_due(mail: &PendingMail, turn: &RunningTurn) -> bool {
    mail.urgent.is_some() && !turn.reach.is_any() && !turn.interrupted
}

/// Writes the prompt that continues the interrupted task.
pub fn again_prompt<'m, 'r>(
    mail: impl Into<Mail<'m>>,
    reader: impl Into<Reader<'r>>,
    more: usize,
    task: &str,
) -> String {
    before_task::task_prompt(Some(INTERRUPTED), mail, reader, more, task)
}
