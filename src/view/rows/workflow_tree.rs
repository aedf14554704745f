//! A workflow as a tree: its steps in the order of the plan, each with the steps that it waits for.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::status_counts::status_counts;
use super::step_note::step_note;
use crate::bus::state::{State, StepRun, Task, Workflow};
use crate::domain::ids::SessionId;
use crate::domain::limits;
use crate::domain::member::HOST_NAME_BYTES;
use crate::domain::text::counted::counted;
use crate::domain::text::visible_letters::{beginning, quoted};
use crate::domain::workflow::{StepStatus, WorkflowStatus};
use crate::view::{Moment, StatusLook};
use crate::view::{going_on, took};

/// Says how many trials were interrupted, and that nobody can go on with them.
pub fn trials_in_words(number: usize) -> String {
    let which = if number == 1 { "which cannot" } else { "none of which can" };
    format!("{}, {which} be resumed", counted(number, "interrupted trial"))
}

/// A workflow.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WorkflowTree {
    pub workflow_id: String,
    pub name: String,
    /// running, interrupted, done, failed or cancelled.
    pub status: String,
    /// Whether the process that leads it has ended, which no session has recorded yet: then it can be resumed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_gone: bool,
    /// The member that created it, or resumed it last.
    pub by: String,
    /// Whether a script plays its agents.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_trial: bool,
    pub created_at: Moment,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Moment>,
    /// Steps of the plan that are done or not needed.
    pub steps_done: usize,
    /// Steps of the plan.
    pub steps_total: usize,
    /// The steps, and after each the items of its list.
    pub steps: Vec<StepNode>,
}

/// A step of a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StepNode {
    pub name: String,
    /// The step that was expanded for a list, if this is for one item of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_of: Option<String>,
    /// The agent that does it, or is meant to.
    pub agent: String,
    /// Of a step that its plan gives to another host: the machine of its agent, or before it begins the host as the plan names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// waiting, asking, running, done, failed, unneeded, skipped or cancelled.
    #[schemars(with = "String")]
    pub status: StepStatus,
    /// Whether it was running when the process that led its workflow ended: nobody goes on with it until somebody resumes that.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_gone: bool,
    /// The steps that have to end before it begins.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// How often it was begun.
    pub attempts: u32,
    /// The last attempt's task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Moment>,
    /// Since when it would have been running if its attempts had followed each other without a pause, if it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running_since: Option<Moment>,
    /// For how many milliseconds all its attempts ran, once it is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
    /// Why the last attempt failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it waits for, what its agent is doing besides plain work, or why it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl WorkflowTree {
    /// Makes the tree of a workflow.
    pub fn of(workflow: &Workflow, state: &State) -> Self {
        let is_over =
            |step: &&StepRun| matches!(step.status, StepStatus::Done | StepStatus::Unneeded);
        let steps = workflow.steps.iter();
        let steps = steps.map(|step| {
            let mut step = StepNode::of(workflow, step, state);
            if workflow.status == WorkflowStatus::Interrupted {
                step.loses_its_leader(workflow.is_trial);
            }
            step
        });
        Self {
            workflow_id: workflow.id.to_string(),
            name: beginning(&workflow.name, limits::WORKFLOW_NAME_CHARS),
            status: workflow.status.as_str().to_owned(),
            is_gone: false,
            by: workflow.by.to_string(),
            is_trial: workflow.is_trial,
            created_at: Moment(workflow.created_ms),
            ended_at: workflow.ended_ms.map(Moment),
            steps_done: workflow.planned().filter(is_over).count(),
            steps_total: workflow.planned().count(),
            steps: steps.collect(),
        }
    }

    /// Notes whether the process that leads it lives.
    #[must_use]
    pub fn led_by(mut self, workflow: &Workflow, is_held: &dyn Fn(SessionId) -> bool) -> Self {
        let is_led = workflow.owner.is_some_and(is_held);
        self.is_gone = workflow.status == WorkflowStatus::Running && !is_led;
        if self.is_gone {
            self.steps.iter_mut().for_each(|step| step.loses_its_leader(workflow.is_trial));
        }
        self
    }

    /// Returns how it is, in a word.
    pub fn state(&self) -> &str {
        if self.is_gone { "gone" } else { &self.status }
    }

    /// Says whether it has not ended, and no live process leads it.
    pub fn has_no_leader(&self) -> bool {
        self.is_gone || self.status == WorkflowStatus::Interrupted.as_str()
    }

    /// Says how it goes on, or ends, if no live process leads it: with this command, or by itself.
    pub fn way_on(&self) -> Option<(&'static str, Option<String>)> {
        self.has_no_leader().then(|| {
            if self.is_trial {
                return ("A trial cannot be resumed; the next run of a plan ends it.", None);
            }
            let command = format!("cli-team-bridge run --resume {}", self.workflow_id);
            ("Nobody leads it. This resumes it:", Some(command))
        })
    }

    /// Says how many steps of the plan are done, and how the others that are over ended.
    pub fn progress(&self) -> String {
        // The items of a step count as that step.
        let planned = self.steps.iter().filter(|step| step.item_of.is_none());
        let (mut done, mut ended) = (0_usize, Vec::new());
        for step in planned {
            match step.status {
                StepStatus::Done => done += 1,
                status if status.is_final() => ended.push(status),
                _ => {}
            }
        }
        let done = format!("{done} of {} done", counted(self.steps_total, "step"));
        if ended.is_empty() {
            return done;
        }
        format!("{done}, {}", status_counts(ended.into_iter()))
    }
}

