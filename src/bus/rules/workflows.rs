//! Workflows: led by one orchestrator at a time, whose engine says what happens to the steps. What cannot happen is refused here,
//! so that no step is begun twice or too early, whoever says so.

use super::command::{Approval, NewItems, NewWorkflow};
use super::event_writer::Writer;
use super::notice::{Notice, notice, quoted};
use super::refusal::Refusal;
use super::tasks;
use crate::bus::event::{
    Created, Event, Resumed, StepApproved, StepAsked, StepEnded, StepReturned, StepSpread,
    StepStarted,
};
use crate::bus::state::{Readiness, Session, State, StepRun, Workflow};
use crate::domain::ids::{SessionId, TaskId, WorkflowId};
use crate::domain::limits;
use crate::domain::member::MemberKind;
use crate::domain::name::Name;
use crate::domain::workflow::{Again, StepMove, StepOf, StepStatus, WorkflowStatus, outcome};

pub(super) fn create(
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
    }));
    Ok(())
}

/// Writes that a step begins, as the task that is assigned in the same append.
pub(super) fn start_step(
    writer: &mut Writer<'_>,
    by: &Name,
    step: &StepOf,
    task: &TaskId,
    agent: &Name,
) -> Result<(), Refusal> {
    let workflow = unended(writer.state, &step.workflow)?;
    let owner = workflow.owner.and_then(|owner| writer.state.session(owner));
    if owner.is_none_or(|owner| owner.name != *by) {
        return Err(led_by_another(workflow));
    }
    let played = known_step(workflow, &step.step)?;
    if !may_begin(workflow, played) || played.plan.for_each.is_some() {
        return Err(elsewhere(played));
    }
    writer.push(Event::StepStarted(StepStarted {
        workflow: workflow.id.clone(),
        step: played.plan.name.clone(),
        task: task.clone(),
        agent: agent.clone(),
    }));
    Ok(())
}

/// Writes that a step is done for each item of a list from here on.
pub(super) fn spread(
    writer: &mut Writer<'_>,
    me: SessionId,
    step: &StepOf,
    NewItems { count, items }: &NewItems,
) -> Result<(), Refusal> {
    let workflow = unended(writer.state, &step.workflow)?;
    if workflow.owner != Some(me) {
        return Err(led_by_another(workflow));
    }
    let played = known_step(workflow, &step.step)?;
    if !may_begin(workflow, played) || played.plan.for_each.is_none() {
        return Err(elsewhere(played));
    }
    let many = usize::try_from(*count).unwrap_or(usize::MAX);
    if many > limits::MAX_ITEMS || workflow.steps.len() + many > limits::MAX_PLAYED {
        let (step, count) = (played.plan.name.clone(), *count);
        return Err(Refusal::TooManyItems { step, count });
    }
    writer.push(Event::StepSpread(StepSpread {
        workflow: workflow.id.clone(),
        step: played.plan.name.clone(),
        count: *count,
        items: items.clone(),
    }));
    Ok(())
}

/// Says whether nothing stands between a step and its beginning. Whether its condition holds is its leader's to look at.
fn may_begin(workflow: &Workflow, step: &StepRun) -> bool {
    step.status == StepStatus::Waiting
        && !step.needs_approval()
        && !workflow.cancel_asked
        && workflow.readiness(step) == Readiness::Ready
}

pub(super) fn move_steps(
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

/// Writes the moves, each as the one before leaves the workflow, and the workflow's end with its last step's.
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
        after.take(&event, writer.now.wall_ms);
        writer.push(event);
        if *step_move == StepMove::Ask {
            let told = told_asking(&after, name);
            writer.notice(&after.by, told);
        }
    }
    write_end_if_over(writer, &after);
    Ok(())
}

/// Writes the end of a workflow whose steps are all over.
fn write_end_if_over(writer: &mut Writer<'_>, after: &Workflow) {
    let steps = after.steps.iter().map(|step| step.status);
    if let Some(status) = outcome(steps, after.cancel_asked) {
        write_ended(writer, after, status);
    }
}

