//! Decides the next actions of a workflow: a pure function of the state and the tasks.
//!
//! It remembers nothing. The owner of a workflow asks again after every change, performs the actions, and may die at any moment:
//! the next owner asks the same question and gets the same answer.

use std::collections::BTreeSet;

use crate::bus::state::{Readiness, StepRun, Workflow};
use crate::domain::ids::TaskId;
use crate::domain::limits;
use crate::domain::name::Name;
use crate::domain::task::{TaskError, TaskStatus, error_class};
use crate::domain::text::counted::counted;
use crate::domain::workflow::{Again, StepMove, StepStatus};
use crate::workflow::plan::evaluate_condition::ConditionResult;

/// Classes of errors after which another agent may do better: the agent is missing, has no login or quota left, or has crashed.
const AGENTS_OWN: [&str; 11] = [
    "start",
    "crashed",
    "timeout",
    error_class::AGENT,
    error_class::AUTH,
    error_class::LIMIT,
    error_class::MODE,
    error_class::MODEL,
    error_class::QUOTA,
    error_class::SILENT,
    error_class::UNAVAILABLE,
];

/// The progress of the task of a running step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskSeen {
    /// It is queued or in its turn, and no cancel is requested.
    Going,
    /// A cancel is requested.
    Ending,
    /// Its time is up, and no cancel is requested.
    Overdue,
    Ended(TaskEnd),
    /// It is done, and the step's gate is running.
    Gating,
    /// It is done, and the gate succeeded or failed for this reason.
    Gated(Result<(), String>),
}

/// How a task ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskEnd {
    pub status: TaskStatus,
    pub error: Option<TaskError>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Record a change of a step.
    Move(Name, StepMove),
    /// Assign a step to an agent.
    Start(Name),
    /// Expand a step: find its list, and run the step for each item.
    Expand(Name),
    /// Request the cancel of a task.
    CancelTask(TaskId),
    /// Run the gate of a step whose task is done.
    Gate(Name),
}

/// Returns the next actions. `width` is how many tasks may run at once; `seen` is called for steps whose task runs, `evaluated` for
/// the conditions of steps that could begin.
///
/// Moves come alone, as they may change the other actions; the next call returns those.
pub fn next(
    workflow: &Workflow,
    width: usize,
    seen: impl Fn(&StepRun) -> TaskSeen,
    evaluated: impl Fn(&StepRun) -> ConditionResult,
) -> Vec<Action> {
    if workflow.owner.is_none() || workflow.status.is_final() {
        return Vec::new();
    }
    let (mut moves, mut others) = (Vec::new(), Vec::new());
    for step in &workflow.steps {
        if step.status != StepStatus::Running {
            continue;
        }
        let name = step.plan.name.clone();
        if step.items.is_some() {
            moves.extend(after_items(workflow, step));
            continue;
        }
        match seen(step) {
            TaskSeen::Ended(end)
                if end.status == TaskStatus::Done
                    && step.plan.gate.is_some()
                    && !workflow.cancel_asked =>
            {
                others.push(Action::Gate(name));
            }
            TaskSeen::Ended(end) => {
                moves.push(Action::Move(name, after_end(workflow, step, &end)));
            }
            TaskSeen::Gating | TaskSeen::Gated(_) if workflow.cancel_asked => {
                let why = "the workflow was cancelled".to_owned();
                moves.push(Action::Move(name, StepMove::Cancel(why)));
            }
            TaskSeen::Gated(Ok(())) => moves.push(Action::Move(name, StepMove::Finish)),
            TaskSeen::Gated(Err(why)) => moves.extend(after_gate(workflow, step, &why)),
            TaskSeen::Overdue => others.extend(step.task.clone().map(Action::CancelTask)),
            TaskSeen::Going if workflow.cancel_asked => {
                others.extend(step.task.clone().map(Action::CancelTask));
            }
            TaskSeen::Going | TaskSeen::Ending | TaskSeen::Gating => {}
        }
    }
    moves.extend(stopped(workflow));
    if !moves.is_empty() {
        // Two rounds may repeat the same step.
        let mut known = BTreeSet::new();
        moves.retain(|action| match action {
            Action::Move(name, _) => known.insert(name.clone()),
            _ => true,
        });
        return moves;
    }
    // Only now: a repeated round may reset the dependencies of steps that look ready.
    let begin = beginnings(workflow, width, evaluated);
    if !begin.moves.is_empty() {
        return begin.moves;
    }
    others.extend(begin.starts);
    others
}

