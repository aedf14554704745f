//! Interrupt: where nothing gets into a running turn, urgent messages end it, and the agent is prompted again with both.

use super::before_task;
use crate::bus::LoadedMessage;
use crate::delivery::pending_mail::{PendingMail, RunningTurn};
use crate::delivery::recipient::Reader;

/// What an agent is told whose turn was ended for a message.
const INTERRUPTED: &str = "Your turn was interrupted for the messages below. See to them, then look at how far you had come with your \
                           task, and go on from there.";

/// Says whether a turn is ended for its mail. Once is enough: an agent that does not end its turn goes on undisturbed.
pub(crate) fn is_due(mail: &PendingMail, turn: &RunningTurn) -> bool {
    mail.urgent.is_some() && !turn.reach.is_any() && !turn.interrupted
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
