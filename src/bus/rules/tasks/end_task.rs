//! The end of a task, and the notice to its assigner.

use crate::bus::event::{Body, Event, Finished, TaskReport};
use crate::bus::rules::command::Ending;
use crate::bus::rules::event_writer::{Post, Writer};
use crate::bus::rules::notice::{Notice, notice, quoted};
use crate::bus::state::{Session, Task};
use crate::domain::limits;
use crate::domain::task::{TaskError, TaskStatus};

/// Writes the end of a task, and notifies the assigner.
pub(in crate::bus::rules) fn write_finished(writer: &mut Writer<'_>, task: &Task, ending: &Ending) {
    writer.push(Event::TaskFinished(Finished {
        id: task.id.clone(),
        status: ending.status,
        output: ending.output.clone(),
        stop_reason: ending.stop_reason.clone(),
        error: ending.error.clone(),
        report: ending.report.clone(),
    }));
    // The leader of a workflow is notified of the workflow's end, not of each task in it.
    if task.workflow.is_some() || !writer.reaches(&task.by) {
        return;
    }
    let mut post = Post::notice(task.by.clone(), end_notice(task, ending));
    post.task = Some(task.id.clone());
    writer.post(post);
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

/// Ends all tasks of an agent that leaves. Only the first task gets the full reason, because the ends of a full queue must fit
/// into one line.
pub(in crate::bus::rules) fn end_work(
    writer: &mut Writer<'_>,
    agent: &Session,
    (what, detail): (&str, Option<&str>),
    stopped: bool,
) {
    let state = writer.state;
    let is_begun = |task: &Task| !agent.queue.contains(&task.id);
    // More than one was begun only if a line with an end was lost.
    let begun = state.tasks_of(agent.id);
    let begun = begun.filter(|task| !task.status.is_final() && is_begun(task));
    let queued = agent.queue.iter().filter_map(|id| state.task(id));
    let tasks: Vec<_> = begun.chain(queued).collect();
    for (place, task) in tasks.iter().enumerate() {
        let why = match detail {
            Some(detail) if place == 0 => format!("{} {what}: {detail}", agent.name),
            Some(_) => format!("{} {what}; see {} for the reason", agent.name, tasks[0].id),
            None => format!("{} {what}", agent.name),
        };
        let never_started = agent.pid.is_none();
        let (status, class) = if is_begun(task) && !stopped {
            (TaskStatus::Interrupted, "crashed")
        } else if never_started && !stopped {
            // The agent could not start, so its tasks have failed. Other tasks that never began are cancelled: the assigner can
            // assign them again.
            (TaskStatus::Failed, "start")
        } else {
            (TaskStatus::Cancelled, "cancelled")
        };
        write_finished(writer, task, &ended(status, class, why));
    }
}
