//! Rules of tasks: assigned by an orchestrator, played by the bridge that holds the agent.

use super::command::{Ending, NewTask};
use super::event_writer::{Post, Writer};
use super::messages::check_body;
use super::notice::{Notice, notice, quoted};
use super::refusal::Refusal;
use super::workflows;
use crate::bus::event::{Body, Event, Finished, TaskAssigned, TaskReport};
use crate::bus::state::{Session, Task};
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::limits;
use crate::domain::member::MemberKind;
use crate::domain::name::Name;
use crate::domain::task::{TaskError, TaskStatus};

pub(super) fn assign(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
    task: &NewTask,
) -> Result<(), Refusal> {
    let by = writer.session(me)?;
    let agent = writer.session(session)?;
    if agent.kind != MemberKind::Agent {
        let (name, kind) = (agent.name.clone(), agent.kind.as_str());
        return Err(Refusal::NotAnAgent { name, kind, hint: "ask it with send_message" });
    }
    if agent.stop.is_some() {
        return Err(Refusal::Stopping { name: agent.name.clone() });
    }
    if agent.stuck {
        return Err(Refusal::Stuck { name: agent.name.clone() });
    }
    // More would not fit into the append that ends them all.
    let limit = writer.state.limits().queued_tasks.min(limits::MAX_QUEUED);
    if agent.queue.len() >= limit {
        return Err(Refusal::QueueFull { name: agent.name.clone(), limit });
    }
    write_assigned(writer, &by.name, (session, &agent.name), task)
}

/// Writes that an agent, which may be starting in the same append, has this work.
pub(super) fn write_assigned(
    writer: &mut Writer<'_>,
    by: &Name,
    (session, agent): (SessionId, &Name),
    task: &NewTask,
) -> Result<(), Refusal> {
    check_body("prompt", &task.prompt)?;
    let id = writer.new_id(TaskId::from_bits, |state, id| state.tasks.contains_key(id));
    writer.push(Event::TaskAssigned(TaskAssigned {
        id: id.clone(),
        session,
        agent: agent.clone(),
        by: by.clone(),
        prompt: task.prompt.clone(),
        model: task.model.clone(),
        fresh: task.fresh,
        permissions: task.permissions,
        workflow: task.step.as_ref().map(|step| step.workflow.clone()),
    }));
    match &task.step {
        Some(step) => workflows::start_step(writer, by, step, &id, agent),
        None => Ok(()),
    }
}

fn known<'a>(writer: &Writer<'a>, id: &TaskId) -> Result<&'a Task, Refusal> {
    writer.state.task(id).ok_or_else(|| Refusal::UnknownTask { id: id.clone() })
}

/// Returns a task that is not over and whose agent this bridge holds.
fn held<'a>(writer: &Writer<'a>, me: SessionId, id: &TaskId) -> Result<&'a Task, Refusal> {
    let task = known(writer, id)?;
    if task.status.is_final() {
        return Err(Refusal::TaskOver { id: id.clone(), status: task.status });
    }
    let agent = writer.session(task.session)?;
    if agent.owner == Some(me) { Ok(task) } else { Err(Refusal::NotTheOwner) }
}

pub(super) fn start(writer: &mut Writer<'_>, me: SessionId, id: &TaskId) -> Result<(), Refusal> {
    let task = held(writer, me, id)?;
    let running = writer.session(task.session)?.running.as_ref();
    match running {
        Some(running) if running == id => Ok(()),
        Some(_) => Err(Refusal::TurnRuns { name: task.agent.clone() }),
        None => {
            writer.push(Event::TaskStarted { id: id.clone() });
            Ok(())
        }
    }
}

/// Goes on with a task whose agent was started again, and tells who assigned it.
pub(super) fn resume(writer: &mut Writer<'_>, me: SessionId, id: &TaskId) -> Result<(), Refusal> {
    let task = held(writer, me, id)?;
    if writer.session(task.session)?.running.as_ref() != Some(id) {
        return Err(Refusal::UnknownTask { id: id.clone() });
    }
    writer.push(Event::TaskResumed { id: id.clone() });
    let told =
        notice![*id, " of ", task.agent, " is resumed: its agent was restarted with its session"];
    writer.notice(&task.by, told);
    Ok(())
}

pub(super) fn finish(
    writer: &mut Writer<'_>,
    me: SessionId,
    id: &TaskId,
    ending: &Ending,
) -> Result<(), Refusal> {
    let task = held(writer, me, id)?;
    write_finished(writer, task, ending);
    Ok(())
}

/// Writes the end of a task, and tells who assigned it.
pub(super) fn write_finished(writer: &mut Writer<'_>, task: &Task, ending: &Ending) {
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

pub(super) fn cancel(writer: &mut Writer<'_>, me: SessionId, id: &TaskId) -> Result<(), Refusal> {
    let by = writer.session(me)?;
    let task = known(writer, id)?;
    match task.status {
        TaskStatus::Queued => {
            write_finished(
                writer,
                task,
                &ended(TaskStatus::Cancelled, "cancelled", format!("cancelled by {}", by.name)),
            );
        }
        TaskStatus::Running if !task.cancel_asked => {
            writer.push(Event::TaskCancelAsked { id: id.clone(), by: by.name.clone() });
        }
        TaskStatus::Running => {}
        status => {
            return Err(Refusal::TaskOver { id: id.clone(), status });
        }
    }
    Ok(())
}

/// An ending without output.
pub(super) fn ended(status: TaskStatus, class: &str, message: String) -> Ending {
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
pub(super) fn end_work(
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
            Some(_) => format!("{} {what}; see {} for the reason", agent.name, tasks[0].id),
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
