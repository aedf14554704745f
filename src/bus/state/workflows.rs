//! Workflows: what each step has come to. Which moves are possible is the business of the rules.

use serde::{Deserialize, Serialize};

use super::apply::At;
use super::{BodyRef, State};
use crate::bus::event::{Created, Event, StepEnded, StepReturned, StepStarted};
use crate::domain::id::{SessionId, TaskId, WorkflowId};
use crate::domain::limits;
use crate::domain::member::MemberKind;
use crate::domain::name::Name;
use crate::domain::workflow::{Again, Step, StepStatus, WorkflowStatus};

/// A workflow without its prompts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workflow {
    /// Its id.
    pub id: WorkflowId,
    /// What it is called.
    pub name: String,
    /// Who is told of its end: who made it, or resumed it last.
    pub by: Name,
    /// The session that leads it; none once it is interrupted or over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<SessionId>,
    /// Where it stands.
    pub status: WorkflowStatus,
    /// Whether its end is asked for.
    pub cancel_asked: bool,
    /// Its steps, in the order in which they were written.
    pub steps: Vec<PlayedStep>,
    /// Where the prompts are.
    pub prompts: BodyRef,
    /// When it was made, in wall time.
    pub created_ms: i64,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<i64>,
}

/// A step, and what it has come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlayedStep {
    /// As it was planned.
    pub plan: Step,
    /// Where it stands.
    pub status: StepStatus,
    /// How often it was begun.
    pub attempts: u32,
    /// How many attempts failed that count.
    pub failures: u32,
    /// How many attempts were interrupted.
    pub interruptions: u32,
    /// How many agents could not do it: the place of the next one in `agent` and `fallback`.
    pub passed: u32,
    /// Whether the last attempt was interrupted, so that whoever had it may go on.
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
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<i64>,
    /// What went wrong last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl PlayedStep {
    fn planned(plan: Step) -> Self {
        Self {
            plan,
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

    /// Returns who is to do it: a profile, or a live agent.
    pub fn wanted(&self) -> &str {
        let all = std::iter::once(&self.plan.agent).chain(&self.plan.fallback);
        let passed = usize::try_from(self.passed).unwrap_or(usize::MAX);
        all.take(passed.saturating_add(1))
            .last()
            .map_or("", String::as_str)
    }

    /// Says whether somebody has to approve who has not.
    pub fn needs_approval(&self) -> bool {
        self.plan.approve.is_some() && !self.approved
    }

    /// Says whether somebody else is named for it who has not been tried.
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
            steps: created
                .steps
                .iter()
                .cloned()
                .map(PlayedStep::planned)
                .collect(),
            prompts: at.body(&created.prompts),
            created_ms: at.ts,
            ended_ms: None,
        }
    }

    /// Returns a step by its name.
    pub fn step(&self, name: &Name) -> Option<&PlayedStep> {
        self.steps.iter().find(|step| step.plan.name == *name)
    }

    /// Returns all steps that a step depends on, directly or not.
    pub fn before(&self, step: &PlayedStep) -> Vec<&PlayedStep> {
        let mut found: Vec<&PlayedStep> = Vec::new();
        let mut open: Vec<&Name> = step.plan.depends_on.iter().collect();
        while let Some(next) = open.pop().and_then(|name| self.step(name)) {
            if !found.iter().any(|known| known.plan.name == next.plan.name) {
                open.extend(&next.plan.depends_on);
                found.push(next);
            }
        }
        found
    }

    /// Takes what happens to a step as a fact. `now_ms` is wall time.
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
        let is_readers = |step: &&PlayedStep| {
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

    /// Whoever led them is gone: somebody else can go on with them.
    pub(super) fn workflows_left_by(&mut self, session: SessionId) {
        for workflow in self.workflows.values_mut() {
            if workflow.owner == Some(session) {
                workflow.owner = None;
                workflow.status = WorkflowStatus::Interrupted;
            }
        }
    }
}
