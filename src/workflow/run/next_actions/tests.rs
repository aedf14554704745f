//! Runs random plans to their ends through the rules of the bus, with tasks that end and owners that die at any time.

mod cases;
mod drawn;

use std::collections::BTreeMap;

use proptest::prelude::*;
use uuid::Uuid;

use self::drawn::{Drawn, Fate, Happens, ROUNDS, Wants, drawn, happens};
use super::*;
use crate::bus::event::{Body, Entry, Event, Starting, StepReturned, StepStarted, TaskReport};
use crate::bus::rules::{
    Command, Ending, NameChoice, NewAgent, NewItems, NewMember, NewTask, NewWorkflow, Operation,
    decide,
};
use crate::bus::state::State;
use crate::bus::storage::LogPosition;
use crate::domain::ids::{CommandId, SessionId, WorkflowId};
use crate::domain::member::{Departure, MemberKind};
use crate::domain::time::{Now, Tick};
use crate::domain::workflow::{
    Field, Gate, Relation, Repeat, Step, StepOf, StepReference, When, WorkflowStatus,
};

/// How many tasks may run at once.
const WIDTH: usize = 8;

fn name_of(number: usize) -> Name {
    Name::parse(&format!("step-{number}")).unwrap()
}

fn number_of(name: &Name) -> usize {
    let number = name.as_str()[5..].split('.').next().unwrap();
    number.parse().unwrap()
}

/// The rules of the bus, and the bridge that owns the workflow.
struct World {
    state: State,
    seq: u64,
    ids: u128,
    lead: SessionId,
    workflow: WorkflowId,
    drawn: Vec<Drawn>,
    /// How often each step has begun, and been reset.
    begun: BTreeMap<Name, u32>,
    returned: BTreeMap<Name, u32>,
    /// How often a step failed by its fate.
    failed: BTreeMap<Name, u32>,
    /// The outcomes of gates.
    gates: BTreeMap<TaskId, Result<(), String>>,
}

impl World {
    fn new(drawn: Vec<Drawn>) -> Self {
        let mut world = Self {
            state: State::default(),
            seq: 1,
            ids: 0,
            lead: SessionId(Uuid::nil()),
            workflow: WorkflowId::from_bits(0),
            drawn,
            begun: BTreeMap::new(),
            returned: BTreeMap::new(),
            failed: BTreeMap::new(),
            gates: BTreeMap::new(),
        };
        world.lead = world.join();
        let steps = world.drawn.iter().enumerate().map(|(number, drawn)| {
            let before: Vec<_> = drawn.depends_on.iter().copied().map(name_of).collect();
            let mut step = Step::new(name_of(number), "codex", &before);
            step.retries = drawn.retries;
            if drawn.fallback {
                step.fallback = vec!["claude".into()];
            }
            let first = before.first().cloned();
            let source = |field| first.clone().map(|step| StepReference { step, field });
            step.when = drawn.when.and_then(|wants| {
                let (field, value) = match wants {
                    Wants::Status(status) => (Field::Status, status.as_str()),
                    Wants::Output(_) => (Field::Output, ""),
                };
                Some(When {
                    source: source(field)?,
                    relation: Relation::Is,
                    value: value.to_owned(),
                })
            });
            step.for_each = drawn.items.and_then(|_| source(Field::Json(Vec::new())));
            if matches!(drawn.fate, Fate::Gated(_)) {
                step.gate = Some(Gate { command: Vec::new(), timeout_seconds: 1 });
                step.repeat = drawn.repeat.then(|| Repeat {
                    times: ROUNDS,
                    steps: first.filter(|_| drawn.items.is_none()).into_iter().collect(),
                });
            }
            step
        });
        let new = NewWorkflow {
            name: "test".into(),
            steps: steps.collect(),
            prompts: Body::Text(String::new()),
            plan_file: None,
            is_trial: false,
        };
        let lead = world.lead;
        let events = world.ask(lead, Operation::CreateWorkflow(Box::new(new)));
        let Some(Event::WorkflowCreated(created)) = events.first() else { panic!("{events:?}") };
        world.workflow = created.id.clone();
        world
    }

    fn fresh(&mut self) -> Uuid {
        self.ids += 1;
        Uuid::from_u128(self.ids)
    }
    fn join(&mut self) -> SessionId {
        let session = SessionId(self.fresh());
        let choice = NameChoice::Like(Name::parse("orchestrator").unwrap());
        let new = NewMember::new(session, choice, MemberKind::Orchestrator, 1);
        self.ask(None, Operation::Join(Box::new(new)));
        session
    }

