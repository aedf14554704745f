//! How the events of workflows change the state, and which sessions may read the outputs of their tasks.

use crate::bus::event::Event;
use crate::bus::state::event_place::At;
use crate::bus::state::{Session, State, StepRun, Task, Workflow};
use crate::domain::ids::{SessionId, TaskId, WorkflowId};
use crate::domain::limits;
use crate::domain::member::MemberKind;
use crate::domain::workflow::{StepStatus, WorkflowStatus};

impl State {
    /// Returns a workflow, if the state still has it.
    pub fn workflow(&self, id: &WorkflowId) -> Option<&Workflow> {
        self.workflows.get(id)
    }

    /// Returns every workflow that the state still has, newest first.
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

    /// Says whether an agent plays its part of a script, in a trial that another session leads.
    pub fn plays_a_trial_of_another(&self, agent: &Session, me: SessionId) -> bool {
        let owner = agent.owner.filter(|owner| *owner != me);
        let mut led = owner.into_iter().flat_map(|owner| self.workflows_of(owner));
        led.any(|workflow| workflow.is_trial && !workflow.status.is_final())
    }

    /// Says whether a session has played its part of a script, as far as its tasks and their workflows are known.
    pub fn has_played_a_trial(&self, agent: SessionId) -> bool {
        self.tasks_of(agent).any(|task| self.is_of_trial(task))
    }

    /// Says whether a session has played its part of a script to the end, or its bridge has left the trial.
    pub fn is_of_ended_trial(&self, agent: SessionId) -> bool {
        let played = self.tasks_of(agent).filter_map(|task| self.workflow(task.workflow.as_ref()?));
        let mut trials = played.filter(|workflow| workflow.is_trial);
        trials.any(|workflow| workflow.status.is_final() || workflow.is_interrupted_trial())
    }

    /// Says whether a script plays a task, as far as its workflow is known.
    pub fn is_of_trial(&self, task: &Task) -> bool {
        let workflow = task.workflow.as_ref().and_then(|id| self.workflow(id));
        workflow.is_some_and(|workflow| workflow.is_trial)
    }

    /// Says whether a session may read the output of a task: an orchestrator, or the agent of a running step that depends on the
    /// task's step.
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
        let unended = self.workflows.values().filter(|workflow| !workflow.status.is_final());
        unended
            .flat_map(|workflow| {
                let steps = workflow.steps.iter().filter(is_readers);
                steps.flat_map(|step| workflow.before(step))
            })
            .any(|before| before.task.as_ref() == Some(task))
    }

    pub(in crate::bus::state) fn workflow_event(&mut self, event: &Event, at: &At) {
        match event {
            Event::WorkflowCreated(created) => {
                let workflow = Workflow::created(created, at);
                self.workflows.entry(created.id.clone()).or_insert(workflow);
            }
            Event::WorkflowResumed(resumed) => {
                if let Some(workflow) = self.unended(&resumed.id) {
                    workflow.resume(resumed, at.ts);
                }
            }
            Event::WorkflowCancelAsked { id, by, human } => {
                if let Some(workflow) = self.unended(id) {
                    workflow.cancel_asked = true;
                    self.cancelled_with_workflow(id, by, *human);
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
                    workflow.apply_step_event(event, at.ts);
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

    /// Interrupts the workflows of a session that has left or hangs since a wall time. Another orchestrator can resume them.
    pub(in crate::bus::state) fn workflows_left_by(&mut self, session: SessionId, since_ms: i64) {
        for workflow in self.workflows.values_mut() {
            if workflow.owner == Some(session) {
                workflow.interrupt(since_ms);
            }
        }
    }
}
