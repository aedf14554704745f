//! Workflows: led by one orchestrator, with steps that begin in order and once, and resumed by the next orchestrator.

use super::*;
use crate::bus::event::TaskReport;
use crate::bus::rules::{Approval, Ending, NewItems, NewWorkflow};
use crate::domain::ids::WorkflowId;
use crate::domain::limits;
use crate::domain::task::TaskStatus;
use crate::domain::workflow::{
    Again, Approver, Step, StepMove, StepOf, StepStatus, WorkflowStatus,
};
use crate::domain::workflow::{Field, StepReference};

/// A world with an orchestrator, its agent, and a workflow of two steps: `b` after `a`.
pub(super) struct Led {
    pub(super) world: World,
    pub(super) lead: SessionId,
    agent: SessionId,
    pub(super) id: WorkflowId,
}

pub(super) fn new_workflow() -> Operation {
    let steps =
        vec![Step::new(name("a"), "codex", &[]), Step::new(name("b"), "codex", &[name("a")])];
    Operation::CreateWorkflow(Box::new(NewWorkflow {
        name: "test".into(),
        steps,
        prompts: text("[]"),
        plan_file: None,
        is_trial: false,
    }))
}

fn created(events: &[Event]) -> WorkflowId {
    let created = events.iter().find_map(|event| match event {
        Event::WorkflowCreated(created) => Some(created.id.clone()),
        _ => None,
    });
    created.unwrap()
}

impl Led {
    pub(super) fn new() -> Self {
        let mut world = World::new();
        let lead = world.lead();
        let agent = world.agent(lead, "codex");
        let id = created(&world.ask(lead, new_workflow()));
        Self { world, lead, agent, id }
    }

    pub(super) fn begin(&self, step: &str) -> Operation {
        let task = NewTask {
            step: Some(StepOf { workflow: self.id.clone(), step: name(step) }),
            ..task()
        };
        Operation::Assign { session: self.agent, task }
    }

    fn moving(&self, step: &str, step_move: StepMove) -> Operation {
        Operation::MoveSteps(self.id.clone(), vec![(name(step), step_move)])
    }

    /// Begins a step, and ends its task.
    fn run(&mut self, step: &str, status: TaskStatus) -> Vec<Event> {
        let begin = self.begin(step);
        let id = assigned(&self.world.ask(self.lead, begin));
        self.world.ask(self.lead, Operation::StartTask(id.clone()));
        let ending = Ending {
            status,
            output: text("said"),
            stop_reason: None,
            error: None,
            report: TaskReport::default(),
        };
        self.world.ask(self.lead, Operation::FinishTask(id, Box::new(ending)))
    }

    pub(super) fn status(&self) -> WorkflowStatus {
        self.world.state.workflow(&self.id).unwrap().status
    }

    pub(super) fn step(&self, step: &str) -> StepStatus {
        let workflow = self.world.state.workflow(&self.id).unwrap();
        workflow.step(&name(step)).unwrap().status
    }

    #[track_caller]
    fn refuse(&mut self, operation: Operation) -> Refusal {
        self.world.refuse(self.lead, operation)
    }
}

#[test]
fn a_step_begins_with_its_task_in_one_append_and_not_twice_nor_too_early() {
    let mut led = Led::new();
    let (a, b) = (led.begin("a"), led.begin("b"));
    assert!(matches!(led.refuse(b), Refusal::StepElsewhere { .. }));
    let events = led.world.ask(led.lead, a.clone());
    assert!(matches!(events.as_slice(), [Event::TaskAssigned(_), Event::StepStarted(_)]));
    assert_eq!(led.refuse(a).to_string(), "the step `a` is running, so this does not apply to it");
    let unknown = led.begin("zebra");
    assert!(matches!(led.refuse(unknown), Refusal::UnknownStep { .. }));
}

#[test]
fn the_end_of_a_workflow_is_reported_and_not_the_end_of_each_task() {
    let mut led = Led::new();
    let events = led.run("a", TaskStatus::Done);
    assert!(notices(&events, "orchestrator").is_empty());
    let finish = led.moving("a", StepMove::Finish);
    led.world.ask(led.lead, finish);
    led.run("b", TaskStatus::Failed);
    let fail = led.moving("b", StepMove::Fail("it rained".into()));
    let events = led.world.ask(led.lead, fail);
    let id = led.id.clone();
    assert_eq!(
        notices(&events, "orchestrator"),
        [format!(
            "{id} (\"test\") has failed: 1 of 2 steps done; b failed: \"it rained\". get_workflow_status has the outputs"
        )]
    );
    assert_eq!(led.status(), WorkflowStatus::Failed);
    let late = led.moving("b", StepMove::Finish);
    assert!(matches!(led.refuse(late), Refusal::WorkflowOver { .. }));
}