fn moved(id: &WorkflowId, name: &Name, step_move: &StepMove) -> Event {
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
    // A task that ended so long ago that the state has forgotten it has ended.
    let task = step.task.as_ref().and_then(|task| state.task(task));
    let task_ended = task.is_none_or(|task| task.status.is_final() || state.is_unheard(task));
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
        // The gate of a step that names it did not hold.
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
        // Nobody could be given it.
        (StepStatus::Waiting, StepMove::Again(again, _)) => *again != Again::Repeat,
        (StepStatus::Waiting, StepMove::Fail(_)) => true,
        (StepStatus::Waiting | StepStatus::Asking, StepMove::Cancel(_)) => workflow.cancel_asked,
        _ => false,
    }
}

/// Writes the end of a workflow, and tells who leads it.
fn write_ended(writer: &mut Writer<'_>, workflow: &Workflow, status: WorkflowStatus) {
    writer.push(Event::WorkflowEnded { id: workflow.id.clone(), status });
    writer.notice(&workflow.by, told_end(workflow, status));
}

/// The sentence that tells how a workflow ended, with what went wrong first.
fn told_end(workflow: &Workflow, status: WorkflowStatus) -> Notice {
    let count = |status| {
        let planned = workflow.planned();
        planned.filter(|step| step.status == status).count()
    };
    let done = count(StepStatus::Done);
    let unneeded = match count(StepStatus::Unneeded) {
        0 => Notice::default(),
        count => notice![", ", count, " not needed"],
    };
    let mut failed = workflow.planned().filter(|step| step.status == StepStatus::Failed);
    let why = failed.next().map_or_else(Notice::default, |step| {
        let why = step.why.as_deref().unwrap_or_default();
        let why = quoted(why, limits::NOTICE_HEAD_CHARS);
        notice!["; ", step.plan.name, " failed: ", why]
    });
    notice![
        named(workflow),
        " ",
        status.told(),
        ": ",
        done,
        " of ",
        workflow.planned().count(),
        " steps done",
        unneeded,
        why,
        ". get_workflow_status has the outputs",
    ]
}

pub(super) fn cancel(
    writer: &mut Writer<'_>,
    me: SessionId,
    id: &WorkflowId,
) -> Result<(), Refusal> {
    let by = leader(writer, me)?;
    let workflow = unended(writer.state, id)?;
    if workflow.cancel_asked && workflow.owner.is_some() {
        return Ok(());
    }
    writer.push(Event::WorkflowCancelAsked { id: id.clone(), by: by.name.clone() });
    if workflow.owner.is_none() {
        cancel_interrupted(writer, me, workflow, &by.name);
    }
    Ok(())
}

/// Ends a workflow that nobody is at.
fn cancel_interrupted(writer: &mut Writer<'_>, me: SessionId, workflow: &Workflow, by: &Name) {
    for step in &workflow.steps {
        if step.status.is_final() {
            continue;
        }
        if let Some(task) = step.task.as_ref().filter(|_| step.status == StepStatus::Running) {
            // A refusal says that it has ended.
            let _ = tasks::cancel(writer, me, task);
        }
        let cancelled = StepMove::Cancel(format!("cancelled by {by}"));
        writer.push(moved(&workflow.id, &step.plan.name, &cancelled));
    }
    writer
        .push(Event::WorkflowEnded { id: workflow.id.clone(), status: WorkflowStatus::Cancelled });
}

pub(super) fn approve(
    writer: &mut Writer<'_>,
    me: SessionId,
    step: &StepOf,
    approval: &Approval,
) -> Result<(), Refusal> {
    let by = leader(writer, me)?;
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
                by: by.name.clone(),
            }));
            Ok(())
        }
        Approval::Refused(reason) => {
            let reason = reason.as_deref().map(|reason| format!(": {reason}"));
            let why = format!("not approved{}", reason.unwrap_or_default());
            let why = why.chars().take(limits::WHY_CHARS).collect();
            let mut after = workflow.clone();
            let event = moved(&after.id, name, &StepMove::Cancel(why));
            after.take(&event, writer.now.wall_ms);
            writer.push(event);
            write_end_if_over(writer, &after);
            Ok(())
        }
    }
}

/// The sentence that asks for approval.
fn told_asking(workflow: &Workflow, step: &Name) -> Notice {
    notice![
        named(workflow),
        ": the step `",
        *step,
        "` waits for your user's approval. Ask them, then call approve_step; get_workflow_status \
            shows the output so far",
    ]
}