    #[track_caller]
    fn ask(&mut self, by: impl Into<Option<SessionId>>, operation: Operation) -> Vec<Event> {
        let tick = Tick { boot: 0, ms: 0 };
        let now = Now { wall_ms: 0, tick };
        let command =
            Command { id: CommandId(self.fresh()), by: by.into(), received: Vec::new(), operation };
        let Some(proposal) = decide(&self.state, now, &command).unwrap() else {
            return Vec::new();
        };
        let entry = Entry {
            seq: self.seq,
            ts: 0,
            tick,
            id: proposal.id,
            by: proposal.by,
            events: proposal.events,
        };
        let indices: Vec<u16> = (0..).take(entry.events.len()).collect();
        for event in &entry.events {
            self.check(event);
        }
        self.state.apply(&entry, &indices, LogPosition::default());
        self.seq = entry.next_seq();
        entry.events
    }

    /// Checks an event against the state before it: a step runs at most once, and never before its dependencies.
    fn check(&mut self, event: &Event) {
        match event {
            Event::StepStarted(StepStarted { step, .. }) => {
                let begun = self.begun.entry(step.clone()).or_default();
                *begun += 1;
                let returned = self.returned.get(step).copied().unwrap_or_default();
                assert_eq!(*begun, returned + 1, "{step} runs twice");
                let workflow = self.state.workflow(&self.workflow).unwrap();
                let plan = &workflow.step(step).unwrap().plan;
                let drawn = &self.drawn[number_of(step)];
                let any_end = matches!(drawn.when, Some(Wants::Status(_)));
                for (place, before) in plan.depends_on.iter().enumerate() {
                    let before = workflow.step(before).unwrap().status;
                    let good = matches!(before, StepStatus::Done | StepStatus::Unneeded);
                    let enough = good || (before.is_final() && any_end && place == 0);
                    assert!(enough, "{step} is too early: {before:?}");
                }
            }
            Event::StepReturned(StepReturned { step, .. }) => {
                *self.returned.entry(step.clone()).or_default() += 1;
                // Its items run again, too.
                let begin = format!("{step}.");
                for (item, begun) in &self.begun {
                    if item.as_str().starts_with(&begin) {
                        self.returned.insert(item.clone(), *begun);
                    }
                }
            }
            _ => {}
        }
    }

    fn workflow(&self) -> &Workflow {
        self.state.workflow(&self.workflow).unwrap()
    }

    fn seen(&self, step: &StepRun) -> TaskSeen {
        let task = self.state.task(step.task.as_ref().unwrap()).unwrap();
        if let Some(outcome) = self.gates.get(&task.id) {
            return TaskSeen::Gated(outcome.clone());
        }
        if task.status.is_final() {
            TaskSeen::Ended(TaskEnd { status: task.status, error: task.error.clone() })
        } else if task.cancel_asked {
            TaskSeen::Ending
        } else {
            TaskSeen::Going
        }
    }

    fn evaluated(&self, step: &StepRun) -> ConditionResult {
        let drawn = &self.drawn[number_of(&step.plan.name)];
        let before = self.workflow().step(&step.plan.depends_on[0]).unwrap();
        let holds = match drawn.when {
            Some(Wants::Status(status)) => before.status == status,
            Some(Wants::Output(answer)) => answer && before.status != StepStatus::Unneeded,
            None => panic!("{step:?} has no condition"),
        };
        if holds { ConditionResult::Holds } else { ConditionResult::Not("no".to_owned()) }
    }

    /// Looks once, and performs up to `most` actions.
    fn look(&mut self, most: usize) -> usize {
        let evaluated = |step: &StepRun| self.evaluated(step);
        let actions = next(self.workflow(), WIDTH, |step| self.seen(step), evaluated);
        let count = actions.len().min(most);
        for action in actions.into_iter().take(most) {
            self.act(action);
        }
        count
    }

