//! A task as a row.

use schemars::JsonSchema;
use serde::Serialize;

use super::member_row::{is_there, moment_of, state_word};
use crate::bus::state::{State, Task};
use crate::domain::ids::SessionId;
use crate::domain::limits;
use crate::domain::member::{Activity, Tools};
use crate::domain::task::TaskStatus;
use crate::domain::text::visible_letters::both_ends;
use crate::domain::time::Now;
use crate::view::{Moment, Spent, Texts, by_whom, span, task_error};

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

/// An agent that has left, while another has its name, or had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AgentLeft {
    /// When it left, as far as that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Moment>,
}

impl AgentLeft {
    /// Looks whether the agent of a task is another life of its name than the one that is here, or one of several that were.
    fn of(state: &State, task: &Task, now: Now) -> Option<Self> {
        if state.session(task.session).is_some() {
            return None;
        }
        let of_name = || state.departed().filter(|ended| ended.name == task.agent);
        let has_namesake = state.live(&task.agent).is_some()
            || of_name().any(|ended| ended.session != task.session);
        let own = of_name().find(|ended| ended.session == task.session);
        let own = own.filter(|ended| ended.at.boot == now.tick.boot);
        has_namesake.then(|| Self { at: own.map(|ended| moment_of(ended.at, now)) })
    }
}

/// A task.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TaskRow {
    pub task_id: String,
    /// The agent that has it.
    pub agent: String,
    /// Of an agent that has left while another has its name, or had it: when it left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_left: Option<AgentLeft>,
    /// The agent's profile, if still known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The machine of the agent, on a bus that several machines share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
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
        (is_held, now): (&dyn Fn(SessionId) -> bool, Now),
        texts: &mut dyn Texts,
    ) -> Self {
        let error = task.error.as_ref();
        Self {
            task_id: task.id.to_string(),
            agent: task.agent.to_string(),
            agent_left: AgentLeft::of(state, task, now),
            profile: state.profile_of(task).map(str::to_owned),
            host: task.host.clone(),
            assigned_by: task.by.to_string(),
            status: task_status(state, task).to_owned(),
            agent_state: agent_state(state, task, is_held).map(str::to_owned),
            cancel_asked: task.cancel_asked && !task.status.is_final(),
            cancelled_by: task.cancelled_by.as_ref().map(ToString::to_string),
            prompt: texts.first_of_prompt(task.prompt, limits::PROMPT_CHARS),
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

    /// Says which life of its agent's name has it, if that is another than the one that is here, or one of several that were.
    pub fn life_in_words(&self, now: Moment) -> Option<String> {
        let left = self.agent_left?;
        Some(left.at.map_or_else(
            || "left earlier".to_owned(),
            |at| format!("left {} ago", span(i64::try_from(at.until(now)).unwrap_or(i64::MAX))),
        ))
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

#[cfg(test)]
mod tests {
    use crate::bus::event::Event;
    use crate::bus::state::State;
    use crate::bus::storage::LogPosition;
    use crate::domain::ids::{SessionId, TaskId};
    use crate::domain::member::Departure;
    use crate::view::tests::{assigned, board, entry, starting};

    #[test]
    fn of_two_lives_of_a_name_the_task_of_the_one_that_left_says_so() {
        let mut state = State::default();
        let mut seq = 0;
        let mut happens = |event| {
            seq += 1;
            state.apply(&entry(seq, event), &[0], LogPosition::default());
            let rows = board(&state, seq, true).tasks;
            let lives = rows.iter().map(|row| row.life_in_words(crate::view::Moment(120_000)));
            lives.collect::<Vec<_>>()
        };
        let session = |number| SessionId(uuid::Uuid::from_u64_pair(0, number));
        let task = |number| {
            Event::TaskAssigned(assigned(TaskId::from_bits(number), session(number), "ben", None))
        };
        let left = |number| Event::MemberLeft {
            session: session(number),
            departure: Departure::Stopped,
            detail: None,
            alive_ms: None,
        };
        happens(Event::MemberStarting(starting(session(1), "ben")));
        assert_eq!(happens(task(1)), [None]);
        assert_eq!(happens(left(1)), [None], "there was no other ben");
        let first = Some("left 2 min ago".to_owned());
        happens(Event::MemberStarting(starting(session(2), "ben")));
        assert_eq!(happens(task(2)), [first.clone(), None]);
        assert_eq!(happens(left(2)), [first.clone(), first]);
    }
}
