//! The end of tasks together with their agent or its process, which is one notice for each reader: what became of the agent, and which
//! of the reader's tasks ended with it.

use std::collections::BTreeMap;

use super::end_task::{ended, has_reader, write_end};
use crate::bus::rules::command::Ending;
use crate::bus::rules::event_writer::{Post, Told, Writer};
use crate::bus::rules::notice::{listed, notice, quoted};
use crate::bus::state::{Session, State, Task};
use crate::domain::limits;
use crate::domain::name::Name;
use crate::domain::task::{TaskError, TaskStatus};

/// What became of an agent.
#[derive(Clone, Copy)]
pub(in crate::bus::rules) struct AgentEnd<'a> {
    /// "has failed".
    pub(in crate::bus::rules) what: &'static str,
    /// The same for a task, which says itself whose it is: "its agent ended".
    pub(in crate::bus::rules) of_task: &'static str,
    /// The reason, in the words of others.
    pub(in crate::bus::rules) detail: Option<&'a str>,
    /// The error of the tasks that the agent never began, if it says more than that.
    pub(in crate::bus::rules) error: Option<&'a TaskError>,
    /// Whether it was asked to stop, or left with its user.
    pub(in crate::bus::rules) stopped: bool,
}

/// Returns how the tasks of an agent that leaves end. Only the first task gets the full reason, because the ends of a full queue
/// must fit into one line.
pub(in crate::bus::rules) fn ends_of_work<'a>(
    state: &'a State,
    agent: &'a Session,
    end: AgentEnd<'_>,
) -> Vec<(&'a Task, Ending)> {
    let is_begun = |task: &Task| !agent.queue.contains(&task.id);
    // More than one was begun only if a line with an end was lost.
    let begun = state.tasks_of(agent.id);
    let begun = begun.filter(|task| !task.status.is_final() && is_begun(task));
    let queued = agent.queue.iter().filter_map(|id| state.task(id));
    let tasks: Vec<_> = begun.chain(queued).collect();
    let never_started = agent.pid.is_none();
    let what = end.of_task;
    let mut ends = Vec::new();
    for (place, task) in tasks.iter().enumerate() {
        let error = end.error.filter(|_| !is_begun(task) && !end.stopped);
        let detail = error.map(|error| error.message.as_str()).or(end.detail);
        let why = match detail {
            Some(detail) if place == 0 => format!("{what}: {detail}"),
            Some(_) => format!("{what}; see {} for the reason", tasks[0].id),
            None => what.to_owned(),
        };
        let (status, class) = match error {
            Some(error) => (TaskStatus::Failed, error.class.as_str()),
            None if is_begun(task) && !end.stopped => (TaskStatus::Interrupted, "crashed"),
            // The agent could not start, so its tasks have failed. Other tasks that never began are cancelled: the assigner can
            // assign them again.
            None if never_started && !end.stopped => (TaskStatus::Failed, "start"),
            None => (TaskStatus::Cancelled, "cancelled"),
        };
        let mut ending = ended(status, class, why);
        if let (Some(error), Some(own)) = (error, &mut ending.error) {
            own.retry_ms = error.retry_ms;
            if place == 0 {
                own.login.clone_from(&error.login);
                own.known.clone_from(&error.known);
            }
        }
        ends.push((*task, ending));
    }
    ends
}

/// Writes the ends of an agent's tasks, and notifies its bridge, or else the lead, and all others that assigned one of these tasks.
pub(in crate::bus::rules) fn write_ends_with_agent(
    writer: &mut Writer<'_>,
    (agent, told): (&Session, Option<Told>),
    end: AgentEnd<'_>,
    advice: &'static str,
    ends: &[(&Task, Ending)],
) {
    let mut assigners: BTreeMap<&Name, Vec<(&Task, TaskStatus)>> = BTreeMap::new();
    for (task, ending) in ends {
        write_end(writer, task, ending);
        if has_reader(writer, task) {
            assigners.entry(&task.by).or_default().push((task, ending.status));
        }
    }
    // Its bridge, or the lead, gets the whole reason. Very many others may have assigned a task, and their notices must fit into the same line.
    let said = |most: usize| {
        let what = notice![agent.name, " ", end.what];
        end.detail.map_or(what.clone(), |detail| what.and(&": ").and(&quoted(detail, most)))
    };
    if let Some(told) = told.as_ref().filter(|told| !assigners.contains_key(told.name())) {
        writer.tell(told, said(usize::MAX).and(&advice));
    }
    for (name, tasks) in assigners {
        let is_leader = told.as_ref().is_some_and(|told| told.name() == name);
        let most = if is_leader { usize::MAX } else { limits::NOTICE_HEAD_CHARS };
        let ended = tasks.iter().map(|(task, status)| notice![task.id, " ", status.phrase()]);
        let text = said(most).and(&"; ").and(&listed(ended.collect())).and(&advice);
        let mut post = Post::notice(name.clone(), text);
        match &tasks[..] {
            [(task, _)] => post.task = Some(task.id.clone()),
            _ => post.ends = tasks.iter().map(|(task, _)| task.id.clone()).collect(),
        }
        writer.post(post);
    }
}
