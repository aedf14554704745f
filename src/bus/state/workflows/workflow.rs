//! A workflow without its prompts, and how the events of its steps change it. The rules decide which moves are possible.

use serde::{Deserialize, Serialize};

use super::step_run::{Item, Items};
use crate::bus::event::{
    Created, Event, Resumed, StepEnded, StepExpanded, StepReturned, StepStarted,
};
use crate::bus::state::event_place::At;
use crate::bus::state::{BodyRef, StepRun};
use crate::domain::ids::{SessionId, WorkflowId};
use crate::domain::limits;
use crate::domain::name::Name;
use crate::domain::workflow::{Again, PlanFile, StepStatus, WorkflowStatus};

/// A workflow without its prompts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workflow {
    pub id: WorkflowId,
    pub name: String,
    /// The member that is notified of its end: its creator, or the last one that resumed it.
    pub by: Name,
    /// The session that leads it; none once it is interrupted or over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<SessionId>,
    pub status: WorkflowStatus,
    pub cancel_asked: bool,
    /// Its steps, in the order of the plan.
    pub steps: Vec<StepRun>,
    pub prompts: BodyRef,
    /// The project's plan file that its gates come from. Each gate needs the user's trust in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_file: Option<PlanFile>,
    /// Whether a script plays its agents, to try the plan. Real agents never continue it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_trial: bool,
    /// In wall time.
    pub created_ms: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<i64>,
    /// Since when no session leads it, while it is interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted_ms: Option<i64>,
}

/// Whether the dependencies of a step allow it to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness<'a> {
    Ready,
    /// A dependency has not ended.
    Waits,
    /// It never can: this dependency failed.
    Stopped(&'a StepRun),
}

impl Workflow {
    pub(super) fn created(created: &Created, at: &At) -> Self {
        Self {
            id: created.id.clone(),
            name: created.name.clone(),
            by: created.by.clone(),
            owner: Some(created.owner),
            status: WorkflowStatus::Running,
            cancel_asked: false,
            steps: created.steps.iter().cloned().map(StepRun::planned).collect(),
            prompts: at.body(&created.prompts),
            plan_file: created.plan_file.clone(),
            is_trial: created.is_trial,
            created_ms: at.ts,
            ended_ms: None,
            interrupted_ms: None,
        }
    }

    /// Notes that its owner is gone, and since when.
    pub(super) fn interrupt(&mut self, since_ms: i64) {
        self.owner = None;
        self.status = WorkflowStatus::Interrupted;
        self.interrupted_ms = Some(since_ms);
    }

    /// Notes that it has an owner again. The time without one does not count as time of its running steps.
    pub(super) fn resume(&mut self, resumed: &Resumed, now_ms: i64) {
        self.by = resumed.by.clone();
        self.owner = Some(resumed.owner);
        self.status = WorkflowStatus::Running;
        let Some(since_ms) = self.interrupted_ms.take() else {
            return;
        };
        for step in self.steps.iter_mut().filter(|step| step.status == StepStatus::Running) {
            // A step may have begun after the last sign of life of its owner.
            let from_ms = step.started_ms.map_or(since_ms, |started| started.max(since_ms));
            let pause_ms = now_ms.saturating_sub(from_ms).max(0).unsigned_abs();
            step.paused_ms = Some(step.paused_ms.unwrap_or_default().saturating_add(pause_ms));
        }
    }

    pub fn step(&self, name: &Name) -> Option<&StepRun> {
        self.steps.iter().find(|step| step.plan.name == *name)
    }

    /// Returns all steps that a step depends on, directly or not, and the items of those that were expanded.
    pub fn before(&self, step: &StepRun) -> Vec<&StepRun> {
        let mut found: Vec<&StepRun> = Vec::new();
        let mut open: Vec<&Name> = step.plan.depends_on.iter().collect();
        while let Some(next) = open.pop().and_then(|name| self.step(name)) {
            if !found.iter().any(|known| known.plan.name == next.plan.name) {
                open.extend(&next.plan.depends_on);
                found.push(next);
            }
        }
        let items: Vec<_> = found.iter().flat_map(|step| self.items_of(step)).collect();
        found.extend(items);
        found
    }

    /// Returns whether it is a trial that was interrupted: nothing resumes it, and the next run of a plan ends it.
    pub fn is_interrupted_trial(&self) -> bool {
        self.is_trial && self.status == WorkflowStatus::Interrupted
    }

