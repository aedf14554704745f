//! The workflows of one bridge: made, resumed, cancelled and looked up here; led to their ends by the runner.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::error::WorkflowError;
use super::gate_consent;
use super::plan::toml_plan;
use super::plan::{self, Draft, Plan};
use super::run::runner;
use crate::bus::event::{Body, Event};
use crate::bus::rules::{Approval, NewWorkflow, Operation, Refusal};
use crate::bus::state::{State, Workflow};
use crate::bus::{Bus, BusError};
use crate::config::{Brought, Resume};
use crate::domain::ids::WorkflowId;
use crate::domain::wait_times;
use crate::domain::workflow::{PlanFile, Step, StepOf, WorkflowStatus};
use crate::team::Team;

/// The workflows that one bridge leads. Cheap to clone.
#[derive(Clone)]
pub struct Workflows {
    inner: Arc<Inner>,
}

struct Inner {
    team: Team,
    /// Whether the runner was started.
    led: AtomicBool,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Workflows {
    /// Makes the workflows of a team. Nothing runs before the first is made or resumed.
    pub fn new(team: Team) -> Self {
        let inner = Inner {
            team,
            led: AtomicBool::new(false),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Returns the team whose agents do the steps.
    pub fn team(&self) -> &Team {
        &self.inner.team
    }

    /// Checks a draft against the members and profiles there are now, and changes nothing.
    pub fn plan(&self, draft: Draft) -> Result<Plan, WorkflowError> {
        self.bus().refresh()?;
        Ok(plan::validate(draft, &self.inner.team.candidates())?)
    }

    /// Reads a plan file of the project and checks it against the members and profiles there are now, and changes nothing. Returns the plan, and what was
    /// read.
    pub fn plan_in_file(&self, given: &str) -> Result<(Plan, Brought), WorkflowError> {
        self.bus().refresh()?;
        let (written, brought) = toml_plan::read_in(self.inner.team.ground(), given)?;
        let plan = plan::validate(written.draft.clone(), &self.inner.team.candidates())
            .map_err(|problems| written.locate(&problems))?;
        Ok((plan, brought))
    }

    /// Refuses steps whose agents the project's own file describes, unless the user has said yes to it.
    fn agreed<'a>(&self, steps: impl IntoIterator<Item = &'a Step>) -> Result<(), WorkflowError> {
        let agents =
            steps.into_iter().flat_map(|step| std::iter::once(&step.agent).chain(&step.fallback));
        Ok(self.inner.team.agreed(agents.map(String::as_str))?)
    }

    /// Makes a workflow and begins to lead it. It is on disk when this returns.
    pub async fn create(&self, plan: Plan) -> Result<Workflow, WorkflowError> {
        self.make(plan, None).await
    }

    /// Does the same with a plan that was read from a file of the project, whose gates need the user's yes from now on.
    pub async fn create_from(&self, plan: Plan, file: &Brought) -> Result<Workflow, WorkflowError> {
        let file = gate_consent::agreed(&self.inner.team, &plan, file)?;
        self.make(plan, file).await
    }

    async fn make(
        &self,
        plan: Plan,
        plan_file: Option<PlanFile>,
    ) -> Result<Workflow, WorkflowError> {
        self.agreed(&plan.steps)?;
        let prompts = serde_json::to_string(&plan.prompts).expect("texts are plain data");
        let new = NewWorkflow {
            name: plan.name,
            steps: plan.steps,
            prompts: Body::Text(prompts),
            plan_file,
        };
        let membership = self.inner.team.membership();
        let receipt = membership.ask(Operation::CreateWorkflow(Box::new(new))).await?;
        let id = receipt.events.iter().find_map(|event| match event {
            Event::WorkflowCreated(created) => Some(created.id.clone()),
            _ => None,
        });
        let id = id.ok_or(BusError::Closed)?;
        self.lead();
        self.find(&id)
    }

    /// Goes on with a workflow whose leader has ended. What is done is not done again.
    pub async fn resume(&self, id: &WorkflowId) -> Result<Workflow, WorkflowError> {
        // The death of its leader may not have been noticed yet.
        self.bus().reap_dead_sessions().await?;
        let workflow = self.find(id)?;
        let left = workflow.steps.iter().filter(|step| !step.status.is_final());
        self.agreed(left.map(|step| &step.plan))?;
        gate_consent::agreed_again(&self.inner.team, &workflow)?;
        let membership = self.inner.team.membership();
        membership.ask(Operation::ResumeWorkflow(id.clone())).await?;
        self.lead();
        self.find(id)
    }

    /// Goes on with every workflow that is interrupted, now and later, where the configuration wants that; until it is dropped.
    pub async fn keep_resumed(&self) {
        if self.inner.team.config().resume() == Resume::Ask {
            return std::future::pending().await;
        }
        let mut changes = self.bus().changes();
        loop {
            changes.borrow_and_update();
            let (mut refused, mut unreadable) = (false, false);
            for id in self.bus().look(interrupted) {
                // Another orchestrator may have been faster.
                if let Err(error) = self.resume(&id).await {
                    tracing::debug!("failed to resume {id}: {error}");
                    refused = true;
                    unreadable |= error.is_unreadable();
                }
            }
            if refused {
                tokio::time::sleep(wait_times::RESUME_WORKFLOW_AGAIN).await;
            }
            // What can be read again makes no change of the bus.
            if unreadable {
                continue;
            }
            if changes.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Asks for the end of a workflow, and waits for it for a while: running steps are cancelled.
    pub async fn cancel(
        &self,
        id: &WorkflowId,
        limit: Duration,
    ) -> Result<Workflow, WorkflowError> {
        self.bus().reap_dead_sessions().await?;
        let membership = self.inner.team.membership();
        membership.ask(Operation::CancelWorkflow(id.clone())).await?;
        self.wait(id, limit).await
    }

    /// Says whether a step that asks for it may begin.
    pub async fn approve(&self, step: StepOf, approval: Approval) -> Result<(), WorkflowError> {
        let membership = self.inner.team.membership();
        membership.ask(Operation::ApproveStep(step, approval)).await?;
        Ok(())
    }

    /// Waits until a workflow is over, or until the limit; returns how it is then.
    pub async fn wait(&self, id: &WorkflowId, limit: Duration) -> Result<Workflow, WorkflowError> {
        let deadline = Instant::now() + limit;
        let mut changes = self.bus().changes();
        loop {
            changes.borrow_and_update();
            let workflow = self.find(id)?;
            if workflow.status.is_final() {
                return Ok(workflow);
            }
            match tokio::time::timeout_at(deadline, changes.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return self.find(id),
            }
        }
    }

    /// Returns a workflow, also one that ended so long ago that the state has forgotten it.
    pub fn find(&self, id: &WorkflowId) -> Result<Workflow, WorkflowError> {
        let found = self.bus().find_workflow(id)?;
        found.ok_or_else(|| Refusal::UnknownWorkflow { id: id.clone() }.into())
    }

    /// Stops leading, so that the workflows are interrupted as they are. Returns when nothing more is done for them.
    pub async fn stop(&self) {
        self.inner.stop.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }

    /// Stops leading, then ends all agents of the team gracefully; by force when `force_stop` resolves, whatever is waited for then.
    pub async fn shutdown(&self, force_stop: impl Future<Output = ()>) {
        // First, so that the ends of agents do not look like failures of steps.
        self.inner.team.shutdown_after(self.stop(), force_stop).await;
    }

    /// Stops leading and ends all agents, without a word to the bus: it is not there any more.
    pub fn end_at_once(&self) {
        self.inner.stop.cancel();
        self.inner.team.end_at_once();
    }

    fn bus(&self) -> &Bus {
        self.inner.team.bus()
    }

    /// Starts the runner, if nothing runs yet.
    fn lead(&self) {
        if !self.inner.led.swap(true, Ordering::Relaxed) {
            let (team, stop) = (self.inner.team.clone(), self.inner.stop.clone());
            self.inner.tasks.spawn(runner::run(team, stop));
        }
    }
}

fn interrupted(state: &State) -> Vec<WorkflowId> {
    let all = state.workflows().into_iter();
    let interrupted = all.filter(|workflow| workflow.status == WorkflowStatus::Interrupted);
    interrupted.map(|workflow| workflow.id.clone()).collect()
}
