//! The runner: after every change of the bus it asks the engine for the next actions, and performs them.
//!
//! It keeps no lasting state. Each bridge has one runner for all its workflows. It does one thing at a time: each takes a
//! millisecond, as it waits for no agent.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::blocker::{BlockedSince, Blocker, Key};
use super::next_actions::{self, Action, TaskEnd, TaskSeen, after_failure};
use super::placed_steps::PlacedSteps;
use super::prompt_templates::{PromptTemplates, PromptsError};
use super::start_step;
use super::step_inputs::StepInputs;
use crate::bus::rules::{NewItems, Operation};
use crate::bus::state::{StepRun, Task, Workflow};
use crate::bus::{Bus, BusError};
use crate::domain::ids::{TaskId, WorkflowId};
use crate::domain::limits;
use crate::domain::messaging::Author;
use crate::domain::name::Name;
use crate::domain::task::{TaskError, TaskStatus};
use crate::domain::wait_times;
use crate::domain::workflow::{StepMove, StepOf, StepStatus};
use crate::team::{Assignment, Team, TeamError, Where};
use crate::workflow::gate_consent::{self, Barred};
use crate::workflow::plan::evaluate_condition::ConditionResult;

/// Runs all workflows of a team's bridge until `ending` is cancelled.
pub(crate) async fn run(team: Team, ending: CancellationToken) {
    let mut changes = team.bus().changes();
    let mut runner = Runner {
        team,
        prompts: BTreeMap::new(),
        blocked: BlockedSince::default(),
        placed: PlacedSteps::default(),
        turns: BTreeMap::new(),
        overdue: BTreeSet::new(),
        gates: BTreeMap::new(),
        looked: Arc::default(),
        wake: None,
    };
    let looked = Arc::clone(&runner.looked);
    loop {
        changes.borrow_and_update();
        runner.look(&ending).await;
        let until = runner.wake;
        tokio::select! {
            () = ending.cancelled() => return,
            // An error means that the bus is closed, and this process with it.
            closing = changes.changed() => if closing.is_err() { return },
            () = looked.notified() => {}
            () = sleep_until(until) => {}
        }
    }
}

async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(wake) => tokio::time::sleep_until(wake).await,
        None => std::future::pending().await,
    }
}

struct Runner {
    team: Team,
    /// The prompts of the running workflows, read once.
    prompts: BTreeMap<WorkflowId, Arc<PromptTemplates>>,
    /// When steps were blocked because their data cannot be read or stored.
    blocked: BlockedSince,
    /// The steps that wait for other hosts to start their agents.
    placed: PlacedSteps,
    /// When the turns of tasks with a time limit were first seen to run.
    turns: BTreeMap<TaskId, Instant>,
    /// The tasks that were cancelled because their time was up.
    overdue: BTreeSet<TaskId>,
    /// The gates of finished tasks, running or done.
    gates: BTreeMap<TaskId, RunningGate>,
    /// Notified when a gate has ended.
    looked: Arc<Notify>,
    /// When to look again even if nothing changes.
    wake: Option<Instant>,
}

/// A running gate. Dropping it kills its command.
type RunningGate = AbortOnDropHandle<Result<(), String>>;

impl Runner {
    fn bus(&self) -> &Bus {
        self.team.bus()
    }

    /// Performs the next actions of all workflows that this bridge owns.
    async fn look(&mut self, ending: &CancellationToken) {
        self.wake = None;
        self.team.end_stuck().await;
        let me = self.team.membership().session();
        let ids: Vec<_> = self.bus().look(|state| {
            let ours = state.workflows_of(me);
            ours.map(|workflow| workflow.id.clone()).collect()
        });
        self.prompts.retain(|id, _| ids.contains(id));
        self.blocked.retain(&ids);
        if ids.is_empty() {
            self.turns.clear();
            self.overdue.clear();
            self.gates.clear();
        }
        let bus = self.bus().clone();
        let waits = |(id, step): &Key| {
            bus.look(|state| {
                let step = state.workflow(id).and_then(|workflow| workflow.step(step));
                ids.contains(id) && step.is_some_and(|step| step.status == StepStatus::Waiting)
            })
        };
        self.placed.keep(&self.team, waits).await;
        for id in ids {
            while !ending.is_cancelled() && self.advance(&id, ending).await {}
        }
    }

