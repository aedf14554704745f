//! Waits until a task is over or needs an orchestrator's answer.

use std::time::Duration;

use crate::bus::Bus;
use crate::bus::rules::Refusal;
use crate::bus::state::Task;
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::task::TaskStatus;
use crate::team::error::TeamError;
use crate::team::permissions::asks_orchestrator::asks_orchestrator;
use crate::team::team_handle::Team;

/// A task as it is after waiting for it.
#[derive(Clone, Debug)]
pub struct Waited {
    pub task: Task,
    /// Whether its agent waits for an orchestrator's answer.
    pub asks: bool,
}

impl Team {
    /// Says what the agent of a running task is doing, as the end of a sentence that begins with its name; none for an agent of
    /// another bridge, and for one that has not reported anything yet.
    pub fn doing_now(&self, task: &Task) -> Option<String> {
        let is_running = task.status == TaskStatus::Running;
        is_running.then(|| self.inner.doing.in_words(task.session)).flatten()
    }

    /// Says what an agent of this bridge is doing in its turn, as the end of a sentence that begins with its name; none as long as it has
    /// not reported anything.
    pub fn doing_in_turn(&self, agent: SessionId) -> Option<String> {
        self.inner.doing.in_words(agent)
    }

    /// Waits until a task is over or needs an orchestrator's answer; returns its state then.
    pub async fn wait_for_task(&self, id: &TaskId, limit: Duration) -> Result<Waited, TeamError> {
        let look = |bus: &Bus| {
            bus.look(|state| {
                let task = state.task(id).cloned()?;
                Some(Waited { task, asks: asks_orchestrator(state, id) })
            })
        };
        let is_over = |waited: &Waited| waited.asks || waited.task.status.is_final();
        self.until(limit, |bus| look(bus).as_ref().is_none_or(is_over)).await;
        look(self.bus()).ok_or_else(|| Refusal::UnknownTask { id: id.clone() }.into())
    }
}
