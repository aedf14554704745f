//! What happens next in a workflow: a pure function of what the log says and what has come of the tasks.
//!
//! It remembers nothing. Whoever leads a workflow asks again after every change, does what it says, and may die at any moment: the
//! next one asks the same question and gets the same answer.

use std::collections::BTreeSet;

use crate::bus::state::{Readiness, StepRun, Workflow};
use crate::domain::ids::TaskId;
use crate::domain::limits;
use crate::domain::name::Name;
use crate::domain::task::{TaskError, TaskStatus, error_class};
use crate::domain::workflow::{Again, StepMove, StepStatus};
use crate::workflow::plan::evaluate_condition::ConditionResult;

/// Kinds of errors after which another agent may do better: the agent is missing, has no login or quota left, or has crashed.
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

/// What has come of the task of a step that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskSeen {
    /// It is queued or in its turn, and its end is not asked for.
    Going,
    /// Its end is asked for.
    Ending,
    /// It has had its time, and its end is not asked for.
    Overdue,
    Ended(TaskEnd),
    /// It is done, and the step's gate is being looked at.
    Gating,
    /// It is done, and so is the gate: it holds, or this is why not.
    Gated(Result<(), String>),
}

/// How a task ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskEnd {
    pub status: TaskStatus,
    pub error: Option<TaskError>,
}

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Say what happens to a step.
    Move(Name, StepMove),
    /// Give a step to an agent.
    Start(Name),
    /// Find the list of a step, which then is done for each item of it.
    Expand(Name),
    /// Ask for the end of a task.
    CancelTask(TaskId),
    /// Look whether the gate of a step holds whose task is done.
    Gate(Name),
}

/// Says what happens next. `width` is how many of its tasks may run at once; `seen` is asked about steps whose task runs, `weighed`
/// about the conditions of steps that could begin.
///
/// Moves come alone, as they may change what else is to be done; the next look says that.
pub fn next(
    workflow: &Workflow,
    width: usize,
    seen: impl Fn(&StepRun) -> TaskSeen,
    weighed: impl Fn(&StepRun) -> ConditionResult,
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
        // Two rounds may want the same step again.
        let mut known = BTreeSet::new();
        moves.retain(|action| match action {
            Action::Move(name, _) => known.insert(name.clone()),
            _ => true,
        });
        return moves;
    }
    // Only now: a round that begins anew takes back what a step waited for that looked ready.
    let begin = beginnings(workflow, width, weighed);
    if !begin.moves.is_empty() {
        return begin.moves;
    }
    others.extend(begin.starts);
    others
}

/// Returns the moves of steps that wait in vain.
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

/// What is to be done with the steps that wait for no other.
#[derive(Default)]
struct Beginnings {
    moves: Vec<Action>,
    starts: Vec<Action>,
}

/// Says what begins, as much as may run at once, and what is not needed. One that is done for a list takes no place itself.
///
/// A condition costs a look at what was said, so one that finds no place is not weighed yet.
fn beginnings(
    workflow: &Workflow,
    width: usize,
    weighed: impl Fn(&StepRun) -> ConditionResult,
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
        let takes_place = step.plan.for_each.is_none() && !step.needs_approval();
        if takes_place && free == 0 {
            continue;
        }
        // For its items a step is weighed once.
        let weighed = match (&step.plan.when, &step.item) {
            (Some(_), None) => weighed(step),
            _ => ConditionResult::Holds,
        };
        let name = step.plan.name.clone();
        match weighed {
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

/// Says how a step ends that is done for a list, once all items are over.
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
            let (name, told) = (&first.plan.name, first.status.phrase());
            let why = first.why.as_deref().unwrap_or_default();
            let why =
                format!("{} of {count} items did not succeed: {name} {told}: {why}", failed.len());
            StepMove::Fail(short(&why))
        }
    };
    Some(Action::Move(step.plan.name.clone(), step_move))
}

fn after_end(workflow: &Workflow, step: &StepRun, end: &TaskEnd) -> StepMove {
    let told = |fallback: &str| {
        let error = end.error.as_ref();
        error.map_or_else(|| fallback.to_owned(), |error| short(&error.message))
    };
    // Tasks that were begun for an earlier leader ended because that one did; agents that were coming up did not come up.
    let ended_with_leader = step.begun_by != workflow.owner
        && (end.status != TaskStatus::Failed || class_of(end) == "start");
    match end.status {
        TaskStatus::Done => StepMove::Finish,
        _ if workflow.cancel_asked => StepMove::Cancel("the workflow was cancelled".to_owned()),
        // Nor has a task failed that was behind a turn which does not end.
        _ if ended_with_leader || class_of(end) == error_class::STUCK => {
            if step.interruptions < limits::MAX_INTERRUPTIONS {
                StepMove::Again(Again::Interrupted, told("it was interrupted"))
            } else {
                let times = step.interruptions + 1;
                StepMove::Fail(format!("it was interrupted {times} times"))
            }
        }
        TaskStatus::Cancelled if class_of(end) != "timeout" => {
            StepMove::Cancel(told("its task was cancelled"))
        }
        _ => after_failure(step, class_of(end), &told("its task failed")),
    }
}

/// Says what follows when the gate of a step does not hold: another round of all that the step repeats, or a failure.
fn after_gate(workflow: &Workflow, step: &StepRun, why: &str) -> Vec<Action> {
    let name = step.plan.name.clone();
    let Some(repeat) = &step.plan.repeat else {
        return vec![Action::Move(name, after_failure(step, "gate", why))];
    };
    if step.rounds + 1 >= repeat.times {
        let why = format!("after {} rounds, {why}", step.rounds + 1);
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
    // Its own comes last: until then it is the reason for the others.
    let mut moves: Vec<_> = repeat.steps.iter().filter(done).map(again).collect();
    moves.push(again(&name));
    moves
}

fn class_of(end: &TaskEnd) -> &str {
    end.error.as_ref().map_or("", |error| error.class.as_str())
}

/// Says what follows when an attempt of a step failed, or could not begin.
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

/// Returns the beginning of a sentence, as it may go on the bus.
pub(crate) fn short(why: &str) -> String {
    let mut head: String = why.chars().take(limits::WHY_CHARS).collect();
    if head.len() < why.len() {
        head.push('…');
    }
    head
}

#[cfg(test)]
mod tests;
