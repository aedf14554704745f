//! Reads what a view needs besides the snapshot, but for what takes a walk over the log.

use std::sync::Arc;

use super::files_of_task::files_elsewhere;
use crate::bus::storage::LogError;
use crate::bus::storage::file::Follower;
use crate::domain::ids::TaskId;
use crate::domain::limits;
use crate::domain::workflow::StepStatus;
use crate::reader::{asking_prompt, unlisted_turn, whole_task};
use crate::view::{LiveLine, call_in_full, live_lines};
use crate::web::pages::{Extra, StepPrompt, View};
use crate::web::team_snapshot::Snapshot;

/// Says whether a view shows words that come without a change of the log.
pub(in crate::web) fn has_live_words(view: &View) -> bool {
    matches!(view, View::Member(_) | View::Task(_))
}

/// Returns the id of the transcript of the last turn of the member whose page a view is, if that turn has no task.
pub(in crate::web) fn last_turn(snapshot: &Snapshot, view: &View) -> Option<TaskId> {
    let View::Member(name) = view else { return None };
    let members = &snapshot.board.as_deref()?.members;
    let row = members.iter().find(|row| row.name == *name && row.task_id.is_none())?;
    TaskId::parse(row.last_turn.as_ref()?).ok()
}

/// Reads what a view needs. What cannot be read is missing. Search reads by itself.
pub(super) fn gather_extra(bus: &mut Follower, view: &View, last_turn: Option<&TaskId>) -> Extra {
    let mut extra = Extra::default();
    if let Err(error) = gather(bus, view, last_turn, &mut extra) {
        tracing::debug!(%error, "cannot read all of a page");
    }
    extra.elsewhere = extra.task.as_ref().and_then(|task| files_elsewhere(bus, task));
    extra
}

fn gather(
    bus: &mut Follower,
    view: &View,
    last_turn: Option<&TaskId>,
    extra: &mut Extra,
) -> Result<(), LogError> {
    match view {
        View::Team => {
            extra.calls = calls(bus);
            extra.prompts = prompts(bus, None);
        }
        View::Member(name) => {
            extra.calls = calls(bus);
            if let Some(task) = running_task(bus, name) {
                extra.live = live(bus, &task);
                extra.task = whole_task(bus, &task);
            }
            if let Some(turn) = last_turn {
                extra.live = live(bus, turn);
            }
        }
        View::Task(id) => {
            if let Ok(id) = TaskId::parse(id) {
                extra.task = whole_task(bus, &id);
                extra.turn = unlisted_turn(bus, &id)?;
                extra.live = live(bus, &id);
            }
        }
        View::Workflow(id) => extra.prompts = prompts(bus, Some(id)),
        View::Conversation
        | View::Thread(_)
        | View::Usage(_)
        | View::Sequence
        | View::Timeline
        | View::Tasks
        | View::Requests
        | View::Workflows
        | View::Search(_) => {}
    }
    Ok(())
}

/// Returns the task of a member that runs, or the one that ended last.
fn running_task(bus: &Follower, name: &str) -> Option<TaskId> {
    let tasks = bus.state().newest_tasks().into_iter();
    let mut own: Vec<_> = tasks.filter(|task| task.agent.as_str() == name).collect();
    own.sort_by_key(|task| task.status.is_final());
    own.first().map(|task| task.id.clone())
}

fn live(bus: &mut Follower, task: &TaskId) -> Arc<Vec<LiveLine>> {
    let text = transcript(bus, task, limits::LIVE_BYTES);
    Arc::new(live_lines(&text, limits::LIVE_LINES))
}

/// Reads the end of a transcript; empty if there is none.
fn transcript(bus: &mut Follower, task: &TaskId, most: u64) -> String {
    let (_, texts) = bus.state_and_texts();
    texts.last_of_transcript(task, most).unwrap_or_default()
}

/// Returns the calls behind the open permission questions.
fn calls(bus: &mut Follower) -> Vec<(String, Vec<String>)> {
    let open = bus.state().open_permissions().into_iter();
    let asked: Vec<_> = open
        .filter_map(|permission| {
            let question = &permission.question;
            Some((permission.id.to_string(), question.task.clone()?, question.title.clone()))
        })
        .collect();
    let asked = asked.into_iter();
    asked
        .map(|(id, task, title)| {
            (id, call_in_full(&transcript(bus, &task, limits::CALL_BYTES), &title))
        })
        .collect()
}

/// Returns the prompts of the steps that wait for approval, in one workflow or in all.
fn prompts(bus: &mut Follower, workflow: Option<&str>) -> Vec<StepPrompt> {
    let workflows = bus.state().workflows().into_iter();
    let shown = workflows.filter(|found| {
        !found.status.is_final() && workflow.is_none_or(|id| found.id.to_string() == id)
    });
    let asking: Vec<_> = shown
        .flat_map(|found| {
            let asking = found.steps.iter().filter(|step| step.status == StepStatus::Asking);
            asking.map(|step| (found.id.to_string(), step.plan.name.to_string()))
        })
        .collect();
    let asking = asking.into_iter();
    asking
        .map(|(workflow, step)| {
            let lines = asking_prompt(bus, &workflow, &step);
            StepPrompt { workflow, step, lines }
        })
        .collect()
}
