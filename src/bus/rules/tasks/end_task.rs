//! The end of a task, and the notice to its assigner.

use crate::bus::event::{Body, Event, Finished, TaskReport};
use crate::bus::rules::command::Ending;
use crate::bus::rules::event_writer::{Post, Writer};
use crate::bus::rules::notice::{Notice, notice, quoted};
use crate::bus::state::Task;
use crate::domain::limits;
use crate::domain::task::{TaskError, TaskStatus};

/// Writes the end of a task, and notifies the assigner.
pub(in crate::bus::rules) fn write_finished(writer: &mut Writer<'_>, task: &Task, ending: &Ending) {
    write_end(writer, task, ending);
    if !has_reader(writer, task) {
        return;
    }
    let mut post = Post::notice(task.by.clone(), end_notice(task, ending));
    post.task = Some(task.id.clone());
    writer.post(post);
}

/// Says whether a notice of a task's end is of use: the leader of a workflow is notified of the workflow's end, not of each task in
/// it.
pub(super) fn has_reader(writer: &Writer<'_>, task: &Task) -> bool {
    task.workflow.is_none() && writer.reaches(&task.by)
}

/// Writes the end of a task alone.
pub(super) fn write_end(writer: &mut Writer<'_>, task: &Task, ending: &Ending) {
    writer.push(Event::TaskFinished(Finished {
        id: task.id.clone(),
        status: ending.status,
        output: ending.output.clone(),
        stop_reason: ending.stop_reason.clone(),
        error: ending.error.clone(),
        report: ending.report.clone(),
    }));
}

/// Returns the notice of how a task ended, with the beginning of its error or of its last words.
fn end_notice(task: &Task, ending: &Ending) -> Notice {
    let said = match (&ending.error, &ending.output) {
        (Some(error), _) => &error.message,
        (None, Body::Text(text)) => last_words(text, ending.report.last_words),
        (None, Body::Blob { .. }) => "",
    };
    let text = notice![task.id, " of ", task.agent, " ", ending.status.phrase()];
    if said.trim().is_empty() {
        return text;
    }
    text.and(&": ").and(&quoted(said, limits::NOTICE_HEAD_CHARS))
}

/// Returns the last words of an agent, or its whole output if these are empty.
fn last_words(text: &str, from: Option<u64>) -> &str {
    let from = from.and_then(|from| usize::try_from(from).ok());
    let last = from.and_then(|from| text.get(from..)).unwrap_or(text);
    if last.trim().is_empty() { text } else { last }
}

/// Returns an ending without output.
pub(in crate::bus::rules) fn ended(status: TaskStatus, class: &str, message: String) -> Ending {
    Ending {
        status,
        output: Body::Text(String::new()),
        stop_reason: None,
        error: Some(TaskError::new(class, message)),
        report: TaskReport::default(),
    }
}