    /// Performs the next actions of a workflow once; returns whether it did anything, after which there may be more to do.
    async fn advance(&mut self, id: &WorkflowId, ending: &CancellationToken) -> bool {
        // It may have another owner by now, for example because this process was suspended.
        let me = self.team.membership().session();
        let is_ours = |workflow: &&Workflow| workflow.owner == Some(me);
        let Some(workflow) = self.bus().look(|state| state.workflow(id).filter(is_ours).cloned())
        else {
            return false;
        };
        let mut seen = Vec::new();
        for step in &workflow.steps {
            seen.push(self.seen(step).await);
        }
        let seen = |step: &StepRun| {
            let mut steps = workflow.steps.iter();
            let at = steps.position(|other| std::ptr::eq(other, step));
            at.and_then(|at| seen[at].clone()).unwrap_or(TaskSeen::Going)
        };
        let inputs = StepInputs { source: &self.team, workflow: &workflow };
        // More steps could not have agents of their own.
        let width = self.bus().look(|state| state.limits().agents);
        let (blocked, later) = (&self.blocked, RefCell::new(Vec::new()));
        let evaluated = |step: &StepRun| match inputs.evaluate_condition(step) {
            Ok(evaluated) => evaluated,
            Err(error) => {
                let key = (id.clone(), step.plan.name.clone());
                if blocked.has_lasted(&key) {
                    return ConditionResult::Unclear(error.message_for_model());
                }
                later.borrow_mut().push(key);
                ConditionResult::Later
            }
        };
        let actions = next_actions::next(&workflow, width, seen, evaluated);
        for key in later.into_inner() {
            self.blocked.note(key);
            self.look_again_soon();
        }
        let (mut moves, mut did) = (Vec::new(), false);
        for action in actions {
            if ending.is_cancelled() {
                return false;
            }
            match action {
                Action::Move(step, step_move) => moves.push((step, step_move)),
                Action::Gate(step) => did |= self.gate(&workflow, step, &mut moves),
                Action::CancelTask(task) => did |= self.cancel_task(&task).await,
                Action::Start(step) => {
                    let begun = self.start(&workflow, &step).await;
                    did |= self.begun(&workflow, step, begun, &mut moves);
                }
                Action::Expand(step) => {
                    let begun = self.expand(&workflow, &step).await;
                    did |= self.begun(&workflow, step, begun, &mut moves);
                }
            }
        }
        // Whole rounds of a loop stay together: the moves before a step's own are below the limit.
        for moves in moves.chunks(limits::MOVES_AT_ONCE) {
            did |= self.write(Operation::MoveSteps(id.clone(), moves.to_vec())).await;
        }
        did
    }

    /// Returns whether a step has begun. If it never can, adds its failure to the moves.
    fn begun(
        &mut self,
        workflow: &Workflow,
        step: Name,
        begun: Result<(), Blocker>,
        moves: &mut Vec<(Name, StepMove)>,
    ) -> bool {
        let key = (workflow.id.clone(), step.clone());
        let begun = match begun {
            Err(Blocker::Now(class, why)) => {
                if self.blocked.note(key) {
                    Err(Blocker::Never(class, why))
                } else {
                    tracing::debug!("the step {step} waits: {why}");
                    Err(Blocker::Busy)
                }
            }
            other => {
                self.blocked.end(&key);
                other
            }
        };
        match begun {
            Ok(()) => return true,
            // What the host does is a change of the bus.
            Err(Blocker::Placed(until)) => self.wake_at(until),
            Err(Blocker::MovedOn | Blocker::Busy | Blocker::Now(..)) => self.look_again_soon(),
            Err(Blocker::Never(class, why)) => {
                if let Some(step_run) = workflow.step(&step) {
                    moves.push((step, after_failure(step_run, class, &why)));
                }
            }
        }
        false
    }

    /// Starts the gate of a step, if it may run; returns whether it has started. If it never can, adds the step's failure to the
    /// moves.
    fn gate(&mut self, workflow: &Workflow, step: Name, moves: &mut Vec<(Name, StepMove)>) -> bool {
        let key = (workflow.id.clone(), step.clone());
        let why = match gate_consent::barred(&self.team, workflow) {
            Ok(()) => {
                self.blocked.end(&key);
                return self.start_gate(workflow, &step);
            }
            Err(Barred::Now(why)) if !self.blocked.note(key) => {
                tracing::debug!("the gate of {step} waits: {why}");
                self.look_again_soon();
                return false;
            }
            Err(Barred::Now(why) | Barred::Ever(why)) => why,
        };
        // Final: neither a retry nor another round restores the approval.
        moves.push((step, StepMove::Fail(next_actions::short(&why))));
        false
    }