    /// Returns the steps of the plan, without the items of expanded ones.
    pub fn planned(&self) -> impl Iterator<Item = &StepRun> {
        self.steps.iter().filter(|step| step.item.is_none())
    }

    /// Returns the item steps of an expanded step.
    pub fn items_of<'a>(&'a self, step: &StepRun) -> impl Iterator<Item = &'a StepRun> {
        let name = step.items.map(|_| step.plan.name.clone());
        self.steps.iter().filter(move |other| {
            let item = other.item.as_ref();
            item.is_some_and(|item| Some(&item.of) == name.as_ref())
        })
    }

    pub fn readiness(&self, step: &StepRun) -> Readiness<'_> {
        let mut readiness = Readiness::Ready;
        let before = step.plan.depends_on.iter();
        for before in before.filter_map(|name| self.step(name)) {
            let any_end = step.plan.looks_at_end_of(&before.plan.name);
            if before.status.lets_others() || (any_end && before.status.is_final()) {
                continue;
            }
            if before.status.stops_others() {
                return Readiness::Stopped(before);
            }
            readiness = Readiness::Waits;
        }
        readiness
    }

    /// Expands a step: adds a step for each item of the list.
    pub(super) fn expand(&mut self, expanded: &StepExpanded, at: &At) {
        let place = self.steps.iter().position(|step| {
            let plan = &step.plan;
            plan.name == expanded.step && plan.for_each.is_some() && step.items.is_none()
        });
        let Some(place) = place else {
            return;
        };
        // The rules refuse more.
        let most = u32::try_from(limits::MAX_ITEMS).unwrap_or(u32::MAX);
        let count = expanded.count.min(most);
        let step = &mut self.steps[place];
        step.begins(at.ts);
        step.items = Some(Items { count, list: at.body(&expanded.items) });
        let plan = step.plan.clone();
        let items = (1..=count).map(|number| StepRun {
            item: Some(Item { of: plan.name.clone(), number }),
            ..StepRun::planned(plan.for_item(number))
        });
        let behind = place + 1;
        self.steps.splice(behind..behind, items);
    }

    /// Removes the items of an expanded step, which begins again, perhaps with other items.
    fn drop_items(&mut self, name: &Name) {
        if let Some(step) = self.steps.iter_mut().find(|step| step.plan.name == *name)
            && step.items.take().is_some()
        {
            let is_item = |step: &StepRun| step.item.as_ref().is_some_and(|item| item.of == *name);
            self.steps.retain(|step| !is_item(step));
        }
    }

    /// Applies an event of a step. `now_ms` is wall time.
    pub(in crate::bus) fn apply_step_event(&mut self, event: &Event, now_ms: i64) {
        // The time without an owner counts as little as when it is resumed.
        let led_until_ms = self.interrupted_ms.map_or(now_ms, |since_ms| since_ms.min(now_ms));
        let (owner, steps) = (self.owner, &mut self.steps);
        let step = event
            .step_of()
            .and_then(|(_, name)| steps.iter_mut().find(|step| step.plan.name == *name));
        let Some(step) = step else {
            return;
        };
        match event {
            Event::StepAsked(_) => step.status = StepStatus::Asking,
            Event::StepApproved(_) => {
                step.approved = true;
                step.status = StepStatus::Waiting;
            }
            Event::StepStarted(StepStarted { task, agent, .. }) => {
                step.begins(now_ms);
                step.interrupted = false;
                step.task = Some(task.clone());
                step.agent = Some(agent.clone());
                step.begun_by = owner;
            }
            Event::StepReturned(StepReturned { again, why, .. }) => {
                let counter = match again {
                    Again::Retry => &mut step.failures,
                    Again::Repeat => &mut step.rounds,
                    Again::Fallback => &mut step.passed,
                    Again::Interrupted => &mut step.interruptions,
                };
                *counter = counter.saturating_add(1);
                step.interrupted = *again == Again::Interrupted;
                if matches!(again, Again::Retry | Again::Repeat) {
                    step.feedback = Some(why.clone());
                }
                if *again == Again::Repeat {
                    // Each round may fail as often as the first.
                    step.failures = 0;
                }
                step.attempt_ends(led_until_ms);
                step.status = StepStatus::Waiting;
                step.why = Some(why.clone());
                let name = step.plan.name.clone();
                self.drop_items(&name);
            }
            Event::StepEnded(StepEnded { status, why, .. }) => {
                step.attempt_ends(led_until_ms);
                step.status = *status;
                step.ended_ms = Some(now_ms);
                step.why.clone_from(why);
            }
            _ => {}
        }
    }
}
