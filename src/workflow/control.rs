//! The workflows of one bridge. They are created, resumed, cancelled and looked up here; the runner carries them out.

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
use super::run::upcoming_prompt::upcoming_prompt;
use crate::bus::event::{Body, Event};
use crate::bus::rules::{Approval, NewWorkflow, Operation, Refusal};
use crate::bus::state::{State, Workflow};
use crate::bus::{Bus, BusError};
use crate::config::{Brought, Resume};
use crate::domain::ids::WorkflowId;
use crate::domain::name::Name;
use crate::domain::wait_times;
use crate::domain::workflow::{PlanFile, Step, StepOf, WorkflowStatus};
use crate::team::Team;

/// The workflows that one bridge owns. Cheap to clone.
#[derive(Clone)]
pub struct Workflows {
    inner: Arc<Inner>,
}

struct Inner {
    team: Team,
    /// Whether the runner has been started.
    has_runner: AtomicBool,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Workflows {
    /// Makes the workflows of a team. Nothing runs before the first is created or resumed.
    pub fn new(team: Team) -> Self {
        let inner = Inner {
            team,
            has_runner: AtomicBool::new(false),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Returns the team whose agents carry out the steps.
    pub fn team(&self) -> &Team {
        &self.inner.team
    }

    /// Checks a draft against the current members and profiles. Changes nothing.
    pub fn plan(&self, draft: Draft) -> Result<Plan, WorkflowError> {
        self.bus().refresh()?;
        Ok(plan::validate(draft, &self.inner.team.candidates())?)
    }

    /// Reads a plan file of the project and checks it against the current members and profiles. Changes nothing. Returns the plan,
    /// and the identity of the bytes that were read.
    pub fn plan_in_file(&self, given: &str) -> Result<(Plan, Brought), WorkflowError> {
        self.bus().refresh()?;
        let (written, brought) = toml_plan::read_in(self.inner.team.ground(), given)?;
        let plan = plan::validate(written.draft.clone(), &self.inner.team.candidates())
            .map_err(|problems| written.locate(&problems))?;
        Ok((plan, brought))
    }

    /// Refuses steps whose agents the project's own file defines, unless the user has approved that file.
    fn agreed<'a>(&self, steps: impl IntoIterator<Item = &'a Step>) -> Result<(), WorkflowError> {
        let agents = steps.into_iter().flat_map(Step::agents_here);
        Ok(self.inner.team.agreed(agents.map(String::as_str))?)
    }

    /// Creates a workflow and starts running it. It is on disk when this returns.
    pub async fn create(&self, plan: Plan) -> Result<Workflow, WorkflowError> {
        self.make(plan, None).await
    }

    /// Does the same with a plan from a file of the project. From now on its gates need the user's approval of that file.
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
            is_trial: self.inner.team.config().plays_script(),
        };
        let membership = self.inner.team.membership();
        let receipt = membership.ask(Operation::CreateWorkflow(Box::new(new))).await?;
        let id = receipt.events.iter().find_map(|event| match event {
            Event::WorkflowCreated(created) => Some(created.id.clone()),
            _ => None,
        });
        let id = id.ok_or(BusError::Closed)?;
        self.start_runner();
        self.find(&id)
    }

    /// Resumes a workflow whose owner has ended. Finished steps are not repeated.
    pub async fn resume(&self, id: &WorkflowId) -> Result<Workflow, WorkflowError> {
        // The death of its owner may not have been noticed yet.
        self.bus().reap_dead_sessions().await?;
        let workflow = self.find(id)?;
        if workflow.is_trial && !self.inner.team.config().plays_script() {
            return Err(WorkflowError::Trial { id: id.clone() });
        }
        let left = workflow.steps.iter().filter(|step| !step.status.is_final());
        self.agreed(left.map(|step| &step.plan))?;
        gate_consent::agreed_again(&self.inner.team, &workflow)?;
        let membership = self.inner.team.membership();
        membership.ask(Operation::ResumeWorkflow(id.clone())).await?;
        self.start_runner();
        self.find(id)
    }

    /// Resumes every interrupted workflow, now and later, if the configuration says so; until it is dropped.
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
            // A file that becomes readable causes no change of the bus.
            if unreadable {
                continue;
            }
            if changes.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Cancels a workflow and its running steps, and waits up to a limit for its end.
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

    /// Approves or refuses a step that waits for approval.
    pub async fn approve(&self, step: StepOf, approval: Approval) -> Result<(), WorkflowError> {
        let membership = self.inner.team.membership();
        membership.ask(Operation::ApproveStep(step, approval)).await?;
        Ok(())
    }

    /// Waits until a workflow is over, or until the limit; returns its state then.
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

    /// Returns a workflow, even if it ended so long ago that the state has forgotten it.
    pub fn find(&self, id: &WorkflowId) -> Result<Workflow, WorkflowError> {
        let found = self.bus().find_workflow(id)?;
        found.ok_or_else(|| Refusal::UnknownWorkflow { id: id.clone() }.into())
    }

    /// Returns the prompt that a step would get now, or its template as long as its inputs are unknown; `None` if it cannot be read.
    pub fn prompt_of(&self, workflow: &Workflow, name: &Name) -> Option<String> {
        upcoming_prompt(&self.inner.team, workflow, name)
    }

    /// Stops the runner, which leaves the workflows interrupted. Returns when it does nothing more.
    pub async fn stop(&self) {
        self.inner.stop.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }

    /// Stops the runner, then stops all agents of the team gracefully; by force once `force_stop` resolves, whatever it waits for
    /// then.
    pub async fn shutdown(&self, force_stop: impl Future<Output = ()>) {
        // First the runner, so that the ends of agents do not look like failures of steps.
        self.inner.team.shutdown_after(self.stop(), force_stop).await;
    }

    /// Stops the runner and kills all agents, without writing to the bus: it is already closed.
    pub fn end_at_once(&self) {
        self.inner.stop.cancel();
        self.inner.team.end_at_once();
    }

    fn bus(&self) -> &Bus {
        self.inner.team.bus()
    }

    /// Starts the runner, if it does not run yet.
    fn start_runner(&self) {
        if !self.inner.has_runner.swap(true, Ordering::Relaxed) {
            let (team, stop) = (self.inner.team.clone(), self.inner.stop.clone());
            self.inner.tasks.spawn(runner::run(team, stop));
        }
    }
}

fn interrupted(state: &State) -> Vec<WorkflowId> {
    let all = state.workflows().into_iter();
    let interrupted =
        all.filter(|workflow| workflow.status == WorkflowStatus::Interrupted && !workflow.is_trial);
    interrupted.map(|workflow| workflow.id.clone()).collect()
}
