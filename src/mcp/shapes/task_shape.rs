//! The shape of a task in the tools' results.

use schemars::JsonSchema;
use serde::Serialize;

use super::task_details_shape::{ErrorView, ListsView, UsageView};
use super::task_head_shape::TaskHeadView;
use crate::bus::state::{State, Task};
use crate::domain::limits;
use crate::domain::member::Tools;
use crate::domain::task::result::LostTexts;
use crate::domain::time::iso8601;
use crate::mcp::{Caller, ToolError};
use crate::team::{TaskOutput, Team};
use crate::view::what_holds_up;

/// Where a task stands.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StatusView {
    #[serde(flatten)]
    head: TaskHeadView,
    /// Who assigned it, if not you.
    #[serde(skip_serializing_if = "Option::is_none")]
    assigned_by: Option<String>,
    /// The workflow whose step it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    workflow_id: Option<String>,
    /// When it was assigned, in UTC.
    queued_at: String,
    /// When its turn began.
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    /// Its position in the agent's queue; 1 is next.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<usize>,
    /// What keeps a running task from going on: its agent is `waiting_permission`, `stalled`, `stuck` or `hung`.
    #[serde(skip_serializing_if = "Option::is_none")]
    held_up: Option<&'static str>,
    /// missing, if the agent did not load the bridge's tools, and so sends no messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'static str>,
}

impl StatusView {
    /// Shows a task to its assigner, or to another orchestrator.
    pub(crate) fn of(task: &Task, team: &Team) -> Self {
        Self::with_head(TaskHeadView::of(task, team), task, team)
    }

    /// Shows a task that the reader has just assigned.
    pub(crate) fn of_new(task: &Task, team: &Team) -> Self {
        Self::with_head(TaskHeadView::without_prompt(task, team), task, team)
    }

    fn with_head(head: TaskHeadView, task: &Task, team: &Team) -> Self {
        let is_mine = task.by == *team.membership().name();
        Self {
            head,
            assigned_by: (!is_mine).then(|| task.by.to_string()),
            workflow_id: task.workflow.as_ref().map(ToString::to_string),
            queued_at: iso8601(task.queued_ms),
            started_at: task.started_ms.map(iso8601),
            ended_at: task.ended_ms.map(iso8601),
            position: team.position(task),
            held_up: team.bus().look(|state| what_holds_up(state, task)),
            tools: team.bus().look(|state| tools(state, task)),
        }
    }
}

/// A part of a task's output, and how its turn ended.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OutputView {
    /// What the agent said, from `offset` on.
    output: String,
    /// Why the output or the lists are lost.
    #[serde(skip_serializing_if = "LostTexts::is_empty")]
    lost: LostTexts,
    /// Where this part begins, in bytes.
    offset: usize,
    /// Where the rest begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
    /// Length of the whole output, or so far if it still runs.
    total_bytes: usize,
    /// Where the text after the last tool call begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_words_offset: Option<u64>,
    /// ACP's stop reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<String>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorView>,
    /// The agent's conversation at the start: new, kept, resumed, or lost (it could not be resumed).
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<String>,
    /// The machine on which its agent ran, on a bus that several share; the files that it changed are there.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    #[serde(flatten)]
    lists: Option<ListsView>,
    /// What it used.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageView>,
    /// How long the turn took.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_seconds: Option<f64>,
}

impl OutputView {
    /// Shows a task's output, and the part of its lists from `list_offset` on; a later part of the output comes without them.
    pub(crate) fn of(output: TaskOutput, list_offset: usize) -> Self {
        let task = output.task;
        let with_lists = output.offset == 0 || list_offset > 0;
        let silence = output.is_silent.then(ErrorView::of_silence);
        Self {
            output: output.text,
            lost: output.lost,
            offset: output.offset,
            next_offset: output.next_offset,
            total_bytes: output.total,
            last_words_offset: task.last_words,
            duration_seconds: duration_seconds(&task),
            stop_reason: task.stop_reason,
            error: task.error.map(ErrorView::from).or(silence),
            context: task.context.map(|context| context.as_str().to_owned()),
            host: task.host,
            lists: output
                .details
                .filter(|_| with_lists)
                .map(|details| ListsView::of(details, list_offset)),
            usage: task.usage.map(UsageView::from),
        }
    }
}

/// Returns how long a finished task took, by the wall clock, to a tenth of a second.
fn duration_seconds(task: &Task) -> Option<f64> {
    let millis = task.ended_ms?.saturating_sub(task.started_ms?);
    let tenths = u32::try_from(millis.max(0) / 100).ok()?;
    Some(f64::from(tenths) / 10.0)
}

/// What came of a task.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ResultView {
    #[serde(flatten)]
    head: TaskHeadView,
    #[serde(flatten)]
    output: OutputView,
    /// missing, if the agent did not load the bridge's tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'static str>,
}

impl ResultView {
    pub(crate) fn of(output: TaskOutput, list_offset: usize, team: &Team) -> Self {
        Self {
            head: TaskHeadView::of(&output.task, team),
            tools: team.bus().look(|state| tools(state, &output.task)),
            output: OutputView::of(output, list_offset),
        }
    }
}

/// Returns `missing` if the agent of a task lives and is known to lack our tools.
fn tools(state: &State, task: &Task) -> Option<&'static str> {
    let agent = state.session(task.session)?;
    (agent.tools == Tools::Missing).then_some("missing")
}

/// Returns how many bytes of output an answer may have, given the requested number.
pub(crate) fn output_bytes(asked: Option<usize>) -> Result<usize, ToolError> {
    match asked {
        Some(0) => Err(ToolError::Arguments("max_bytes is 0; it must be at least 1".to_owned())),
        Some(asked) => Ok(asked.min(limits::ANSWER_BYTES)),
        None => Ok(limits::ANSWER_BYTES),
    }
}
/// Delivers the notice of a task's end to the call that returns the end of its output, so that both succeed or fail together.
pub(crate) async fn take_notice(caller: &mut Caller, output: &TaskOutput) {
    if output.is_the_end()
        && let Err(error) = caller.call.receive_notice(output.task.id.clone()).await
    {
        // Then the notice comes separately.
        tracing::debug!("failed to receive the notice of a task: {error}");
    }
}
