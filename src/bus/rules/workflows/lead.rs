//! Creating a workflow, resuming it, and cancelling it.

use super::lookups::{leader, led_by_another, unended};
use super::steps::{moved, write_end_if_over};
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
    } else {
        cancel_unbegun(writer, by, workflow);
    }
    Ok(())
}

/// Ends the steps of a workflow that have not begun: its bridge, which ends the others, does not know who has cancelled it. Of very many,
/// it ends the rest.
fn cancel_unbegun(writer: &mut Writer<'_>, by: Asker<'_>, workflow: &Workflow) {
    let mut after = workflow.clone();
    after.cancel_asked = true;
    let steps = workflow.steps.iter();
    let unbegun =
        steps.filter(|step| matches!(step.status, StepStatus::Waiting | StepStatus::Asking));
    for step in unbegun.take(limits::MOVES_AT_ONCE) {
        let why = format!("the workflow was cancelled by {}", by.in_words());
        let event = moved(&workflow.id, &step.plan.name, &StepMove::Cancel(why));
        after.apply_step_event(&event, writer.now.wall_ms);
        writer.push(event);
    }
    write_end_if_over(writer, &after);
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
