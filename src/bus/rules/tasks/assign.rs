//! Assigning work to an agent, which may be a step of a workflow.

use crate::bus::event::{Event, TaskAssigned};
use crate::bus::rules::command::NewTask;
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::messages::check_body;
use crate::bus::rules::refusal::Refusal;
use crate::bus::rules::workflows::start_step;
use crate::domain::ids::{SessionId, TaskId};
use crate::domain::limits;
use crate::domain::member::MemberKind;
use crate::domain::name::Name;
use crate::domain::workflow::StepOf;

pub(in crate::bus::rules) fn assign(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
    task: &NewTask,
) -> Result<(), Refusal> {
    let by = writer.session(me)?;
    let agent = writer.session(session)?;
    if agent.kind != MemberKind::Agent {
        let (name, kind) = (agent.name.clone(), agent.kind.as_str());
        let hint = match writer.state.offer_of(agent.id) {
            Some(_) => "it starts agents for others: name a profile, and this name as `host`",
            None => "ask it with send_message",
        };
        return Err(Refusal::NotAnAgent { name, kind, hint });
    }
    if agent.stop.is_some() {
        return Err(Refusal::Stopping { name: agent.name.clone() });
    }
    if writer.state.plays_a_trial_of_another(agent, me) {
        return Err(Refusal::OfTrial { name: agent.name.clone() });
    }
    if agent.stuck {
        return Err(Refusal::Stuck { name: agent.name.clone() });
    }
    // One append must have room for the ends of all.
    let limit = writer.state.limits().queued_tasks.min(limits::MAX_QUEUED);
    if agent.queue.len() >= limit {
        return Err(Refusal::QueueFull { name: agent.name.clone(), limit });
    }
    write_assigned(writer, (&by.name, task.step.as_ref()), (session, &agent.name), task)
}

/// Assigns a task to an agent, which may be starting in the same append. It may be a step of a workflow that whoever assigns it leads.
pub(in crate::bus::rules) fn write_assigned(
    writer: &mut Writer<'_>,
    (by, step): (&Name, Option<&StepOf>),
    (session, agent): (SessionId, &Name),
    task: &NewTask,
) -> Result<(), Refusal> {
    check_body("prompt", &task.prompt)?;
    let id = match &task.placed {
        Some(id) => id.clone(),
        None => writer.new_id(TaskId::from_bits, |state, id| {
            state.tasks.contains_key(id) || state.placements.contains_key(id)
        }),
    };
    writer.push(Event::TaskAssigned(TaskAssigned {
        id: id.clone(),
        session,
        agent: agent.clone(),
        by: by.clone(),
        prompt: task.prompt.clone(),
        model: task.model.clone(),
        fresh: task.fresh,
        permissions: task.permissions,
        workflow: step.map(|step| step.workflow.clone()),
        priority: task.priority,
    }));
    match step {
        Some(step) => start_step(writer, by, step, &id, agent),
        None => Ok(()),
    }
}
