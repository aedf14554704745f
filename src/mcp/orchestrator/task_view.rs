//! A task as the tools show it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::bus::state::{State, Task};
use crate::domain::limits;
use crate::domain::member::Activity;
use crate::domain::task::{TaskError, TaskStatus};
use crate::domain::time::iso8601;
use crate::mcp::ToolError;
use crate::team::{TaskOutput, Team};

/// What went wrong with a task.
#[derive(Serialize, JsonSchema)]
pub(super) struct ErrorView {
    /// What kind of error: start, crashed, agent, refused, limit, model, cancelled …
    class: String,
    /// What happened.
    message: String,
}

impl From<TaskError> for ErrorView {
    fn from(error: TaskError) -> Self {
        Self {
            class: error.class,
            message: error.message,
        }
    }
}

/// Where a task stands.
#[derive(Serialize, JsonSchema)]
pub(super) struct StatusView {
    /// The task.
    task_id: String,
    /// The agent that has it.
    agent: String,
    /// queued, starting, running, done, failed, cancelled or interrupted.
    status: String,
    /// When it was assigned, in UTC.
    queued_at: String,
    /// When its turn began.
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    /// Its place in the agent's queue; 1 is next.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<usize>,
}

impl StatusView {
    pub(super) fn of(task: &Task, team: &Team) -> Self {
        Self {
            task_id: task.id.to_string(),
            agent: task.agent.to_string(),
            status: status(team, task).to_owned(),
            queued_at: iso8601(task.queued_ms),
            started_at: task.started_ms.map(iso8601),
            ended_at: task.ended_ms.map(iso8601),
            position: team.position(task),
        }
    }
}

/// A part of a task's output, and how its turn ended.
#[derive(Serialize, JsonSchema)]
pub(super) struct OutputView {
    /// What the agent said, from `offset` on.
    output: String,
    /// Where this part begins, in bytes.
    offset: usize,
    /// Where the rest begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
    /// The length of the whole output, so far if it still runs.
    total_bytes: usize,
    /// Why the turn ended, in ACP's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<String>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorView>,
}

impl From<TaskOutput> for OutputView {
    fn from(output: TaskOutput) -> Self {
        Self {
            output: output.text,
            offset: output.offset,
            next_offset: output.next_offset,
            total_bytes: output.total,
            stop_reason: output.task.stop_reason,
            error: output.task.error.map(ErrorView::from),
        }
    }
}

/// What came of a task.
#[derive(Serialize, JsonSchema)]
pub(super) struct ResultView {
    /// The task.
    task_id: String,
    /// queued, starting, running, done, failed, cancelled or interrupted.
    status: String,
    #[serde(flatten)]
    output: OutputView,
}

impl ResultView {
    pub(super) fn of(output: TaskOutput, team: &Team) -> Self {
        Self {
            task_id: output.task.id.to_string(),
            status: status(team, &output.task).to_owned(),
            output: output.into(),
        }
    }
}

/// Returns the word for where a task stands: a queued one whose agent is still coming up is `starting`.
pub(super) fn status(team: &Team, task: &Task) -> &'static str {
    let coming_up = |state: &State| {
        let agent = state.session(task.session);
        agent.is_some_and(|agent| {
            agent.activity == Activity::Starting && agent.queue.front() == Some(&task.id)
        })
    };
    if task.status == TaskStatus::Queued && team.bus().look(coming_up) {
        "starting"
    } else {
        task.status.as_str()
    }
}

/// Returns how many bytes of output an answer may carry, given how many are asked for.
pub(super) fn output_bytes(asked: Option<usize>) -> Result<usize, ToolError> {
    match asked {
        Some(0) => Err(ToolError::Arguments(
            "max_bytes is 0: ask for at least 1".to_owned(),
        )),
        Some(asked) => Ok(asked.min(limits::ANSWER_BYTES)),
        None => Ok(limits::ANSWER_BYTES),
    }
}
