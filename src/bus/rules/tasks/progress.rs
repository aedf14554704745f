//! The progress of an assigned task: started, resumed, finished, cancelled.

use super::end_task::{ended, write_finished};
use crate::bus::event::Event;
use crate::bus::rules::asker::Asker;
use crate::bus::rules::command::Ending;
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::notice::notice;
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::Task;
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::task::TaskStatus;

fn known<'a>(writer: &Writer<'a>, id: &TaskId) -> Result<&'a Task, Refusal> {
    writer.state.task(id).ok_or_else(|| Refusal::UnknownTask { id: id.clone() })
}

/// Returns an unfinished task whose agent this bridge holds.
fn held<'a>(writer: &Writer<'a>, me: SessionId, id: &TaskId) -> Result<&'a Task, Refusal> {
    let task = known(writer, id)?;
    if task.status.is_final() {
        return Err(Refusal::TaskOver { id: id.clone(), status: task.status });
    }
    let agent = writer.session(task.session)?;
    if agent.owner == Some(me) { Ok(task) } else { Err(Refusal::NotTheOwner) }
}

pub(in crate::bus::rules) fn start(
    writer: &mut Writer<'_>,
    me: SessionId,
    id: &TaskId,
) -> Result<(), Refusal> {
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

/// Continues a task whose agent was restarted, and notifies the assigner.
pub(in crate::bus::rules) fn resume(
    writer: &mut Writer<'_>,
    me: SessionId,
    id: &TaskId,
) -> Result<(), Refusal> {
    let task = held(writer, me, id)?;
    if writer.session(task.session)?.running.as_ref() != Some(id) {
        return Err(Refusal::UnknownTask { id: id.clone() });
    }
    writer.push(Event::TaskResumed { id: id.clone() });
    let text =
        notice![*id, " of ", task.agent, " is resumed: its agent was restarted with its session"];
    writer.notice(&task.by, text);
    Ok(())
}

pub(in crate::bus::rules) fn finish(
    writer: &mut Writer<'_>,
    me: SessionId,
    id: &TaskId,
    ending: &Ending,
) -> Result<(), Refusal> {
    let task = held(writer, me, id)?;
    write_finished(writer, task, ending);
    Ok(())
}

pub(in crate::bus::rules) fn cancel(
    writer: &mut Writer<'_>,
    by: Asker<'_>,
    id: &TaskId,
) -> Result<(), Refusal> {
    let task = known(writer, id)?;
    match task.status {
        TaskStatus::Queued => {
            write_finished(
                writer,
                task,
                &ended(
                    TaskStatus::Cancelled,
                    "cancelled",
                    format!("cancelled by {}", by.in_words()),
                ),
            );
        }
        TaskStatus::Running if !task.cancel_asked => {
            let agent = writer.state.session(task.session);
            let bridge = agent.and_then(|agent| writer.state.session(agent.owner?));
            let (human, by) = (by.is_human(), by.recorded(bridge, &task.agent));
            writer.push(Event::TaskCancelAsked { id: id.clone(), by, human });
        }
        TaskStatus::Running => {}
        status => {
            return Err(Refusal::TaskOver { id: id.clone(), status });
        }
    }
    Ok(())
}
