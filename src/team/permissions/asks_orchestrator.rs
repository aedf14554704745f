//! Whether a task waits for an orchestrator's answer to a question for permission.

use crate::bus::state::State;
use crate::domain::ids::TaskId;

/// Says whether a question of the task is open, and an orchestrator was notified of it.
pub(crate) fn asks_orchestrator(state: &State, task: &TaskId) -> bool {
    let mut open = state.open_permissions().into_iter();
    open.any(|permission| {
        permission.question.task.as_ref() == Some(task) && permission.notice.is_some()
    })
}
