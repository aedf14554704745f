//! The moves of the steps of a workflow: each step begins once and not too early, and the last one ends the workflow.

use super::lookups::{elsewhere, known_step, led_by_another, named, unended};
use crate::bus::event::{
    Event, StepApproved, StepAsked, StepEnded, StepExpanded, StepReturned, StepStarted,
};
use crate::bus::rules::asker::Asker;
use crate::bus::rules::command::{Approval, NewItems};
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::notice::{Notice, notice, quoted};
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::{Readiness, State, StepRun, Workflow};
use crate::domain::ids::{SessionId, TaskId, WorkflowId};
use crate::domain::limits;
use crate::domain::name::Name;
use crate::domain::text::counted::noun;
use crate::domain::workflow::{
    Again, REFUSED_BY_USER, StepMove, StepOf, StepStatus, WorkflowStatus, outcome,
};

/// Writes that a step begins, as the task that is assigned in the same append.
pub(in crate::bus::rules) fn start_step(
    writer: &mut Writer<'_>,
    by: &Name,
    step: &StepOf,
    task: &TaskId,
    agent: &Name,
) -> Result<(), Refusal> {
    let (workflow, run) = startable(writer.state, by, step)?;
    writer.push(Event::StepStarted(StepStarted {
        workflow: workflow.id.clone(),
        step: run.plan.name.clone(),
        task: task.clone(),
        agent: agent.clone(),
    }));
    Ok(())
}

/// Returns a step that a member may start now, which leads its workflow.
pub(in crate::bus::rules) fn startable<'a>(
    state: &'a State,
    by: &Name,
    step: &StepOf,
) -> Result<(&'a Workflow, &'a StepRun), Refusal> {
    let workflow = unended(state, &step.workflow)?;
    let owner = workflow.owner.and_then(|owner| state.session(owner));
    if owner.is_none_or(|owner| owner.name != *by) {
        return Err(led_by_another(workflow));
    }
    let run = known_step(workflow, &step.step)?;
    if !may_begin(workflow, run) || run.plan.for_each.is_some() {
        return Err(elsewhere(run));
    }
    Ok((workflow, run))
}

/// Expands a step: from now on its items are steps of their own.
pub(in crate::bus::rules) fn expand(
    writer: &mut Writer<'_>,
    me: SessionId,
    step: &StepOf,
    NewItems { count, items }: &NewItems,
) -> Result<(), Refusal> {
    let workflow = unended(writer.state, &step.workflow)?;
    if workflow.owner != Some(me) {
        return Err(led_by_another(workflow));
    }
    let run = known_step(workflow, &step.step)?;
    if !may_begin(workflow, run) || run.plan.for_each.is_none() {
        return Err(elsewhere(run));
    }
    let many = usize::try_from(*count).unwrap_or(usize::MAX);
    if many > limits::MAX_ITEMS || workflow.steps.len() + many > limits::MAX_PLAYED {
        let (step, count) = (run.plan.name.clone(), *count);
        return Err(Refusal::TooManyItems { step, count });
    }
    writer.push(Event::StepExpanded(StepExpanded {
        workflow: workflow.id.clone(),
        step: run.plan.name.clone(),
        count: *count,
        items: items.clone(),
    }));
    Ok(())
}

/// Says whether a step can begin. The leader checks its condition, not these rules.
fn may_begin(workflow: &Workflow, step: &StepRun) -> bool {
    step.status == StepStatus::Waiting
        && !step.needs_approval()
        && !workflow.cancel_asked
        && workflow.readiness(step) == Readiness::Ready
}

pub(in crate::bus::rules) fn move_steps(
    writer: &mut Writer<'_>,
    me: SessionId,
    id: &WorkflowId,
    moves: &[(Name, StepMove)],
) -> Result<(), Refusal> {
    let workflow = unended(writer.state, id)?;
    if workflow.owner != Some(me) {
        return Err(led_by_another(workflow));
    }
    write_moves(writer, workflow, moves)
}

pub(in crate::bus::rules) fn approve(
    writer: &mut Writer<'_>,
    by: Asker<'_>,
    step: &StepOf,
    approval: &Approval,
) -> Result<(), Refusal> {
    let workflow = unended(writer.state, &step.workflow)?;
    let asking = known_step(workflow, &step.step)?;
    if asking.status != StepStatus::Asking {
        return Err(elsewhere(asking));
    }
    let name = &asking.plan.name;
    match approval {
        Approval::Given => {
            writer.push(Event::StepApproved(StepApproved {
                workflow: workflow.id.clone(),
                step: name.clone(),
                by: by.recorded(None, &workflow.by),
                human: by.is_human(),
            }));
            Ok(())
        }
        Approval::Refused(reason) => {
            let reason = reason.as_deref().filter(|reason| !reason.trim().is_empty());
            let reason = reason.map(|reason| format!(": {reason}"));
            let why = format!("{REFUSED_BY_USER}{}", reason.unwrap_or_default());
            let why = why.chars().take(limits::WHY_CHARS).collect();
            let mut after = workflow.clone();
            let event = moved(&after.id, name, &StepMove::Cancel(why));
            after.apply_step_event(&event, writer.now.wall_ms);
            writer.push(event);
            write_end_if_over(writer, &after);
            Ok(())
        }
    }
}

