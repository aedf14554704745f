//! `get_task_status`: the status of a task; or the list of tasks, with which a leader whose context was cut, or who begins a new session,
//! finds the work that it has given away.
//!
//! One tool does both, as `get_workflow_status` does: a model that looks for its tasks finds the list where it looks for one of them,
//! and no further tool has to be described to every session.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::task_cursor::TaskCursor;
use crate::bus::state::{State, Task};
use crate::domain::ids::TaskId;
use crate::domain::limits;
use crate::domain::text::visible_letters::quoted;
use crate::domain::time::parse_time;
use crate::mcp::blocking_read::blocking_read;
use crate::mcp::orchestrator_team::OrchestratorTeam;
use crate::mcp::shapes::entry_size::entry_bytes;
use crate::mcp::shapes::task_shape::StatusView;
use crate::mcp::{Caller, Effect, Tool, ToolError};
use crate::team::{Team, TeamError};
use crate::view::{TASK_STATUS_WORDS, task_status};

pub(crate) struct GetTaskStatus {
    pub(crate) leading: OrchestratorTeam,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Omit it to list all, newest first.
    task_id: Option<String>,
    /// List only these.
    #[schemars(extend("enum" = TASK_STATUS_WORDS))]
    status: Option<String>,
    /// List only this agent's, or this profile's.
    agent: Option<String>,
    /// List only those assigned since this time (UTC), such as 2026-01-31T08:00Z.
    since: Option<String>,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The task that was asked for.
    #[serde(flatten)]
    task: Option<StatusView>,
    /// The tasks, newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks: Option<Vec<StatusView>>,
    /// There are older ones: call again with this as `cursor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Which tasks are listed.
#[derive(Default)]
struct Filter {
    status: Option<String>,
    /// The name of an agent or of a profile.
    agent: Option<String>,
    /// In milliseconds since 1970.
    since: Option<i64>,
    /// Only those assigned before this one.
    before: Option<TaskCursor>,
}

impl Tool for GetTaskStatus {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "get_task_status";
    const EFFECT: Effect = Effect::Reads;
    const DESCRIPTION: &'static str = "See whether a task is queued, running or finished; or list \
        the project's tasks, also those of earlier sessions.";

    async fn run(&self, caller: &mut Caller, mut input: Input) -> Result<Output, ToolError> {
        let id = input.task_id.take();
        let team = self.leading.team(caller.membership());
        let Some(id) = id else {
            let filter = input.filter()?;
            let listed = blocking_read(move || {
                team.bus().refresh()?;
                Ok(known_agent(&team, &filter).map(|()| page(&team, &filter)))
            });
            return Ok(listed.await??);
        };
        if input.has_filters() {
            let problem = "with task_id, leave out status, agent, since and cursor";
            return Err(ToolError::Arguments(problem.to_owned()));
        }
        let task = team.task(&TaskId::parse(&id)?)?;
        let task = Some(StatusView::of(&task, &team));
        Ok(Output { task, tasks: None, next_cursor: None })
    }
}

impl Input {
    fn has_filters(&self) -> bool {
        [&self.status, &self.agent, &self.since, &self.cursor].into_iter().any(Option::is_some)
    }

    fn filter(self) -> Result<Filter, ToolError> {
        let refuse = |text: String| Err(ToolError::Arguments(text));
        if let Some(word) = &self.status
            && !TASK_STATUS_WORDS.contains(&word.as_str())
        {
            let (word, words) =
                (quoted(word, limits::SHOWN_NAME_CHARS), TASK_STATUS_WORDS.join(", "));
            return refuse(format!("status is {word}; it must be one of {words}"));
        }
        let mut filter = Filter { status: self.status, agent: self.agent, ..Filter::default() };
        if let Some(text) = self.since {
            filter.since = parse_time(&text);
            if filter.since.is_none() {
                let text = quoted(&text, limits::SHOWN_NAME_CHARS);
                return refuse(format!(
                    "since is {text}; write a day or a time in UTC, such as 2026-01-31 or \
                     2026-01-31T08:00Z"
                ));
            }
        }
        if let Some(text) = self.cursor {
            filter.before = TaskCursor::parse(&text);
            if filter.before.is_none() {
                return refuse(
                    "invalid cursor: use a next_cursor, or leave it out for the newest".to_owned(),
                );
            }
        }
        Ok(filter)
    }
}

impl Filter {
    fn fits(&self, state: &State, task: &Task) -> bool {
        let is_named = |name: &str| {
            let profile = state.profile_of(task).unwrap_or_default();
            name.eq_ignore_ascii_case(task.agent.as_str()) || name.eq_ignore_ascii_case(profile)
        };
        self.before.is_none_or(|before| TaskCursor::of(task) < before)
            && self.since.is_none_or(|since| since <= task.queued_ms)
            && self.status.as_deref().is_none_or(|word| word == task_status(state, task))
            && self.agent.as_deref().is_none_or(is_named)
    }
}

/// Refuses a name that no agent, no profile and no task has: an empty list would say that it has no work.
fn known_agent(team: &Team, filter: &Filter) -> Result<(), TeamError> {
    let Some(agent) = &filter.agent else {
        return Ok(());
    };
    let named = Filter { agent: Some(agent.clone()), ..Filter::default() };
    let has_task = team
        .bus()
        .look(|state| state.newest_tasks().into_iter().any(|task| named.fits(state, task)));
    let known = team.candidates();
    if has_task || known.is_known(agent) { Ok(()) } else { Err(known.unknown(agent)) }
}

/// Lists as many tasks as a page and an answer hold.
fn page(team: &Team, filter: &Filter) -> Output {
    let found: Vec<Task> = team.bus().look(|state| {
        let all = state.newest_tasks().into_iter();
        let fitting = all.filter(|task| filter.fits(state, task));
        fitting.take(limits::TASKS_ON_A_PAGE + 1).cloned().collect()
    });
    let mut room = team.membership().answer_room();
    let mut tasks = Vec::new();
    let mut last = None;
    for task in &found {
        let view = StatusView::of(task, team);
        let bytes = entry_bytes(&view);
        let is_full = tasks.len() == limits::TASKS_ON_A_PAGE || bytes > room;
        if is_full && !tasks.is_empty() {
            let next_cursor = last.map(TaskCursor::text);
            return Output { task: None, tasks: Some(tasks), next_cursor };
        }
        room = room.saturating_sub(bytes);
        last = Some(TaskCursor::of(task));
        tasks.push(view);
    }
    Output { task: None, tasks: Some(tasks), next_cursor: None }
}
