//! Workflows and the progress of their steps. Which moves are possible is decided by the rules.

use serde::{Deserialize, Serialize};

use super::apply::At;
use super::{BodyRef, State};
use crate::bus::event::{Created, Event, StepEnded, StepExpanded, StepReturned, StepStarted};
use crate::domain::ids::{SessionId, TaskId, WorkflowId};
use crate::domain::limits;
use crate::domain::member::MemberKind;
use crate::domain::name::Name;
use crate::domain::workflow::{Again, PlanFile, Step, StepStatus, WorkflowStatus};

/// A workflow without its prompts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workflow {
    pub id: WorkflowId,
    /// What it is called.
    pub name: String,
    /// Who is told of its end: who made it, or resumed it last.
    pub by: Name,
    /// The session that leads it; none once it is interrupted or over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<SessionId>,
    pub status: WorkflowStatus,
    /// Whether its end is asked for.
    pub cancel_asked: bool,
    /// Its steps, in the order in which they were written.
    pub steps: Vec<StepRun>,
    /// Where the prompts are.
    pub prompts: BodyRef,
    /// The file of the project that its gates come from, whose yes each of them needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_file: Option<PlanFile>,
    /// When it was made, in wall time.
    pub created_ms: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<i64>,
}

/// The list that a step is expanded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Items {
    /// How many items it has.
    pub count: u32,
    /// Where the items are.
    pub list: BodyRef,
}

/// Which item of a list a step is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// The step that is expanded.
    pub of: Name,
    /// Its place in the list, counted from 1.
    pub number: u32,
}

/// Whether a step can begin as far as the others are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness<'a> {
    Ready,
    /// Others have to come to their ends before.
    Waits,
    /// It never can: this one did not end well.
    Stopped(&'a StepRun),
}

/// A step and its progress. The items of an expanded step follow it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRun {
    /// As it was planned.
    pub plan: Step,
    /// The item that it is for, when it is not of the plan itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<Item>,
    /// The list that it is expanded for, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Items>,
    pub status: StepStatus,
    /// How often it was begun.
    pub attempts: u32,
    /// How many attempts failed that count.
    pub failures: u32,
    /// How many attempts were interrupted.
    pub interruptions: u32,
    /// How many agents could not do it: the place of the next one in `agent` and `fallback`.
    pub passed: u32,
    /// Whether the last attempt was interrupted, so that the same agent may go on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// How often its gate did not hold and it was done again for that.
    #[serde(default)]
    pub rounds: u32,
    /// What the next attempt has to know of the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    /// Whether somebody has approved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approved: bool,
    /// The last attempt's task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Who has or had it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Name>,
    /// The session that began the last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_by: Option<SessionId>,
    /// When the last attempt was assigned, in wall time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<i64>,
    /// What went wrong last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl StepRun {
    fn planned(plan: Step) -> Self {
        Self {
            plan,
            item: None,
            items: None,
            status: StepStatus::Waiting,
            attempts: 0,
            failures: 0,
            interruptions: 0,
            passed: 0,
            interrupted: false,
            rounds: 0,
            feedback: None,
            approved: false,
            task: None,
            agent: None,
            begun_by: None,
            started_ms: None,
            ended_ms: None,
            why: None,
        }
    }

    /// Returns the profile or the live agent that is to do it.
    pub fn wanted(&self) -> &str {
        let all = std::iter::once(&self.plan.agent).chain(&self.plan.fallback);
        let passed = usize::try_from(self.passed).unwrap_or(usize::MAX);
        all.take(passed.saturating_add(1)).last().map_or("", String::as_str)
    }

    /// Says whether it still needs an approval.
    pub fn needs_approval(&self) -> bool {
        self.plan.approve.is_some() && !self.approved
    }

    /// Says whether a fallback is left that has not been tried.
    pub fn has_fallback(&self) -> bool {
        usize::try_from(self.passed).is_ok_and(|passed| passed < self.plan.fallback.len())
    }
}

impl Workflow {
    fn created(created: &Created, at: &At) -> Self {
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
            created_ms: at.ts,
            ended_ms: None,
        }
    }

    /// Returns a step by its name.
    pub fn step(&self, name: &Name) -> Option<&StepRun> {
        self.steps.iter().find(|step| step.plan.name == *name)
    }

    /// Returns all steps that a step depends on, directly or not, with all items that these were done for.
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

    /// Returns the steps of the plan, without the items that some are done for.
    pub fn planned(&self) -> impl Iterator<Item = &StepRun> {
        self.steps.iter().filter(|step| step.item.is_none())
    }

    /// Returns the steps that do the items of a step's list.
    pub fn items_of<'a>(&'a self, step: &StepRun) -> impl Iterator<Item = &'a StepRun> {
        let name = step.items.map(|_| step.plan.name.clone());
        self.steps.iter().filter(move |other| {
            let item = other.item.as_ref();
            item.is_some_and(|item| Some(&item.of) == name.as_ref())
        })
    }

    /// Says whether a step can begin as far as those that it depends on are concerned.
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

    /// Expands a step: each item of the list becomes a step.
    fn expand(&mut self, expanded: &StepExpanded, at: &At) {
        let place = self.steps.iter().position(|step| {
            let plan = &step.plan;
            plan.name == expanded.step && plan.for_each.is_some() && step.items.is_none()
        });
        let Some(place) = place else {
            return;
        };
        // More are refused before they are written.
        let most = u32::try_from(limits::MAX_ITEMS).unwrap_or(u32::MAX);
        let count = expanded.count.min(most);
        let step = &mut self.steps[place];
        step.status = StepStatus::Running;
        step.attempts = step.attempts.saturating_add(1);
        step.started_ms = Some(at.ts);
        step.ended_ms = None;
        step.items = Some(Items { count, list: at.body(&expanded.items) });
        let plan = step.plan.clone();
        let items = (1..=count).map(|number| StepRun {
            item: Some(Item { of: plan.name.clone(), number }),
            ..StepRun::planned(plan.for_item(number))
        });
        let behind = place + 1;
        self.steps.splice(behind..behind, items);
    }

    /// Removes the items of an expanded step: it is done again, perhaps for other items.
    fn drop_items(&mut self, name: &Name) {
        if let Some(step) = self.steps.iter_mut().find(|step| step.plan.name == *name)
            && step.items.take().is_some()
        {
            let is_item = |step: &StepRun| step.item.as_ref().is_some_and(|item| item.of == *name);
            self.steps.retain(|step| !is_item(step));
        }
    }

    /// Applies an event of a step. `now_ms` is wall time.
    pub(in crate::bus) fn take(&mut self, event: &Event, now_ms: i64) {
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
                step.status = StepStatus::Running;
                step.attempts = step.attempts.saturating_add(1);
                step.interrupted = false;
                step.task = Some(task.clone());
                step.agent = Some(agent.clone());
                step.begun_by = owner;
                step.started_ms = Some(now_ms);
                step.ended_ms = None;
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
                step.status = StepStatus::Waiting;
                step.why = Some(why.clone());
                let name = step.plan.name.clone();
                self.drop_items(&name);
            }
            Event::StepEnded(StepEnded { status, why, .. }) => {
                step.status = *status;
                step.ended_ms = Some(now_ms);
                step.why.clone_from(why);
            }
            _ => {}
        }
    }
}