/// Names a workflow, with what its author calls it.
fn named(workflow: &Workflow) -> Notice {
    let name = quoted(&workflow.name, limits::NOTICE_HEAD_CHARS);
    notice![workflow.id, " (", name, ")"]
}

pub(super) fn resume(
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

/// Tells a newcomer that can lead which workflows nobody is at.
pub(super) fn show_interrupted(writer: &mut Writer<'_>, newcomer: SessionId) {
    let Ok(newcomer) = leader(writer, newcomer) else {
        return;
    };
    let interrupted = writer.state.workflows().into_iter();
    let interrupted = interrupted.filter(|workflow| workflow.status == WorkflowStatus::Interrupted);
    let texts = told_in_few(interrupted.map(told_interrupted).collect());
    for text in texts {
        writer.notice(&newcomer.name, text);
    }
}

/// Tells the other orchestrators which workflows somebody leaves.
pub(super) fn tell_left(writer: &mut Writer<'_>, leaving: &Session) {
    let sessions = writer.state.live_sessions().into_iter();
    let others = sessions
        .filter(|session| session.kind == MemberKind::Orchestrator && session.id != leaving.id);
    let others: Vec<_> = others.map(|session| session.name.clone()).collect();
    tell_interrupted(writer, leaving, &others);
}

/// Tells others which workflows somebody who hangs does not lead any more, and the session itself, for when it is back.
pub(super) fn tell_hung(writer: &mut Writer<'_>, hung: &Session, mut others: Vec<Name>) {
    others.push(hung.name.clone());
    tell_interrupted(writer, hung, &others);
}

fn tell_interrupted(writer: &mut Writer<'_>, leader: &Session, told: &[Name]) {
    let workflows = writer.state.workflows_of(leader.id);
    let texts = told_in_few(workflows.map(told_interrupted).collect());
    for text in texts {
        writer.notice_to_each(told, &text);
    }
}

/// Keeps the first of many notices, and counts the others in one more.
fn told_in_few(mut texts: Vec<Notice>) -> Vec<Notice> {
    let more = texts.len().saturating_sub(limits::NOTICE_IDS);
    texts.truncate(limits::NOTICE_IDS);
    match more {
        0 => {}
        1 => texts.push(notice![
            "and 1 more workflow was interrupted; get_workflow_status lists \
            all"
        ]),
        more => texts.push(notice![
            "and ",
            more,
            " more workflows were interrupted; get_workflow_status lists all"
        ]),
    }
    texts
}

fn told_interrupted(workflow: &Workflow) -> Notice {
    let over = workflow.planned();
    let over = over.filter(|step| step.status.is_final()).count();
    notice![
        named(workflow),
        " was interrupted with ",
        over,
        " of ",
        workflow.planned().count(),
        " steps finished: resume_workflow continues it, cancel_workflow ends it",
    ]
}

fn leader<'a>(writer: &Writer<'a>, me: SessionId) -> Result<&'a Session, Refusal> {
    let session = writer.session(me)?;
    if session.kind == MemberKind::Orchestrator { Ok(session) } else { Err(Refusal::CannotLead) }
}

fn unended<'a>(state: &'a State, id: &WorkflowId) -> Result<&'a Workflow, Refusal> {
    let workflow = state.workflow(id).ok_or_else(|| Refusal::UnknownWorkflow { id: id.clone() })?;
    if workflow.status.is_final() {
        let (id, status) = (id.clone(), workflow.status);
        return Err(Refusal::WorkflowOver { id, status });
    }
    Ok(workflow)
}

fn known_step<'a>(workflow: &'a Workflow, name: &Name) -> Result<&'a StepRun, Refusal> {
    workflow
        .step(name)
        .ok_or_else(|| Refusal::UnknownStep { id: workflow.id.clone(), step: name.clone() })
}

fn led_by_another(workflow: &Workflow) -> Refusal {
    Refusal::LedByAnother { id: workflow.id.clone(), by: workflow.by.clone() }
}

fn elsewhere(step: &StepRun) -> Refusal {
    Refusal::StepElsewhere { step: step.plan.name.clone(), status: step.status }
}
