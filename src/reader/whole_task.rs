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
use crate::domain::task::result::{Details, LostTexts};
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
    /// Why texts are missing above: another program has changed or removed their files, or they cannot be read now.
    #[serde(skip_serializing_if = "LostTexts::is_empty")]
    pub lost: LostTexts,
}

/// Says that a task is not known.
pub fn no_such_task(id: &TaskId) -> String {
    format!("there is no task `{id}`, or it is too old to be found")
}

/// Reads a task with its texts; none if there is no task of this id, or it ended too long ago.
pub fn whole_task(bus: &mut Follower, id: &TaskId) -> Option<WholeTask> {
    let (held, now) = (held_sessions(bus), bus.now());
    let cancelled_by = cancelled_by(bus, id);
    let (state, mut texts) = bus.state_and_texts();
    let task = state.task(id)?;
    let mut lost = LostTexts::default();
    let output = match task.output.filter(|body| body.bytes > 0) {
        Some(body) => shown(texts.text(body), &mut lost.output),
        // It runs, or its agent ended before it could report the output.
        None => texts.transcript(id).ok().map(|transcript| output_of_transcript(&transcript)),
    };
    let details = match task.output.filter(|_| task.has_details) {
        Some(body) => shown(texts.details(body), &mut lost.details)
            .flatten()
            .and_then(|text| serde_json::from_str(&text).ok()),
        None => None,
    };
    let whole_prompt = shown(texts.text(task.prompt), &mut lost.prompt);
    let error = task.error.as_ref();
    let whole_error = error.map(|error| format!("{}: {}", error.class, task_error(&error.message)));
    let is_held = |session| held.contains(&session);
    let row = TaskRow::of(state, task, (&is_held, now), &mut LogTexts(texts));
    Some(WholeTask {
        row: TaskRow { cancelled_by: row.cancelled_by.clone().or(cancelled_by), ..row },
        whole_prompt,
        whole_error,
        output: output.filter(|output| !output.trim().is_empty()),
        details,
        lost,
    })
}

/// Returns a text that could be read, or keeps why it could not: what else is known of its task is shown.
fn shown<T>(read: Result<T, LogError>, lost: &mut Option<String>) -> Option<T> {
    read.map_err(|error| *lost = Some(error.to_string())).ok()
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bus::event::{Body, Finished, TaskReport};
    use crate::bus::storage::Log as _;
    use crate::bus::storage::contract::append;
    use crate::bus::storage::file::{FileLog, Options, Origin};
    use crate::domain::ids::SessionId;
    use crate::domain::task::TaskStatus;
    use crate::sys::fs::disk::RealDisk;
    use crate::view::tests::{assigned, starting};

    #[test]
    fn a_task_whose_long_texts_are_gone_is_shown_with_everything_else_and_says_so() {
        let project = tempfile::tempdir().unwrap();
        let directory = project.path().join("bridge");
        let mut log = FileLog::open(&directory, Arc::new(RealDisk), Options::default()).unwrap();
        let mut replica = log.open().unwrap();
        let (session, id) = (SessionId(uuid::Uuid::from_u128(7)), TaskId::from_bits(1));
        // Nothing has written the files of these texts.
        let lengthy =
            |number| Body::Blob { id: uuid::Uuid::from_u128(number), bytes: 9, sha256: None };
        let mut begun = assigned(id.clone(), session, "ann", None);
        begun.prompt = lengthy(1);
        let ended = Finished {
            id: id.clone(),
            status: TaskStatus::Done,
            output: lengthy(2),
            stop_reason: None,
            error: None,
            report: TaskReport { details: Some(lengthy(3)), ..TaskReport::default() },
        };
        let events = vec![
            Event::MemberStarting(starting(session, "ann")),
            Event::TaskAssigned(begun),
            Event::TaskStarted { id: id.clone() },
            Event::TaskFinished(ended),
        ];
        append(&mut log, &mut replica, events).unwrap();
        log.durability().sync().unwrap();
        drop(log);
        let mut bus =
            Follower::open(&directory, Origin::Believed, Arc::new(|| {})).unwrap().unwrap();
        let task = whole_task(&mut bus, &id).unwrap();
        assert_eq!((&*task.row.agent, &*task.row.status), ("ann", "done"));
        assert_eq!((&task.whole_prompt, &task.output, &task.details), (&None, &None, &None));
        let gone = || Some("the log no longer holds this".to_owned());
        assert_eq!(task.lost, LostTexts { prompt: gone(), output: gone(), details: gone() });
    }
}