impl State {
    /// Returns a workflow, if the state still has it.
    pub fn workflow(&self, id: &WorkflowId) -> Option<&Workflow> {
        self.workflows.get(id)
    }

    /// Returns every workflow that the state has, the newest first.
    pub fn workflows(&self) -> Vec<&Workflow> {
        let mut all: Vec<_> = self.workflows.values().collect();
        all.sort_by_key(|workflow| std::cmp::Reverse(workflow.created_ms));
        all
    }

    /// Returns the workflows that a session leads.
    pub fn workflows_of(&self, owner: SessionId) -> impl Iterator<Item = &Workflow> {
        let all = self.workflows.values();
        all.filter(move |workflow| workflow.owner == Some(owner))
    }

    /// Says whether a session may read what was said in a task: an orchestrator, or the agent of a running step that comes after
    /// the task's step.
    pub fn may_read_output(&self, reader: SessionId, task: &TaskId) -> bool {
        let Some(reader) = self.session(reader) else {
            return false;
        };
        if reader.kind == MemberKind::Orchestrator {
            return true;
        }
        let is_readers = |step: &&StepRun| {
            step.status == StepStatus::Running && step.agent.as_ref() == Some(&reader.name)
        };
        let running = self.workflows.values().filter(|all| !all.status.is_final());
        running
            .flat_map(|workflow| {
                let steps = workflow.steps.iter().filter(is_readers);
                steps.flat_map(|step| workflow.before(step))
            })
            .any(|before| before.task.as_ref() == Some(task))
    }

    /// Says whether any workflow has not ended.
    pub(in crate::bus) fn has_unended_workflows(&self) -> bool {
        self.workflows.len() > self.ended_workflows.len()
    }

    /// Applies an event about a workflow.
    pub(super) fn workflow_event(&mut self, event: &Event, at: &At) {
        match event {
            Event::WorkflowCreated(created) => {
                let workflow = Workflow::created(created, at);
                self.workflows.entry(created.id.clone()).or_insert(workflow);
            }
            Event::WorkflowResumed(resumed) => {
                if let Some(workflow) = self.unended(&resumed.id) {
                    workflow.by = resumed.by.clone();
                    workflow.owner = Some(resumed.owner);
                    workflow.status = WorkflowStatus::Running;
                }
            }
            Event::WorkflowCancelAsked { id, .. } => {
                if let Some(workflow) = self.unended(id) {
                    workflow.cancel_asked = true;
                }
            }
            Event::WorkflowEnded { id, status } => self.workflow_ended(id, *status, at),
            Event::StepExpanded(expanded) => {
                if let Some(workflow) = self.unended(&expanded.workflow) {
                    workflow.expand(expanded, at);
                }
            }
            event => {
                if let Some((id, _)) = event.step_of()
                    && let Some(workflow) = self.unended(id)
                {
                    workflow.take(event, at.ts);
                }
            }
        }
    }

    fn unended(&mut self, id: &WorkflowId) -> Option<&mut Workflow> {
        let workflow = self.workflows.get_mut(id)?;
        (!workflow.status.is_final()).then_some(workflow)
    }

    fn workflow_ended(&mut self, id: &WorkflowId, status: WorkflowStatus, at: &At) {
        let Some(workflow) = self.unended(id) else {
            return;
        };
        workflow.status = status;
        workflow.owner = None;
        workflow.ended_ms = Some(at.ts);
        self.ended_workflows.push_back(id.clone());
        while self.ended_workflows.len() > limits::KEPT_WORKFLOWS {
            if let Some(oldest) = self.ended_workflows.pop_front() {
                self.workflows.remove(&oldest);
            }
        }
    }

    /// Interrupts the workflows of a session that has left or hangs: another orchestrator can take them over.
    pub(super) fn workflows_left_by(&mut self, session: SessionId) {
        for workflow in self.workflows.values_mut() {
            if workflow.owner == Some(session) {
                workflow.owner = None;
                workflow.status = WorkflowStatus::Interrupted;
            }
        }
    }
}
