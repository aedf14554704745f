//! A task with all its texts, read from the log of its bus.

use schemars::JsonSchema;
use serde::Serialize;

use super::log_texts::LogTexts;
use super::read_board::held_sessions;
use super::walk_log::walk;
use crate::bus::event::Event;
use crate::bus::storage::LogError;
use crate::bus::storage::file::Follower;
use crate::domain::ids::TaskId;
use crate::domain::messaging::Author;
use crate::domain::task::result::Details;
use crate::team::output_of_transcript;
use crate::view::{TaskRow, task_error};

/// A task with its texts.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WholeTask {
    #[serde(flatten)]
    pub row: TaskRow,
    /// The whole prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole_prompt: Option<String>,
    /// The whole error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole_error: Option<String>,
    /// The agent's output; while the task runs, its words so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The files that changed, and the tool calls that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Details>,
}

/// Says that a task is not known.
pub fn no_such_task(id: &TaskId) -> String {
    format!("there is no task `{id}`, or it is too old to be found")
}

/// Reads a task with its texts; none if there is no task of this id, or it ended too long ago.
pub fn whole_task(bus: &mut Follower, id: &TaskId) -> Result<Option<WholeTask>, LogError> {
    let (held, now) = (held_sessions(bus), bus.now());
    let cancelled_by = cancelled_by(bus, id);
    let (state, mut texts) = bus.state_and_texts();
    let Some(task) = state.task(id) else { return Ok(None) };
    let output = match task.output.filter(|body| body.bytes > 0) {
        Some(body) => Some(texts.text(body)?),
        // It runs, or its agent ended before it could report the output.
        None => texts.transcript(id).ok().map(|transcript| output_of_transcript(&transcript)),
    };
    let details = match task.output.filter(|_| task.has_details) {
        Some(body) => texts.details(body)?.and_then(|text| serde_json::from_str(&text).ok()),
        None => None,
    };
    let whole_prompt = texts.text(task.prompt).ok();
    let error = task.error.as_ref();
    let whole_error = error.map(|error| format!("{}: {}", error.class, task_error(&error.message)));
    let is_held = |session| held.contains(&session);
    let row = TaskRow::of(state, task, (&is_held, now), &mut LogTexts(texts));
    Ok(Some(WholeTask {
        row: TaskRow { cancelled_by: row.cancelled_by.clone().or(cancelled_by), ..row },
        whole_prompt,
        whole_error,
        output: output.filter(|output| !output.trim().is_empty()),
        details,
    }))
}

/// Returns who has asked for the end of a task first, from its assignment on, where the state does not know it, as it was made by an
/// earlier version; none if the log does not go back so far.
fn cancelled_by(bus: &mut Follower, id: &TaskId) -> Option<String> {
    let task =
        bus.state().task(id).filter(|task| task.cancel_asked && task.cancelled_by.is_none())?;
    let mut who = None;
    let walked = walk(bus, task.prompt.place, &mut |entry, _, _| {
        for event in &entry.events {
            if let Event::TaskCancelAsked { id: of, by, human } = event
                && of == id
            {
                who.get_or_insert_with(|| {
                    if *human { Author::HUMAN.to_owned() } else { by.to_string() }
                });
            }
        }
    });
    walked.ok()?;
    who
}
