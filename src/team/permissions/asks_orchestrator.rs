//! Whether a task waits for an orchestrator's answer to a question for permission.

use crate::bus::state::State;
use crate::domain::ids::TaskId;

/// Returns whether the task has an open question about which an orchestrator was notified.
pub(crate) fn asks_orchestrator(state: &State, task: &TaskId) -> bool {
    let mut open = state.open_permissions().into_iter();
    open.any(|permission| {
        permission.question.task.as_ref() == Some(task) && permission.notice.is_some()
    })
}
