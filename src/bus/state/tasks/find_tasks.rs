//! Queries about tasks: one, those of a session, all of them, and what can be said of one.

use std::cmp::Reverse;

use crate::bus::state::{State, Task};
use crate::domain::ids::{SessionId, TaskId};

impl State {
    /// Returns a task, if the state still has it.
    pub fn task(&self, id: &TaskId) -> Option<&Task> {
        self.tasks.get(id)
    }

    /// Returns all tasks that the state still has.
    pub fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.tasks.values()
    }

    /// Returns the tasks of a session that the state still has.
    pub fn tasks_of(&self, session: SessionId) -> impl Iterator<Item = &Task> {
        self.tasks.values().filter(move |task| task.session == session)
    }

    /// Returns all tasks that the state still has, the one assigned last first.
    pub fn newest_tasks(&self) -> Vec<&Task> {
        let mut all: Vec<_> = self.tasks.values().collect();
        all.sort_by_key(|task| Reverse(task.assigned_at()));
        all
    }

    /// Returns the profile of a task's agent, if the agent is live or left not long ago.
    pub fn profile_of(&self, task: &Task) -> Option<&str> {
        if let Some(live) = self.session(task.session) {
            return live.profile.as_deref();
        }
        let mut left = self.departed().filter(|left| left.session == task.session);
        left.find_map(|left| Some(left.past.as_ref()?.profile.as_str()))
    }

    /// Says whether a task was cancelled while the bridge that holds its agent hangs.
    pub fn is_cancel_unheard(&self, task: &Task) -> bool {
        let owner = self.session(task.session).and_then(|agent| agent.owner);
        let hangs = |owner| self.session(owner).is_some_and(|bridge| bridge.hung);
        task.cancel_asked && !task.status.is_final() && owner.is_some_and(hangs)
    }
}