    fn act(&mut self, action: Action) {
        let lead = self.lead;
        match action {
            Action::Move(step, step_move) => {
                let operation =
                    Operation::MoveSteps(self.workflow.clone(), vec![(step, step_move)]);
                self.ask(lead, operation);
            }
            Action::Gate(name) => {
                let drawn = &self.drawn[number_of(&name)];
                let Fate::Gated(times) = drawn.fate else {
                    panic!("{name} has no gate");
                };
                let failed = self.failed.entry(name.clone()).or_default();
                let holds = *failed >= times;
                *failed += u32::from(!holds);
                let task = self.workflow().step(&name).unwrap().task.clone();
                let outcome = holds.then_some(()).ok_or_else(|| "no".to_owned());
                self.gates.insert(task.unwrap(), outcome);
            }
            Action::Expand(name) => {
                let count = self.drawn[number_of(&name)].items.unwrap();
                let step = StepOf { workflow: self.workflow.clone(), step: name };
                let items = Body::Text("[]".into());
                self.ask(lead, Operation::ExpandStep(step, NewItems { count, items }));
            }
            Action::CancelTask(task) => {
                self.ask(lead, Operation::CancelTask(task));
            }
            Action::Start(step) => {
                let task = NewTask {
                    step: Some(StepOf { workflow: self.workflow.clone(), step }),
                    ..NewTask::of(Body::Text("do it".into()))
                };
                let operation = match self.free_agent() {
                    Some(session) => Operation::Assign { session, task },
                    None => self.starting(task),
                };
                self.ask(lead, operation);
            }
        }
    }

    fn free_agent(&self) -> Option<SessionId> {
        let all = self.state.live_sessions();
        let mut free = all.iter().filter(|live| {
            live.owner == Some(self.lead) && live.running.is_none() && live.queue.is_empty()
        });
        free.next().map(|free| free.id)
    }

    fn starting(&mut self, task: NewTask) -> Operation {
        let starting = Starting {
            session: SessionId(self.fresh()),
            name: name_of(0),
            chosen: false,
            profile: "codex".into(),
            model: None,
            cwd: String::new(),
            roles: Vec::new(),
            owner: self.lead,
            token_hash: String::new(),
        };
        let choice = NameChoice::Like(Name::parse("codex").unwrap());
        Operation::Start(Box::new(NewAgent::new(choice, starting)), Some(task))
    }

    /// Returns the steps with unfinished tasks. A step with `for_each` has no task.
    fn running(&self) -> Vec<(Name, TaskId)> {
        let steps = self.workflow().steps.iter();
        let running = steps.filter(|step| step.status == StepStatus::Running);
        let tasks = running.filter_map(|step| Some((step.plan.name.clone(), step.task.clone()?)));
        tasks.filter(|(_, task)| !self.state.task(task).unwrap().status.is_final()).collect()
    }

    /// Ends a task according to its step's fate.
    fn end_task(&mut self, (name, id): &(Name, TaskId)) {
        let number = number_of(name);
        let (task, lead) = (self.state.task(id).unwrap().clone(), self.lead);
        if task.status == TaskStatus::Queued {
            // Until now its agent was starting.
            let ready = Operation::Ready { session: task.session, model: None, pid: 1 };
            self.ask(lead, ready);
            self.ask(lead, Operation::StartTask(id.clone()));
        }
        let failed = self.failed.entry(name.clone()).or_default();
        let status = match self.drawn[number].fate {
            _ if task.cancel_asked => TaskStatus::Cancelled,
            Fate::Crashes => {
                let leave = Operation::Leave {
                    session: task.session,
                    departure: Departure::Failed,
                    detail: None,
                };
                self.ask(lead, leave);
                return;
            }
            Fate::Fails(times) if *failed < times => {
                *failed += 1;
                TaskStatus::Failed
            }
            Fate::Good | Fate::Fails(_) | Fate::Gated(_) => TaskStatus::Done,
        };
        let ending = Ending {
            status,
            output: Body::Text(String::new()),
            stop_reason: None,
            error: None,
            report: TaskReport::default(),
        };
        self.ask(lead, Operation::FinishTask(id.clone(), Box::new(ending)));
    }

    fn happen(&mut self, happens: Happens) {
        match happens {
            Happens::TaskEnds(index) => {
                let running = self.running();
                if !running.is_empty() {
                    self.end_task(index.get(&running));
                }
                self.look(usize::MAX);
            }
            Happens::Partly(most) => {
                self.look(usize::from(most));
            }
            Happens::OwnerDies => {
                let mut dead = vec![self.lead];
                let agents = self.state.live_sessions().into_iter();
                dead.extend(
                    agents.filter(|agent| agent.owner == Some(self.lead)).map(|agent| agent.id),
                );
                self.ask(None, Operation::Reap(dead.into_iter().map(Into::into).collect()));
                let over = self.workflow().status.is_final();
                self.lead = self.join();
                if !over {
                    let (lead, id) = (self.lead, self.workflow.clone());
                    assert_eq!(self.workflow().status, WorkflowStatus::Interrupted);
                    self.ask(lead, Operation::ResumeWorkflow(id));
                }
            }
            Happens::Cancel => {
                if !self.workflow().status.is_final() {
                    let (lead, id) = (self.lead, self.workflow.clone());
                    self.ask(lead, Operation::CancelWorkflow(id));
                }
            }
        }
    }