/// Returns where the agent of a step is, or is to be, if its plan names a host.
pub fn host_of_step(step: &StepRun, task: Option<&Task>) -> Option<String> {
    let planned = step.plan.host.as_ref()?;
    // A fallback may have been started where the workflow runs.
    let machine = task.and_then(|task| task.host.clone());
    machine.or_else(|| (step.passed == 0).then(|| planned.clone()))
}

impl StepNode {
    fn of(workflow: &Workflow, step: &StepRun, state: &State) -> Self {
        let planned = || step.planned_agent().to_owned();
        let depends_on = step.plan.depends_on.iter();
        Self {
            name: step.plan.name.to_string(),
            item_of: step.item.as_ref().map(|item| item.of.to_string()),
            agent: step.agent.as_ref().map_or_else(planned, ToString::to_string),
            host: host_of_step(step, step.task.as_ref().and_then(|id| state.task(id))),
            status: step.status,
            is_gone: false,
            depends_on: depends_on.map(ToString::to_string).collect(),
            attempts: step.attempts,
            task_id: step.task.as_ref().map(ToString::to_string),
            started_at: step.started_ms.map(Moment),
            ended_at: step.ended_ms.map(Moment),
            running_since: step.running_since_ms().map(Moment),
            took_ms: step.took_ms(),
            reason: step.why.as_ref().map(|why| beginning(why, limits::WHY_CHARS)),
            note: step_note(workflow, step, state),
        }
    }

    /// Returns its agent, and where that is if its plan gives it to another host.
    pub fn agent_in_words(&self) -> String {
        let host = self.host.as_ref();
        let host = host.map(|host| format!(" on {}", quoted(host, HOST_NAME_BYTES)));
        format!("{}{}", self.agent, host.unwrap_or_default())
    }

    /// Nobody goes on with it until somebody resumes its workflow, which nobody can do with a trial.
    fn loses_its_leader(&mut self, is_trial: bool) {
        let until = match self.status {
            StepStatus::Running | StepStatus::Waiting if is_trial => "a trial cannot be resumed",
            StepStatus::Running => "until somebody resumes its workflow",
            StepStatus::Waiting => "for somebody who resumes its workflow",
            _ => return,
        };
        self.is_gone = self.status == StepStatus::Running;
        self.running_since = None;
        let waits_for_others = self.note.as_ref().filter(|_| !self.is_gone);
        let waits_for_others = waits_for_others.filter(|_| !self.depends_on.is_empty());
        if waits_for_others.is_none() {
            self.note = Some(until.to_owned());
        }
    }

    /// Returns how it is, in a word.
    pub fn state(&self) -> &'static str {
        if self.is_gone { "gone" } else { self.status.as_str() }
    }

    /// Returns the mark of its state, and its meaning.
    pub fn look(&self) -> StatusLook {
        StatusLook::of(self.state())
    }

    /// Returns how long it has been running, or how long all its attempts took; empty if it has not begun, or waits again.
    pub fn time(&self, now: Moment) -> String {
        match (self.running_since, self.took_ms) {
            (Some(since), _) => going_on(Duration::from_millis(since.until(now))),
            (None, Some(ms)) => took(Duration::from_millis(ms)),
            (None, None) => String::new(),
        }
    }

    /// Says which attempt runs, or how many there were, if it was begun more than once.
    pub fn attempts_in_words(&self) -> Option<String> {
        (self.attempts > 1).then(|| match self.status {
            StepStatus::Running => format!("attempt {}", self.attempts),
            _ => counted(self.attempts, "attempt"),
        })
    }

    /// Returns its attempts and its note.
    pub fn remarks(&self) -> String {
        let remarks = [self.attempts_in_words(), self.note.clone()];
        remarks.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(status: StepStatus, depends_on: &[&str], note: &str) -> StepNode {
        StepNode {
            name: "build".to_owned(),
            item_of: None,
            agent: "ann".to_owned(),
            host: None,
            status,
            is_gone: false,
            depends_on: depends_on.iter().map(|name| (*name).to_owned()).collect(),
            attempts: 1,
            task_id: None,
            started_at: Some(Moment(0)),
            ended_at: None,
            running_since: (status == StepStatus::Running).then_some(Moment(0)),
            took_ms: None,
            reason: None,
            note: Some(note.to_owned()).filter(|note| !note.is_empty()),
        }
    }

    #[test]
    fn a_step_whose_leader_has_gone_runs_no_longer_and_says_who_goes_on_with_it() {
        let gone = |mut step: StepNode| {
            step.loses_its_leader(false);
            (step.state(), step.time(Moment(9_000)), step.note.unwrap_or_default())
        };
        let until = "until somebody resumes its workflow".to_owned();
        let running = step(StepStatus::Running, &[], "waits for a message");
        assert_eq!(running.time(Moment(9_000)), "9s");
        assert_eq!(gone(running), ("gone", String::new(), until));
        let for_somebody = "for somebody who resumes its workflow".to_owned();
        let free = step(StepStatus::Waiting, &[], "for a free slot");
        assert_eq!(gone(free), ("waiting", String::new(), for_somebody));
        let after = step(StepStatus::Waiting, &["plan"], "for plan");
        assert_eq!(gone(after), ("waiting", String::new(), "for plan".to_owned()));
        let done = step(StepStatus::Done, &[], "");
        assert_eq!(gone(done).0, "done");
        let mut of_trial = step(StepStatus::Running, &[], "");
        of_trial.loses_its_leader(true);
        assert_eq!(of_trial.note.as_deref(), Some("a trial cannot be resumed"));
    }
}
