//! The head of a task, in every result about one: its agent, its profile, its status and the beginning of its prompt.

use schemars::JsonSchema;
use serde::Serialize;

use crate::bus::state::Task;
use crate::domain::limits;
use crate::team::Team;
use crate::view::task_status;

/// The fields by which a reader recognises a task.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TaskHeadView {
    /// The task.
    task_id: String,
    /// The agent that has it.
    agent: String,
    /// The agent's profile, if still known.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
    /// Whether a script played it, so that no model wrote its output.
    #[serde(skip_serializing_if = "Option::is_none")]
    trial: Option<bool>,
    /// queued, starting, running, done, failed, cancelled or interrupted.
    status: String,
    /// The beginning of its prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    /// Why the prompt cannot be shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_lost: Option<String>,
}

impl TaskHeadView {
    /// Shows a task without its prompt, for a reader that has just written the prompt.
    pub(crate) fn without_prompt(task: &Task, team: &Team) -> Self {
        team.bus().look(|state| Self {
            task_id: task.id.to_string(),
            agent: task.agent.to_string(),
            profile: state.profile_of(task).map(str::to_owned),
            trial: state.is_of_trial(task).then_some(true),
            status: task_status(state, task).to_owned(),
            prompt: None,
            prompt_lost: None,
        })
    }

    /// Shows a task with the beginning of its prompt, unless the bus no longer has it.
    pub(crate) fn of(task: &Task, team: &Team) -> Self {
        let head = Self::without_prompt(task, team);
        match team.bus().beginning(task.prompt, limits::PROMPT_CHARS) {
            Ok(prompt) => Self { prompt, ..head },
            Err(error) => Self { prompt_lost: Some(error.message_for_model()), ..head },
        }
    }
}
