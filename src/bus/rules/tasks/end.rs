//! The end of a task, and the notice of it to its assigner.

use crate::bus::event::{Body, Event, Finished, TaskReport};
use crate::bus::rules::command::Ending;
use crate::bus::rules::event_writer::{Post, Writer};
use crate::bus::rules::notice::{Notice, notice, quoted};
use crate::bus::state::{Session, Task};
use crate::domain::limits;
use crate::domain::task::{TaskError, TaskStatus};

/// Writes the end of a task, and tells who assigned it.
pub(in crate::bus::rules) fn write_finished(writer: &mut Writer<'_>, task: &Task, ending: &Ending) {
    writer.push(Event::TaskFinished(Finished {
        id: task.id.clone(),
        status: ending.status,
        output: ending.output.clone(),
        stop_reason: ending.stop_reason.clone(),
        error: ending.error.clone(),
        report: ending.report.clone(),
    }));
    // Who leads a workflow is told of its end, and not of each task in it.
    if task.workflow.is_some() || !writer.reaches(&task.by) {
        return;
    }
    let mut post = Post::notice(task.by.clone(), told_end(task, ending));
    post.task = Some(task.id.clone());
    writer.post(post);
}

/// The sentence that tells how a task ended, with the head of its output or of its error.
fn told_end(task: &Task, ending: &Ending) -> Notice {
    let said = match (&ending.error, &ending.output) {
        (Some(error), _) => &error.message,
        (None, Body::Text(text)) => last_words(text, ending.report.last_words),
        (None, Body::Blob { .. }) => "",
    };
    let told = notice![task.id, " of ", task.agent, " ", ending.status.told()];
    if said.trim().is_empty() {
        return told;
    }
    told.and(&": ").and(&quoted(said, limits::NOTICE_HEAD_CHARS))
}

/// Returns what an agent said in the end, rather than what it said on its way.
fn last_words(text: &str, from: Option<u64>) -> &str {
    let from = from.and_then(|from| usize::try_from(from).ok());
    let last = from.and_then(|from| text.get(from..)).unwrap_or(text);
    if last.trim().is_empty() { text } else { last }
}

/// An ending without output.
pub(in crate::bus::rules) fn ended(status: TaskStatus, class: &str, message: String) -> Ending {
    Ending {
        status,
        output: Body::Text(String::new()),
        stop_reason: None,
        error: Some(TaskError::new(class, message)),
        report: TaskReport::default(),
    }
}

/// Ends all work of an agent that is no more. Why, at any length, is told by the first task alone: as many as can wait have to end
/// in one line.
pub(in crate::bus::rules) fn end_work(
    writer: &mut Writer<'_>,
    agent: &Session,
    (what, detail): (&str, Option<&str>),
    stopped: bool,
) {
    let state = writer.state;
    let is_begun = |task: &Task| !agent.queue.contains(&task.id);
    // More than one was begun only where a line with an end was lost.
    let begun = state.tasks_of(agent.id);
    let begun = begun.filter(|task| !task.status.is_final() && is_begun(task));
    let queued = agent.queue.iter().filter_map(|id| state.task(id));
    let tasks: Vec<_> = begun.chain(queued).collect();
    for (place, task) in tasks.iter().enumerate() {
        let why = match detail {
            Some(detail) if place == 0 => format!("{} {what}: {detail}", agent.name),
            Some(_) => format!("{} {what}: {} has the reason", agent.name, tasks[0].id),
            None => format!("{} {what}", agent.name),
        };
        let never_started = agent.pid.is_none();
        let (status, class) = if is_begun(task) && !stopped {
            (TaskStatus::Interrupted, "crashed")
        } else if never_started && !stopped {
            // Work that never began is the assigner's to give to somebody else; work of an agent that could not start has failed.
            (TaskStatus::Failed, "start")
        } else {
            (TaskStatus::Cancelled, "cancelled")
        };
        write_finished(writer, task, &ended(status, class, why));
    }
}
