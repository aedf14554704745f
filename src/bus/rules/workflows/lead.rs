//! Creating a workflow, resuming it, and cancelling it.

use super::lookups::{leader, led_by_another, unended};
use super::steps::moved;
use crate::bus::event::{Created, Event, Resumed};
use crate::bus::rules::asker::Asker;
use crate::bus::rules::command::NewWorkflow;
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::refusal::Refusal;
use crate::bus::rules::tasks;
use crate::bus::state::Workflow;
use crate::domain::ids::{SessionId, WorkflowId};
use crate::domain::limits;
use crate::domain::workflow::{StepMove, StepStatus, WorkflowStatus};

pub(in crate::bus::rules) fn create(
    writer: &mut Writer<'_>,
    me: SessionId,
    new: &NewWorkflow,
) -> Result<(), Refusal> {
    let by = leader(writer, me)?;
    let all = writer.state.workflows();
    let unended = all.iter().filter(|workflow| !workflow.status.is_final());
    if unended.count() >= limits::MAX_WORKFLOWS {
        return Err(Refusal::TooManyWorkflows);
    }
    let id = writer.new_id(WorkflowId::from_bits, |state, id| state.workflow(id).is_some());
    writer.push(Event::WorkflowCreated(Created {
        id,
        name: new.name.clone(),
        by: by.name.clone(),
        owner: me,
        steps: new.steps.clone(),
        prompts: new.prompts.clone(),
        plan_file: new.plan_file.clone(),
        is_trial: new.is_trial,
    }));
    Ok(())
}

pub(in crate::bus::rules) fn resume(
    writer: &mut Writer<'_>,
    me: SessionId,
    id: &WorkflowId,
) -> Result<(), Refusal> {
    let by = leader(writer, me)?;
    let workflow = unended(writer.state, id)?;
    match workflow.owner {
        Some(owner) if owner == me => Ok(()),
        Some(_) => Err(led_by_another(workflow)),
        None => {
            writer.push(Event::WorkflowResumed(Resumed {
                id: id.clone(),
                by: by.name.clone(),
                owner: me,
            }));
            Ok(())
        }
    }
}

pub(in crate::bus::rules) fn cancel(
    writer: &mut Writer<'_>,
    by: Asker<'_>,
    id: &WorkflowId,
) -> Result<(), Refusal> {
    let workflow = unended(writer.state, id)?;
    if workflow.cancel_asked && workflow.owner.is_some() {
        return Ok(());
    }
    let name = by.recorded(None, &workflow.by);
    writer.push(Event::WorkflowCancelAsked { id: id.clone(), by: name, human: by.is_human() });
    if workflow.owner.is_none() {
        cancel_interrupted(writer, by, workflow);
    }
    Ok(())
}

/// Ends a workflow without a leader.
fn cancel_interrupted(writer: &mut Writer<'_>, by: Asker<'_>, workflow: &Workflow) {
    for step in &workflow.steps {
        if step.status.is_final() {
            continue;
        }
        if let Some(task) = step.task.as_ref().filter(|_| step.status == StepStatus::Running) {
            // A refusal means that the task has ended.
            let _ = tasks::cancel(writer, by, task);
        }
        let cancelled = StepMove::Cancel(format!("cancelled by {}", by.in_words()));
        writer.push(moved(&workflow.id, &step.plan.name, &cancelled));
    }
    writer
        .push(Event::WorkflowEnded { id: workflow.id.clone(), status: WorkflowStatus::Cancelled });
}