#[test]
fn a_step_moves_only_as_its_task_and_its_dependencies_allow() {
    let mut led = Led::new();
    let skip = led.moving("b", StepMove::Skip("no".into()));
    assert!(matches!(led.refuse(skip), Refusal::StepElsewhere { .. }));
    let begin = led.begin("a");
    led.world.ask(led.lead, begin);
    let finish = led.moving("a", StepMove::Finish);
    assert!(matches!(led.refuse(finish), Refusal::StepElsewhere { .. }));
    let both = Operation::MoveSteps(
        led.id.clone(),
        vec![(name("b"), StepMove::Fail("x".into())), (name("b"), StepMove::Finish)],
    );
    assert!(matches!(led.refuse(both), Refusal::StepElsewhere { .. }));
}

#[test]
fn only_its_leader_moves_a_workflow_and_only_orchestrators_lead() {
    let mut led = Led::new();
    let (other, peer) = (led.world.lead(), led.world.peer("ann"));
    let (begin, cancel) = (led.begin("a"), Operation::CancelWorkflow(led.id.clone()));
    let by_other = led.world.refuse(other, begin);
    assert!(matches!(by_other, Refusal::LedByAnother { .. }));
    assert_eq!(led.world.refuse(peer, new_workflow()), Refusal::CannotLead);
    assert_eq!(led.world.refuse(peer, cancel), Refusal::CannotLead);
    let resume = Operation::ResumeWorkflow(led.id.clone());
    let by_other = led.world.refuse(other, resume).to_string();
    assert_eq!(
        by_other,
        format!("the workflow `{}` is already being run by `orchestrator`", led.id)
    );
}

#[test]
fn a_workflow_whose_leader_has_left_is_reported_to_the_lead_and_to_the_next_one_and_can_be_resumed()
{
    let mut led = Led::new();
    let other = led.world.lead();
    led.run("a", TaskStatus::Done);
    let finish = led.moving("a", StepMove::Finish);
    led.world.ask(led.lead, finish);
    let events = led.world.reap(&[led.agent, led.lead]);
    let expected = format!(
        "{} (\"test\") was interrupted with 1 of 2 steps finished: resume_workflow continues it, \
            cancel_workflow ends it",
        led.id
    );
    assert!(notices(&events, "orchestrator-2").contains(&expected));
    assert_eq!(led.status(), WorkflowStatus::Interrupted);
    led.world.lead();
    assert_eq!(led.world.unread("orchestrator-3"), []);
    let events = led.world.take_lead("chief");
    assert_eq!(notices(&events, "chief"), [expected]);
    led.world.ask(other, Operation::ResumeWorkflow(led.id.clone()));
    assert_eq!(led.status(), WorkflowStatus::Running);
    led.lead = other;
    led.agent = led.world.agent(other, "codex");
    led.run("b", TaskStatus::Done);
    let finish = led.moving("b", StepMove::Finish);
    let events = led.world.ask(other, finish);
    assert!(notices(&events, "orchestrator-2")[0].contains("is done: 2 of 2 steps done"));
}

#[test]
fn a_step_that_returns_can_begin_again() {
    let mut led = Led::new();
    led.run("a", TaskStatus::Failed);
    let again = led.moving("a", StepMove::Again(Again::Retry, "oh".into()));
    led.world.ask(led.lead, again);
    assert_eq!(led.step("a"), StepStatus::Waiting);
    led.run("a", TaskStatus::Done);
    let workflow = led.world.state.workflow(&led.id).unwrap();
    assert_eq!((workflow.steps[0].attempts, workflow.steps[0].failures), (2, 1));
}

#[test]
fn a_step_is_known_to_be_interrupted_until_it_begins_or_returns_for_another_reason() {
    let mut led = Led::new();
    let interrupted = |led: &Led| {
        let workflow = led.world.state.workflow(&led.id).unwrap();
        workflow.steps[0].interrupted
    };
    let again = |led: &Led, again: Again| led.moving("a", StepMove::Again(again, "oh".into()));
    led.run("a", TaskStatus::Interrupted);
    let back = again(&led, Again::Interrupted);
    led.world.ask(led.lead, back);
    assert!(interrupted(&led));
    led.run("a", TaskStatus::Failed);
    assert!(!interrupted(&led));
    for (reason, expected) in [(Again::Interrupted, true), (Again::Retry, false)] {
        // The second time the step could not be assigned to an agent.
        let back = again(&led, reason);
        led.world.ask(led.lead, back);
        assert_eq!(interrupted(&led), expected);
    }
}

