//! The policy that judges an agent's questions: that of its task, else that of its profile.

use crate::bus::state::Task;
use crate::domain::permission::Policy;
use crate::team::agent::context::AgentContext;
use crate::team::turn::turn_record::Turn;

pub(crate) fn of_task(agent: &AgentContext, task: &Task) -> Policy {
    task.permissions.unwrap_or(agent.profile.permissions.value)
}

pub(super) fn of_turn(agent: &AgentContext, turn: Option<&Turn>) -> Policy {
    let task = turn.and_then(|turn| turn.task.as_ref());
    let of_task = task
        .and_then(|id| agent.bus().look(|state| state.task(id).map(|task| of_task(agent, task))));
    of_task.unwrap_or(agent.profile.permissions.value)
}