    /// Starts the gate of a step.
    fn start_gate(&mut self, workflow: &Workflow, name: &Name) -> bool {
        let step = workflow.step(name);
        let Some((gate, task)) =
            step.and_then(|step| step.plan.gate.clone().zip(step.task.clone()))
        else {
            return false;
        };
        let (team, looked) = (self.team.clone(), Arc::clone(&self.looked));
        let looking = tokio::spawn(async move {
            let limit = Duration::from_secs(gate.timeout_seconds);
            let outcome = team.check(&gate.command, limit).await;
            looked.notify_one();
            outcome
        });
        self.gates.insert(task, AbortOnDropHandle::new(looking));
        true
    }

    /// Returns the progress of the gate of a finished task, if it was started.
    async fn gated(&mut self, task: &TaskId) -> Option<TaskSeen> {
        let looking = self.gates.get_mut(task)?;
        if !looking.is_finished() {
            return Some(TaskSeen::Gating);
        }
        let outcome = looking
            .await
            .unwrap_or_else(|error| Err(format!("the gate hit a bug in the bridge: {error}")));
        self.gates.remove(task);
        Some(TaskSeen::Gated(outcome))
    }

    /// Schedules another look soon.
    fn look_again_soon(&mut self) {
        self.wake_at(Instant::now() + wait_times::RETRY);
    }

    fn wake_at(&mut self, at: Instant) {
        self.wake = Some(self.wake.map_or(at, |wake| wake.min(at)));
    }

    /// Returns the progress of a step's task; `None` if the step does not run.
    async fn seen(&mut self, step: &StepRun) -> Option<TaskSeen> {
        let id = step.task.as_ref()?;
        if step.status != StepStatus::Running {
            self.gates.remove(id);
            return None;
        }
        if let Some(seen) = self.gated(id).await {
            return Some(seen);
        }
        match self.bus().find_task(id) {
            Ok(Some(task)) => Some(self.seen_task(step, &task)),
            // The log no longer has its assignment.
            Ok(None) => {
                Some(TaskSeen::Ended(TaskEnd { status: TaskStatus::Interrupted, error: None }))
            }
            Err(error) => {
                tracing::warn!("failed to look up {id}: {error}");
                self.look_again_soon();
                None
            }
        }
    }

    fn seen_task(&mut self, step: &StepRun, task: &Task) -> TaskSeen {
        // A bridge that hangs does not act on a cancel request.
        let status = if self.bus().look(|state| state.is_cancel_unheard(task)) {
            TaskStatus::Cancelled
        } else {
            task.status
        };
        if status.is_final() {
            self.turns.remove(&task.id);
            let mut error = task.error.clone();
            if self.overdue.contains(&task.id) && status == TaskStatus::Cancelled {
                let seconds = step.plan.timeout_seconds.unwrap_or_default();
                error = Some(TaskError::new("timeout", format!("it took longer than {seconds} s")));
            }
            if let (TaskStatus::Cancelled, None, Some(by)) = (status, &error, &task.cancelled_by) {
                let by = if *by == Author::Human { "the user".to_owned() } else { by.to_string() };
                let why = format!("its task was cancelled by {by}");
                error = Some(TaskError::new("cancelled", why));
            }
            if status == TaskStatus::Cancelled && self.ended_with_host(step, task) {
                let why = "its host ended, and its agent with it";
                let error = Some(TaskError::new("crashed", why));
                return TaskSeen::Ended(TaskEnd { status: TaskStatus::Interrupted, error });
            }
            return TaskSeen::Ended(TaskEnd { status, error });
        }
        if task.cancel_asked {
            return TaskSeen::Ending;
        }
        let limit = step.plan.timeout_seconds.map(Duration::from_secs);
        let Some(limit) = limit.filter(|_| task.status == TaskStatus::Running) else {
            return TaskSeen::Going;
        };
        let now = Instant::now();
        let due = *self.turns.entry(task.id.clone()).or_insert(now) + limit;
        if now < due {
            self.wake_at(due);
            return TaskSeen::Going;
        }
        self.overdue.insert(task.id.clone());
        TaskSeen::Overdue
    }

