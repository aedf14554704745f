//! A task as a row.

use schemars::JsonSchema;
use serde::Serialize;

use super::member_row::{is_there, state_word};
use crate::bus::state::{State, Task};
use crate::domain::ids::SessionId;
use crate::domain::limits;
use crate::domain::member::{Activity, Tools};
use crate::domain::task::TaskStatus;
use crate::domain::text::visible_letters::both_ends;
use crate::view::{Moment, Spent, Texts, by_whom, task_error};

/// The words for a task's status.
pub const TASK_STATUS_WORDS: [&str; 7] =
    ["queued", "starting", "running", "done", "failed", "cancelled", "interrupted"];

/// Returns the word for a task's status. A queued task is `starting` if its agent is still starting or has not loaded our tools yet.
pub fn task_status(state: &State, task: &Task) -> &'static str {
    let is_agent_starting = || {
        let agent = state.session(task.session);
        agent.is_some_and(|agent| {
            let is_starting =
                agent.activity == Activity::Starting || agent.tools == Tools::Unproven;
            is_starting && agent.queue.front() == Some(&task.id)
        })
    };
    match task.status {
        TaskStatus::Queued if is_agent_starting() => "starting",
        status => status.as_str(),
    }
}

/// A task.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TaskRow {
    pub task_id: String,
    /// The agent that has it.
    pub agent: String,
    /// The agent's profile, if still known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The member that assigned it.
    pub assigned_by: String,
    /// queued, starting, running, done, failed, cancelled or interrupted.
    pub status: String,
    /// How its agent is, if the task does not go on: `waiting_permission`, stalled, stuck, hung or gone (its process has ended, which no
    /// session has recorded yet).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_state: Option<String>,
    /// Whether somebody has asked for its end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cancel_asked: bool,
    /// Who has asked for its end while it ran; `human` is the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancelled_by: Option<String>,
    /// The beginning of its prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The workflow whose step it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_id: Option<String>,
    /// Whether a script plays its agent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_trial: bool,
    pub queued_at: Moment,
    /// When its turn began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Moment>,
    /// What kind of error it ended with, and what happened; of a cancelled one only that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What it used, if its agent reports that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Spent>,
}

impl TaskRow {
    /// Makes the row of a task. `is_held` says whether the process of a session lives.
    pub fn of(
        state: &State,
        task: &Task,
        is_held: &dyn Fn(SessionId) -> bool,
        texts: &mut dyn Texts,
    ) -> Self {
        let error = task.error.as_ref();
        Self {
            task_id: task.id.to_string(),
            agent: task.agent.to_string(),
            profile: state.profile_of(task).map(str::to_owned),
            assigned_by: task.by.to_string(),
            status: task_status(state, task).to_owned(),
            agent_state: agent_state(state, task, is_held).map(str::to_owned),
            cancel_asked: task.cancel_asked && !task.status.is_final(),
            cancelled_by: task.cancelled_by.as_ref().map(ToString::to_string),
            prompt: texts.first_words(task.prompt, limits::PROMPT_CHARS),
            workflow_id: task.workflow.as_ref().map(ToString::to_string),
            is_trial: state.is_of_trial(task),
            queued_at: Moment(task.queued_ms),
            started_at: task.started_ms.map(Moment),
            ended_at: task.ended_ms.map(Moment),
            error: error.map(|error| {
                let message = both_ends(task_error(&error.message), limits::REASON_CHARS);
                // A cancelled task says that already.
                let is_said = error.class == task.status.as_str();
                if is_said { message } else { format!("{}: {message}", error.class) }
            }),
            usage: task.usage.as_ref().map(Spent::of).filter(|spent| !spent.is_nothing()),
        }
    }

    /// Returns how it is, in a word: of one that does not go on, how its agent is.
    pub fn state(&self) -> &str {
        match (self.status.as_str(), self.agent_state.as_deref()) {
            (_, Some("gone")) => "gone",
            ("running", _) if self.cancel_asked => "cancelling",
            (status, of_agent) => of_agent.unwrap_or(status),
        }
    }

    /// Says that its agent is gone, if it is.
    pub fn gone_in_words(&self) -> Option<&'static str> {
        (self.agent_state.as_deref() == Some("gone"))
            .then_some("its agent's process has ended, which no session has recorded yet")
    }

    /// Returns who has cancelled it, or has asked for that, for a sentence.
    pub fn canceller(&self) -> Option<&str> {
        self.cancelled_by.as_deref().map(by_whom)
    }

    /// Says who has cancelled it, or has asked for that, if that is known and does not stand in its error.
    pub fn cancelled_in_words(&self) -> Option<String> {
        let by = self.canceller()?;
        let has = if self.status == "cancelled" { "cancelled" } else { "cancel asked" };
        Some(format!("{has} by {by}"))
    }

    /// Returns for how many milliseconds its turn has run.
    pub fn ran_ms(&self, now: Moment) -> Option<u64> {
        Some(self.started_at?.until(self.ended_at.unwrap_or(now)))
    }
}

/// Says whether a task is open though the process of its agent has ended, which no session has recorded yet.
pub fn task_is_gone(state: &State, task: &Task, is_held: &dyn Fn(SessionId) -> bool) -> bool {
    agent_state(state, task, is_held) == Some("gone")
}

/// Returns how the agent of an open task is, if that keeps the task from going on, for a reader who does not look at processes.
pub fn what_holds_up(state: &State, task: &Task) -> Option<&'static str> {
    agent_state(state, task, &|_| true)
}

/// Returns how the agent of a task is, if that keeps the task from going on.
fn agent_state(
    state: &State,
    task: &Task,
    is_held: &dyn Fn(SessionId) -> bool,
) -> Option<&'static str> {
    let agent = state.session(task.session).filter(|_| !task.status.is_final())?;
    let word = state_word(state, agent, is_there(state, agent, is_held));
    match word {
        "gone" => Some(word),
        "stalled" | "stuck" | "hung" | "waiting_permission" => {
            (task.status == TaskStatus::Running).then_some(word)
        }
        _ => None,
    }
}