/// Returns the moves of steps that can no longer begin.
fn stopped(workflow: &Workflow) -> impl Iterator<Item = Action> {
    let steps = workflow.steps.iter();
    let waiting =
        steps.filter(|step| matches!(step.status, StepStatus::Waiting | StepStatus::Asking));
    waiting.filter_map(|step| {
        let name = step.plan.name.clone();
        if workflow.cancel_asked {
            let why = "the workflow was cancelled".to_owned();
            return Some(Action::Move(name, StepMove::Cancel(why)));
        }
        let Readiness::Stopped(cause) = workflow.readiness(step) else {
            return None;
        };
        let why = format!("{} {}", cause.plan.name, cause.status.phrase());
        Some(Action::Move(name, StepMove::Skip(why)))
    })
}

/// The actions for steps that wait for no other step.
#[derive(Default)]
struct Beginnings {
    moves: Vec<Action>,
    starts: Vec<Action>,
}

/// Returns the steps to begin, up to the width, and the moves of steps that are not needed. A step with `for_each` takes no slot
/// itself.
///
/// Evaluating a condition reads an output, so a step without a slot is not evaluated yet.
fn beginnings(
    workflow: &Workflow,
    width: usize,
    evaluated: impl Fn(&StepRun) -> ConditionResult,
) -> Beginnings {
    let mut all = Beginnings::default();
    let running = workflow.steps.iter();
    let running = running.filter(|step| step.status == StepStatus::Running && step.items.is_none());
    let mut free = width.saturating_sub(running.count());
    let waiting = workflow.steps.iter().filter(|step| {
        step.status == StepStatus::Waiting
            && !workflow.cancel_asked
            && workflow.readiness(step) == Readiness::Ready
    });
    let mut waiting: Vec<_> = waiting.collect();
    // The agent of an interrupted step is resumed before a new one gets its name.
    waiting.sort_by_key(|step| !step.interrupted);
    for step in waiting {
        let takes_slot = step.plan.for_each.is_none() && !step.needs_approval();
        if takes_slot && free == 0 {
            continue;
        }
        // The condition of a step is evaluated once for all its items.
        let evaluated = match (&step.plan.when, &step.item) {
            (Some(_), None) => evaluated(step),
            _ => ConditionResult::Holds,
        };
        let name = step.plan.name.clone();
        match evaluated {
            ConditionResult::Later => {}
            ConditionResult::Not(why) => {
                all.moves.push(Action::Move(name, StepMove::Pass(short(&why))));
            }
            ConditionResult::Unclear(why) => {
                all.moves.push(Action::Move(name, StepMove::Fail(short(&why))));
            }
            ConditionResult::Holds if step.needs_approval() => {
                all.moves.push(Action::Move(name, StepMove::Ask));
            }
            ConditionResult::Holds if step.plan.for_each.is_some() => {
                all.starts.push(Action::Expand(name));
            }
            ConditionResult::Holds => {
                free -= 1;
                all.starts.push(Action::Start(name));
            }
        }
    }
    all
}