#[test]
fn a_step_that_needs_approval_begins_with_it_and_ends_with_a_refusal() {
    let mut led = Led::new();
    let mut gated = Step::new(name("a"), "codex", &[]);
    gated.approve = Some(Approver::Human);
    let after = Step::new(name("b"), "codex", &[name("a")]);
    let new = NewWorkflow {
        name: "gated".into(),
        steps: vec![gated, after],
        prompts: text("[]"),
        plan_file: None,
        is_trial: false,
    };
    for approval in [Approval::Given, Approval::Refused(Some("too late".into()))] {
        led.id =
            created(&led.world.ask(led.lead, Operation::CreateWorkflow(Box::new(new.clone()))));
        let begin = led.begin("a");
        assert!(matches!(led.refuse(begin.clone()), Refusal::StepElsewhere { .. }));
        let step = StepOf { workflow: led.id.clone(), step: name("a") };
        let approve = Operation::ApproveStep(step, approval.clone());
        assert!(matches!(led.refuse(approve.clone()), Refusal::StepElsewhere { .. }));
        let operation = led.moving("a", StepMove::Ask);
        let events = led.world.ask(led.lead, operation);
        assert!(notices(&events, "orchestrator")[0].contains("`a` waits for your user's approval"));
        assert_eq!(led.step("a"), StepStatus::Asking);
        led.world.ask(led.lead, approve);
        if approval == Approval::Given {
            led.world.ask(led.lead, begin);
            assert_eq!(led.step("a"), StepStatus::Running);
        } else {
            assert_eq!(led.step("a"), StepStatus::Cancelled);
            let workflow = led.world.state.workflow(&led.id).unwrap();
            assert_eq!(workflow.steps[0].why.as_deref(), Some("refused by the user: too late"));
            let skip = led.moving("b", StepMove::Skip("a".into()));
            let text = notices(&led.world.ask(led.lead, skip), "orchestrator").pop().unwrap();
            assert!(text.contains(r#"a was cancelled: "refused by the user: too late""#), "{text}");
        }
    }
}

#[test]
fn an_interrupted_trial_is_reported_as_one_that_only_ends() {
    let mut led = Led::new();
    let other = led.world.lead();
    let Operation::CreateWorkflow(mut new) = new_workflow() else { unreachable!() };
    new.is_trial = true;
    let id = created(&led.world.ask(led.lead, Operation::CreateWorkflow(new)));
    let events = led.world.reap(&[led.agent, led.lead]);
    let expected = format!(
        "{id} (\"test\") was interrupted with 0 of 2 steps finished: it was a trial with scripted agents, \
            so only cancel_workflow ends it"
    );
    let heard = notices(&events, "orchestrator-2");
    assert!(heard.contains(&expected), "{heard:#?}");
    led.world.ask(other, Operation::CancelWorkflow(id));
}

#[test]
fn any_orchestrator_can_cancel_an_interrupted_workflow() {
    let mut led = Led::new();
    let other = led.world.lead();
    led.world.leave(led.lead);
    led.world.ask(other, Operation::CancelWorkflow(led.id.clone()));
    assert_eq!(led.status(), WorkflowStatus::Cancelled);
    assert_eq!(led.step("b"), StepStatus::Cancelled);
}

#[test]
fn ended_workflows_are_forgotten_and_too_many_at_once_refused() {
    let mut led = Led::new();
    for _ in 1..limits::MAX_WORKFLOWS {
        led.world.ask(led.lead, new_workflow());
    }
    assert_eq!(led.refuse(new_workflow()), Refusal::TooManyWorkflows);
    for _ in 0..=limits::KEPT_WORKFLOWS {
        end_one(&mut led);
        led.world.ask(led.lead, new_workflow());
    }
    let kept = led.world.state.workflows().len();
    assert_eq!(kept, limits::MAX_WORKFLOWS + limits::KEPT_WORKFLOWS);
}

/// Cancels a workflow that has not ended.
fn end_one(led: &mut Led) {
    let unended = led.world.state.workflows().into_iter();
    let mut unended = unended.filter(|workflow| !workflow.status.is_final());
    let id = unended.next().unwrap().id.clone();
    led.world.ask(led.lead, Operation::CancelWorkflow(id));
}

#[test]
fn a_step_is_expanded_once_when_it_is_ready_and_by_its_leader_alone() {
    let mut world = World::new();
    let leader = world.lead();
    let mut listed = Step::new(name("b"), "codex", &[name("a")]);
    listed.for_each = Some(StepReference { step: name("a"), field: Field::Json(Vec::new()) });
    let new = NewWorkflow {
        name: "test".into(),
        steps: vec![Step::new(name("a"), "codex", &[]), listed],
        prompts: text("[]"),
        plan_file: None,
        is_trial: false,
    };
    let id = created(&world.ask(leader, Operation::CreateWorkflow(Box::new(new))));
    let agent = world.agent(leader, "codex");
    let mut led = Led { world, lead: leader, agent, id };
    let expand = |led: &Led, step: &str, count: u32| {
        let step = StepOf { workflow: led.id.clone(), step: name(step) };
        let items = text("[1]");
        Operation::ExpandStep(step, NewItems { count, items })
    };
    let early = expand(&led, "b", 2);
    assert!(matches!(led.refuse(early), Refusal::StepElsewhere { .. }));
    led.run("a", TaskStatus::Done);
    led.world.ask(leader, led.moving("a", StepMove::Finish));
    let whole = led.begin("b");
    assert!(matches!(led.refuse(whole), Refusal::StepElsewhere { .. }));
    let plain = expand(&led, "a", 2);
    assert!(matches!(led.refuse(plain), Refusal::StepElsewhere { .. }));
    let many = u32::try_from(limits::MAX_ITEMS).unwrap() + 1;
    let many = expand(&led, "b", many);
    assert_eq!(
        led.refuse(many).to_string(),
        "the list for step `b` has 51 items; the limits are 50 items per list, and 400 steps and items per workflow"
    );
    let other = led.world.lead();
    let right = expand(&led, "b", 2);
    let refused = led.world.refuse(other, right.clone());
    assert!(matches!(refused, Refusal::LedByAnother { .. }));
    led.world.ask(leader, right.clone());
    assert!(matches!(led.refuse(right), Refusal::StepElsewhere { .. }));
    let early = led.moving("b", StepMove::Finish);
    assert!(matches!(led.refuse(early), Refusal::StepElsewhere { .. }));
    for item in ["b.1", "b.2"] {
        led.run(item, TaskStatus::Done);
        led.world.ask(leader, led.moving(item, StepMove::Finish));
    }
    led.world.ask(leader, led.moving("b", StepMove::Finish));
    assert_eq!(led.status(), WorkflowStatus::Done);
}

/// A step whose task ended with its leader, or just before, is over only when the next leader finds that, which may be days later.
#[test]
fn the_time_of_a_step_is_the_time_in_which_a_session_led_its_workflow() {
    let took = |led: &Led, step: &str| {
        let workflow = led.world.state.workflow(&led.id).unwrap();
        workflow.step(&name(step)).unwrap().took_ms()
    };
    for departure in [Departure::Closed, Departure::Dead] {
        let mut led = Led::new();
        led.run("a", TaskStatus::Done);
        led.world.pass(2_000);
        if departure == Departure::Dead {
            // Its last sign of life; its death is found when the pause is over.
            led.world.send(led.lead, "codex", "still here");
        } else {
            led.world.leave(led.lead);
        }
        led.world.pass(3_600_000);
        if departure == Departure::Dead {
            led.world.reap(&[led.lead]);
        }
        assert_eq!(led.status(), WorkflowStatus::Interrupted);
        led.lead = led.world.lead();
        led.world.ask(led.lead, Operation::ResumeWorkflow(led.id.clone()));
        led.world.pass(500);
        let finish = led.moving("a", StepMove::Finish);
        led.world.ask(led.lead, finish);
        assert_eq!(took(&led, "a"), Some(2_500), "{departure:?}");
        assert_eq!(took(&led, "b"), None);
    }
}

#[test]
fn the_time_of_a_step_is_that_of_all_its_attempts_without_the_waits_between_them() {
    let mut led = Led::new();
    for pause in [2_000, 3_000] {
        led.run("a", TaskStatus::Failed);
        led.world.pass(pause);
        led.world.ask(led.lead, led.moving("a", StepMove::Again(Again::Retry, "oh".into())));
        led.world.pass(60_000);
    }
    let step =
        |led: &Led| led.world.state.workflow(&led.id).unwrap().step(&name("a")).unwrap().clone();
    assert_eq!((step(&led).running_since_ms(), step(&led).took_ms()), (None, None));
    led.run("a", TaskStatus::Done);
    let began = step(&led).started_ms.unwrap();
    assert_eq!(step(&led).running_since_ms(), Some(began - 5_000));
    led.world.pass(500);
    led.world.ask(led.lead, led.moving("a", StepMove::Finish));
    assert_eq!((step(&led).running_since_ms(), step(&led).took_ms()), (None, Some(5_500)));

    let mut old = step(&led);
    old.attempts_ms = None;
    assert_eq!(old.took_ms(), Some(500), "earlier versions did not count the attempts before it");
}

#[test]
fn a_hung_leader_loses_its_workflows_and_is_notified_for_its_return() {
    let mut led = Led::new();
    let other = led.world.lead();
    led.run("a", TaskStatus::Done);
    let hung = Operation::Hung(vec![led.lead], 30_000);
    let events = led.world.ask(other, hung);
    assert_eq!(led.status(), WorkflowStatus::Interrupted);
    for member in ["orchestrator", "orchestrator-2"] {
        let notices = notices(&events, member);
        let is_it = |text: &String| text.contains("was interrupted with 0 of 2 steps finished");
        assert_eq!(notices.iter().filter(|text| is_it(text)).count(), 1, "{member}");
    }
    led.world.ask(other, Operation::ResumeWorkflow(led.id.clone()));
    assert_eq!(led.status(), WorkflowStatus::Running);
    led.world.ask(other, Operation::Back(vec![led.lead]));
    let by = name("orchestrator-2");
    for operation in [led.moving("a", StepMove::Finish), led.begin("b")] {
        let refused = led.refuse(operation);
        assert!(
            matches!(&refused, Refusal::LedByAnother { by: leader, .. } if *leader == by),
            "{refused}"
        );
    }
    let finish = led.moving("a", StepMove::Finish);
    led.world.ask(other, finish);
}

#[test]
fn a_workflow_whose_leader_hangs_can_be_cancelled() {
    let mut led = Led::new();
    let other = led.world.lead();
    let hung = Operation::Hung(vec![led.lead], 30_000);
    led.world.ask(other, hung);
    led.world.ask(other, Operation::CancelWorkflow(led.id.clone()));
    assert_eq!(led.status(), WorkflowStatus::Cancelled);
}

/// The bridge that holds the step's agent hangs, and does not react to a cancel.
#[test]
fn a_resumed_workflow_can_end_although_a_hung_bridge_does_not_end_its_task() {
    let mut led = Led::new();
    let other = led.world.lead();
    let begin = led.begin("a");
    let task = assigned(&led.world.ask(led.lead, begin));
    led.world.ask(led.lead, Operation::StartTask(task.clone()));
    led.world.ask(other, Operation::Hung(vec![led.lead], 30_000));
    led.world.ask(other, Operation::ResumeWorkflow(led.id.clone()));
    led.world.ask(other, Operation::CancelWorkflow(led.id.clone()));
    let cancelled = |step: &str| (name(step), StepMove::Cancel("cancelled".into()));
    let end = Operation::MoveSteps(led.id.clone(), vec![cancelled("a")]);
    let refused = led.world.refuse(other, end.clone());
    assert!(matches!(refused, Refusal::StepElsewhere { .. }), "it runs");
    led.world.ask(other, Operation::CancelTask(task.clone()));
    led.world.ask(other, end);
    assert_eq!(led.status(), WorkflowStatus::Cancelled);
}

#[test]
fn workflows_without_a_notice_of_their_own_are_counted_in_one() {
    let mut led = Led::new();
    led.world.lead();
    for _ in 0..12 {
        led.world.ask(led.lead, new_workflow());
    }
    let more = "and 3 more workflows were interrupted; get_workflow_status lists all";
    let events = led.world.reap(&[led.agent, led.lead]);
    let to_other = notices(&events, "orchestrator-2");
    assert_eq!(to_other[10], more);
    let interrupted = |text: &&String| text.contains("steps finished");
    assert_eq!(to_other.iter().filter(interrupted).count(), 10);
    let events = led.world.take_lead("chief");
    let to_newcomer = notices(&events, "chief");
    assert_eq!((to_newcomer.len(), to_newcomer[10].as_str()), (11, more));
}