/// Writes the moves, each checked against the workflow after the moves before it, and the end of the workflow after its last step.
fn write_moves(
    writer: &mut Writer<'_>,
    workflow: &Workflow,
    moves: &[(Name, StepMove)],
) -> Result<(), Refusal> {
    let mut after = workflow.clone();
    for (name, step_move) in moves {
        let step = known_step(&after, name)?;
        if !is_possible(writer.state, &after, step, step_move) {
            return Err(elsewhere(step));
        }
        let event = moved(&after.id, name, step_move);
        after.apply_step_event(&event, writer.now.wall_ms);
        writer.push(event);
        if *step_move == StepMove::Ask {
            let text = approval_notice(&after, name);
            writer.notice(&after.by, text);
        }
    }
    write_end_if_over(writer, &after);
    Ok(())
}

/// Ends a workflow whose steps have all ended.
pub(super) fn write_end_if_over(writer: &mut Writer<'_>, after: &Workflow) {
    let steps = after.steps.iter().map(|step| step.status);
    if let Some(status) = outcome(steps, after.cancel_asked) {
        write_ended(writer, after, status);
    }
}

pub(in crate::bus::rules) fn moved(id: &WorkflowId, name: &Name, step_move: &StepMove) -> Event {
    match step_move {
        StepMove::Ask => Event::StepAsked(StepAsked { workflow: id.clone(), step: name.clone() }),
        StepMove::Again(again, why) => Event::StepReturned(StepReturned {
            workflow: id.clone(),
            step: name.clone(),
            again: *again,
            why: why.clone(),
        }),
        ended => Event::StepEnded(StepEnded {
            workflow: id.clone(),
            step: name.clone(),
            status: ended.status(),
            why: ended.why().map(str::to_owned),
        }),
    }
}

fn is_possible(state: &State, workflow: &Workflow, step: &StepRun, step_move: &StepMove) -> bool {
    // The state forgets only tasks that have ended.
    let task = step.task.as_ref().and_then(|task| state.task(task));
    let task_ended =
        task.is_none_or(|task| task.status.is_final() || state.is_cancel_unheard(task));
    let readiness = workflow.readiness(step);
    match (step.status, step_move) {
        (StepStatus::Running, StepMove::Ask | StepMove::Skip(_) | StepMove::Pass(_)) => false,
        (StepStatus::Running, StepMove::Again(..)) if step.items.is_some() => false,
        (StepStatus::Running, _) => {
            task_ended && workflow.items_of(step).all(|item| item.status.is_final())
        }
        (StepStatus::Waiting, StepMove::Skip(_)) => matches!(readiness, Readiness::Stopped(_)),
        (StepStatus::Waiting, StepMove::Pass(_)) => {
            step.plan.when.is_some() && readiness == Readiness::Ready
        }
        // The gate of a step that repeats this one failed.
        (StepStatus::Done | StepStatus::Unneeded, StepMove::Again(Again::Repeat, _)) => {
            workflow.steps.iter().any(|other| {
                let repeat = other.plan.repeat.as_ref();
                other.status == StepStatus::Running
                    && repeat.is_some_and(|repeat| repeat.steps.contains(&step.plan.name))
            })
        }
        (StepStatus::Waiting, StepMove::Ask) => {
            step.needs_approval() && readiness == Readiness::Ready
        }
        // The step could not be assigned to an agent.
        (StepStatus::Waiting, StepMove::Again(again, _)) => *again != Again::Repeat,
        (StepStatus::Waiting, StepMove::Fail(_)) => true,
        (StepStatus::Waiting | StepStatus::Asking, StepMove::Cancel(_)) => workflow.cancel_asked,
        _ => false,
    }
}

/// Writes the end of a workflow, and notifies the member that created or last resumed it.
fn write_ended(writer: &mut Writer<'_>, workflow: &Workflow, status: WorkflowStatus) {
    writer.push(Event::WorkflowEnded { id: workflow.id.clone(), status });
    writer.notice(&workflow.by, end_notice(workflow, status));
}

/// Returns the notice of how a workflow ended, with the first failure and the first refusal.
fn end_notice(workflow: &Workflow, status: WorkflowStatus) -> Notice {
    let count = |status| {
        let planned = workflow.planned();
        planned.filter(|step| step.status == status).count()
    };
    let done = count(StepStatus::Done);
    let steps = workflow.planned().count();
    let unneeded = match count(StepStatus::Unneeded) {
        0 => Notice::default(),
        count => notice![", ", count, " not needed"],
    };
    let mut failed = workflow.planned().filter(|step| step.status == StepStatus::Failed);
    let why = failed.next().map_or_else(Notice::default, |step| {
        let failed = notice!["; ", step.plan.name, " failed"];
        match step.why.as_deref().filter(|why| !why.trim().is_empty()) {
            Some(why) => failed.and(&": ").and(&quoted(why, limits::NOTICE_HEAD_CHARS)),
            None => failed,
        }
    });
    let refusals = workflow.planned().filter_map(|step| {
        let why = step.why.as_deref().filter(|why| why.starts_with(REFUSED_BY_USER))?;
        (step.status == StepStatus::Cancelled).then_some((step, why))
    });
    let refused = refusals.take(1).fold(Notice::default(), |_, (step, why)| {
        notice!["; ", step.plan.name, " was cancelled: "]
            .and(&quoted(why, limits::NOTICE_HEAD_CHARS))
    });
    notice![
        named(workflow),
        " ",
        status.phrase(),
        ": ",
        done,
        " of ",
        steps,
        noun(steps, " step done", " steps done"),
        unneeded,
        why,
        refused,
        ". get_workflow_status has the outputs",
    ]
}

/// Returns the notice that asks for approval.
fn approval_notice(workflow: &Workflow, step: &Name) -> Notice {
    notice![
        named(workflow),
        ": the step `",
        *step,
        "` waits for your user's approval. Ask them, then call approve_step; get_workflow_status \
            shows the output so far",
    ]
}