    /// Says whether nobody has cancelled the task of a step, but its host has ended, and stopped its agents before.
    fn ended_with_host(&self, step: &StepRun, task: &Task) -> bool {
        step.plan.host.is_some()
            && !task.cancel_asked
            && match &task.cancelled_by {
                None => true,
                Some(Author::Member(by)) => self.bus().look(|state| state.stops_as_host(by)),
                Some(_) => false,
            }
    }

    async fn cancel_task(&mut self, id: &TaskId) -> bool {
        match self.team.cancel_task(id, Duration::ZERO).await {
            Ok(()) => true,
            // The task has ended, which the next look sees.
            Err(TeamError::Bus(BusError::Refused(_))) => {
                self.look_again_soon();
                false
            }
            Err(error) => {
                tracing::warn!("failed to cancel {id}: {error}");
                self.look_again_soon();
                false
            }
        }
    }

    /// Records an event of the bridge; returns whether it is on the bus.
    async fn write(&mut self, operation: Operation) -> bool {
        match self.team.membership().ask(operation).await {
            Ok(_) => return true,
            Err(BusError::Refused(refusal)) => tracing::debug!(
                "the bus refused a workflow event: \
                {refusal}"
            ),
            Err(error) => tracing::warn!("failed to record a workflow event: {error}"),
        }
        self.look_again_soon();
        false
    }

    /// Assigns a step to an agent.
    async fn start(&mut self, workflow: &Workflow, name: &Name) -> Result<(), Blocker> {
        let Some(step) = workflow.step(name) else {
            return Err(Blocker::MovedOn);
        };
        let key = (workflow.id.clone(), name.clone());
        if let Some(blocker) = self.placed.look(&self.team, &key).await {
            return Err(blocker);
        }
        let hosts = self.team.hosts();
        let host = start_step::host_of(&self.team, &hosts, step)?;
        let prompts = self.prompts_of(workflow)?;
        let template = prompts.of_step(workflow, name).unwrap_or_default();
        let inputs = StepInputs { source: &self.team, workflow };
        let prompt = inputs.prompt(step, template)?;
        let assignment = Assignment {
            agent: step.planned_agent().to_owned(),
            prompt,
            model: step.plan.model.clone(),
            fresh: step.plan.fresh,
            step: Some(StepOf { workflow: workflow.id.clone(), step: name.clone() }),
            ..Assignment::default()
        };
        let Where::There(bridge) = host else {
            return start_step::give(&self.team, step, assignment).await;
        };
        match start_step::give_to_host(&self.team, bridge, assignment).await? {
            None => Ok(()),
            Some(task) => Err(Blocker::Placed(self.placed.note(key, task, bridge.name.clone()))),
        }
    }

    /// Expands a step: from here on it runs for each item of its list.
    async fn expand(&self, workflow: &Workflow, name: &Name) -> Result<(), Blocker> {
        let Some(step) = workflow.step(name) else {
            return Err(Blocker::MovedOn);
        };
        let inputs = StepInputs { source: &self.team, workflow };
        let (items, count) = inputs.list(step)?;
        let items = NewItems { count, items: self.bus().long_body(items).await? };
        let step = StepOf { workflow: workflow.id.clone(), step: name.clone() };
        let expanded = self.team.membership().ask(Operation::ExpandStep(step, items)).await;
        expanded.map(|_| ()).map_err(|error| Blocker::of(error.into()))
    }

    fn prompts_of(&mut self, workflow: &Workflow) -> Result<Arc<PromptTemplates>, Blocker> {
        if let Some(prompts) = self.prompts.get(&workflow.id) {
            return Ok(Arc::clone(prompts));
        }
        let prompts = PromptTemplates::read(&self.team, workflow).map_err(|error| match error {
            PromptsError::Bus(error) => Blocker::from(error),
            PromptsError::Damaged(_) => Blocker::Never("bus", error.to_string()),
        })?;
        let prompts = Arc::new(prompts);
        self.prompts.insert(workflow.id.clone(), Arc::clone(&prompts));
        Ok(prompts)
    }
}