    /// Runs everything to the end, and returns the final status.
    fn end(&mut self) -> WorkflowStatus {
        for _ in 0..self.drawn.len() * 60 + 20 {
            let did = self.look(usize::MAX);
            let running = self.running();
            if self.workflow().status.is_final() {
                assert!(running.is_empty(), "{running:?}");
                return self.workflow().status;
            }
            assert!(did > 0 || !running.is_empty(), "nothing happens");
            if let Some(first) = running.last() {
                self.end_task(first);
            }
        }
        panic!("it does not come to an end: {:?}", self.workflow());
    }

    /// Returns whether a step succeeds once it can begin, if nothing interferes.
    fn is_good(&self, number: usize) -> bool {
        let drawn = &self.drawn[number];
        match drawn.fate {
            Fate::Good => true,
            Fate::Gated(times) if drawn.repeat => times < ROUNDS,
            Fate::Fails(times) | Fate::Gated(times) => times <= drawn.retries,
            Fate::Crashes => false,
        }
    }

    /// Checks that exactly the doomed steps failed, only their dependents were skipped, and unneeded steps did not run.
    fn check_statuses(&self) {
        let mut ends = Vec::new();
        let planned = self.workflow().steps.iter();
        let planned = planned.filter(|step| step.item.is_none());
        for (number, step) in planned.enumerate() {
            let expected = self.expected(number, &ends);
            assert_eq!(step.status, expected, "{step:?}");
            ends.push(expected);
        }
        let all = ends.iter().all(|end| good(*end));
        let expected = if all { WorkflowStatus::Done } else { WorkflowStatus::Failed };
        assert_eq!(self.workflow().status, expected);
    }

    fn expected(&self, number: usize, ends: &[StepStatus]) -> StepStatus {
        let drawn = &self.drawn[number];
        let first = drawn.depends_on.first().map(|first| ends[*first]);
        let when = drawn.when.zip(first);
        let any_end = matches!(when, Some((Wants::Status(_), _)));
        let mut before = drawn.depends_on.iter().enumerate();
        if before.any(|(place, before)| !good(ends[*before]) && (place > 0 || !any_end)) {
            return StepStatus::Skipped;
        }
        let needed = match when {
            None => true,
            Some((Wants::Status(status), first)) => first == status,
            Some((Wants::Output(answer), first)) => answer && first == StepStatus::Done,
        };
        let nothing_to_do = drawn.items == Some(0) && first.is_some();
        match (needed, nothing_to_do || self.is_good(number)) {
            (false, _) => StepStatus::Unneeded,
            (true, true) => StepStatus::Done,
            (true, false) => StepStatus::Failed,
        }
    }
}

fn good(end: StepStatus) -> bool {
    matches!(end, StepStatus::Done | StepStatus::Unneeded)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(48),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_plan_ends_with_each_step_once_and_in_order_whatever_happens(
        drawn in drawn(limits::MAX_STEPS),
        happens in proptest::collection::vec(happens(), 0..60),
    ) {
        let mut world = World::new(drawn);
        world.look(usize::MAX);
        for happens in happens {
            // Repeated deaths of the owner have a test of their own.
            let steps = &world.workflow().steps;
            let worn = steps.iter().any(|step| step.interruptions >= limits::MAX_INTERRUPTIONS);
            if !(worn && matches!(happens, Happens::OwnerDies)) {
                world.happen(happens);
            }
        }
        world.end();
        world.check_statuses();
    }

    #[test]
    fn a_cancelled_workflow_ends_and_begins_nothing_more(
        drawn in drawn(40),
        before in proptest::collection::vec(happens(), 0..20),
    ) {
        let mut world = World::new(drawn);
        for happens in before {
            world.happen(happens);
        }
        let over = world.workflow().status.is_final();
        let begun = world.begun.clone();
        world.happen(Happens::Cancel);
        let status = world.end();
        prop_assert_eq!(begun, world.begun.clone());
        prop_assert!(over || matches!(status, WorkflowStatus::Cancelled | WorkflowStatus::Done));
    }
}
