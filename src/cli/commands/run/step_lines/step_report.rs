//! A line for every change of a step.

use std::collections::BTreeMap;
use std::time::Duration;

use super::attempt_end::{AttemptEnd, BELOW_TIME, safe_reason, with_reason};
use crate::bus::state::{StepRun, Workflow};
use crate::domain::ids::TaskId;
use crate::domain::name::Name;
use crate::domain::workflow::{Again, StepStatus};

/// Where a step's approval comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli::commands::run) enum ApprovalFrom {
    /// From `--yes`, without a question.
    Option,
    /// From the person at this terminal.
    Terminal,
    /// From elsewhere: there is no terminal to ask at.
    Elsewhere,
}

/// The changes reported so far.
pub(in crate::cli::commands::run) struct StepReport {
    reported: BTreeMap<Name, Reported>,
    approval: ApprovalFrom,
}

/// A step as it was last reported.
struct Reported {
    status: StepStatus,
    attempts: u32,
    approved: bool,
    /// How often it went back to wait for another attempt, for each kind of reason.
    returns: [(Again, u32); 4],
    agent: Option<Name>,
    task: Option<TaskId>,
}

impl StepReport {
    /// Makes the report of a run that has just begun.
    pub(in crate::cli::commands::run) fn new(approval: ApprovalFrom) -> Self {
        Self { reported: BTreeMap::new(), approval }
    }

    /// Returns the lines for the changes since the last call. `class` returns the class of a task's error.
    pub(in crate::cli::commands::run) fn lines(
        &mut self,
        workflow: &Workflow,
        since: Duration,
        class: impl Fn(&TaskId) -> Option<String>,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        let mut add = |text| lines.push(format!("{:>7.1} s  {text}", since.as_secs_f64()));
        for step in in_order_of_ends(workflow) {
            let name = &step.plan.name;
            let before = self.reported.insert(name.clone(), Reported::of(step));
            // An attempt may fail and the next one begin between two calls.
            if let Some(ended) = before.as_ref().and_then(|before| before.ended(step, &class)) {
                add(format!("{name}: {}", ended.in_full()));
            }
            // Between two looks it may be approved and begin.
            if step.approved && !before.as_ref().is_some_and(|before| before.approved) {
                add(format!("{name} is approved"));
            }
            let is_news = match (&before, step.status) {
                (_, StepStatus::Asking) if self.approval == ApprovalFrom::Option => false,
                // That is no news, or its approval or the end of its attempt has a line.
                (_, StepStatus::Waiting) => false,
                (None, _) => true,
                (Some(before), status) => {
                    (before.status, before.attempts) != (status, step.attempts)
                }
            };
            if is_news {
                add(line(step, self.approval));
            }
        }
        lines
    }
}

/// Returns the steps in their order, but a step for each item of a list that has ended after the last of its items: both may end
/// between two looks.
fn in_order_of_ends(workflow: &Workflow) -> Vec<&StepRun> {
    let list_of = |step: &StepRun| step.item.as_ref().map(|item| item.of.clone());
    let mut last_items = BTreeMap::new();
    for (place, step) in workflow.steps.iter().enumerate() {
        last_items.extend(list_of(step).map(|list| (list, place)));
    }
    let place_of = |(place, step): &(usize, &StepRun)| {
        let last = last_items.get(&step.plan.name).filter(|_| step.status.is_final());
        last.map_or((*place, false), |last| (*last.max(place), true))
    };
    let mut steps: Vec<_> = workflow.steps.iter().enumerate().collect();
    steps.sort_by_key(place_of);
    steps.into_iter().map(|(_, step)| step).collect()
}

impl Reported {
    fn of(step: &StepRun) -> Self {
        Self {
            status: step.status,
            attempts: step.attempts,
            approved: step.approved,
            returns: [
                (Again::Fallback, step.passed),
                (Again::Repeat, step.rounds),
                (Again::Interrupted, step.interruptions),
                (Again::Retry, step.failures),
            ],
            agent: step.agent.clone(),
            task: step.task.clone(),
        }
    }

    /// Returns the end of the last attempt after which the step waited for another one since then.
    fn ended<'s>(
        &'s self,
        step: &'s StepRun,
        class: impl Fn(&TaskId) -> Option<String>,
    ) -> Option<AttemptEnd<'s>> {
        let now = Self::of(step).returns;
        let (again, _) = *now.iter().zip(&self.returns).find(|(now, then)| now.1 > then.1)?.0;
        // The reason of a step that is over is that of its end.
        let number = match step.status {
            StepStatus::Running => step.attempts.checked_sub(1)?,
            StepStatus::Waiting | StepStatus::Asking => step.attempts,
            _ => return None,
        };
        let is_known = self.attempts == number;
        let has_begun = number > 0 && !(is_known && self.status == StepStatus::Waiting);
        let task = self.task.as_ref().filter(|_| is_known && has_begun);
        Some(AttemptEnd {
            number,
            has_begun,
            agent: self.agent.as_ref().filter(|_| is_known && has_begun),
            again,
            class: task.and_then(class),
            why: step.why.as_deref().unwrap_or_default(),
        })
    }
}

impl ApprovalFrom {
    /// Says how a step is approved.
    fn how(self) -> &'static str {
        match self {
            Self::Option => "--yes gives it",
            Self::Terminal => "answer here, or with `cli-team-bridge allow` in another terminal",
            Self::Elsewhere => {
                "answer with `cli-team-bridge allow` in another terminal, or run with --yes"
            }
        }
    }
}

/// Returns the line of a step's state.
fn line(step: &StepRun, approval: ApprovalFrom) -> String {
    let agent =
        step.agent.as_ref().map_or_else(|| step.planned_agent().to_owned(), ToString::to_string);
    let why = safe_reason(step.why.as_deref().unwrap_or_default(), BELOW_TIME);
    let name = &step.plan.name;
    match step.status {
        StepStatus::Running if step.attempts > 1 => {
            format!("{name} is running again ({agent}, attempt {})", step.attempts)
        }
        StepStatus::Running => format!("{name} is running ({agent})"),
        StepStatus::Done => format!("{name} is done"),
        StepStatus::Waiting => format!("{name} is waiting"),
        StepStatus::Asking => format!("{name} waits for approval: {}", approval.how()),
        status => with_reason(format!("{name} {}", status.phrase()), &why),
    }
}