/// Returns the end of a step with `for_each`, once all its items are over.
fn after_items(workflow: &Workflow, step: &StepRun) -> Option<Action> {
    let (mut count, mut failed) = (0_usize, Vec::new());
    for item in workflow.items_of(step) {
        if !item.status.is_final() {
            return None;
        }
        count += 1;
        if item.status != StepStatus::Done {
            failed.push(item);
        }
    }
    let step_move = match failed.first() {
        None => StepMove::Finish,
        Some(_) if workflow.cancel_asked => {
            StepMove::Cancel("the workflow was cancelled".to_owned())
        }
        Some(first) => {
            let (name, outcome) = (&first.plan.name, first.status.phrase());
            let why = first.why.as_deref().filter(|why| !why.trim().is_empty());
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            let why = format!(
                "{} of {} did not succeed: {name} {outcome}{why}",
                failed.len(),
                counted(count, "item")
            );
            StepMove::Fail(short(&why))
        }
    };
    Some(Action::Move(step.plan.name.clone(), step_move))
}

fn after_end(workflow: &Workflow, step: &StepRun, end: &TaskEnd) -> StepMove {
    let reason = |fallback: &str| {
        let error = end.error.as_ref();
        error.map_or_else(|| fallback.to_owned(), |error| short(&error.message))
    };
    // Tasks begun for an earlier owner ended because that owner did; agents that were starting did not become ready.
    let ended_with_owner = step.begun_by != workflow.owner
        && (end.status != TaskStatus::Failed || class_of(end) == "start");
    match end.status {
        TaskStatus::Done => StepMove::Finish,
        _ if workflow.cancel_asked => StepMove::Cancel("the workflow was cancelled".to_owned()),
        // A task queued behind a turn that does not end has not failed either.
        _ if ended_with_owner || class_of(end) == error_class::STUCK => {
            if step.interruptions < limits::MAX_INTERRUPTIONS {
                StepMove::Again(Again::Interrupted, reason("it was interrupted"))
            } else {
                let times = step.interruptions + 1;
                StepMove::Fail(format!("it was interrupted {}", counted(times, "time")))
            }
        }
        TaskStatus::Cancelled if class_of(end) != "timeout" => {
            StepMove::Cancel(reason("its task was cancelled"))
        }
        _ => after_failure(step, class_of(end), &reason("its task failed")),
    }
}

/// Returns the moves after the gate of a step failed: another round of all steps that it repeats, or a failure.
fn after_gate(workflow: &Workflow, step: &StepRun, why: &str) -> Vec<Action> {
    let name = step.plan.name.clone();
    let Some(repeat) = &step.plan.repeat else {
        return vec![Action::Move(name, after_failure(step, "gate", why))];
    };
    if step.rounds + 1 >= repeat.times {
        let why = format!("after {}, {why}", counted(step.rounds + 1, "round"));
        return vec![Action::Move(name, StepMove::Fail(short(&why)))];
    }
    let done = |name: &&Name| {
        let step = workflow.step(name);
        step.is_some_and(|step| step.status.lets_others())
    };
    let again = |name: &Name| {
        let again = StepMove::Again(Again::Repeat, short(why));
        Action::Move(name.clone(), again)
    };
    // The step's own move comes last: until then the others refer to it.
    let mut moves: Vec<_> = repeat.steps.iter().filter(done).map(again).collect();
    moves.push(again(&name));
    moves
}

fn class_of(end: &TaskEnd) -> &str {
    end.error.as_ref().map_or("", |error| error.class.as_str())
}

/// Returns the move after an attempt of a step failed or could not begin.
pub fn after_failure(step: &StepRun, class: &str, why: &str) -> StepMove {
    let why = short(why);
    if AGENTS_OWN.contains(&class) && step.has_fallback() {
        StepMove::Again(Again::Fallback, why)
    } else if step.failures < step.plan.retries {
        StepMove::Again(Again::Retry, why)
    } else {
        StepMove::Fail(why)
    }
}

/// Returns a sentence cut to the length that the bus allows.
pub(crate) fn short(why: &str) -> String {
    let mut head: String = why.chars().take(limits::WHY_CHARS).collect();
    if head.len() < why.len() {
        head.push('…');
    }
    head
}

#[cfg(test)]
mod tests;
