//! Tasks: assigned, run by the bridge that holds the agent, and reported at their end.

use super::*;
use crate::bus::event::TaskReport;
use crate::bus::rules::{DeadSession, Ending, NewWorkflow};
use crate::domain::limits;
use crate::domain::task::{TaskError, TaskStatus};
use crate::domain::workflow::Step;

pub(super) fn done() -> Ending {
    Ending {
        status: TaskStatus::Done,
        output: text("all fine"),
        stop_reason: Some("end_turn".into()),
        error: None,
        report: TaskReport::default(),
    }
}

fn status(world: &World, id: &TaskId) -> TaskStatus {
    world.state.task(id).unwrap().status
}

#[test]
fn a_new_agent_and_its_first_task_are_one_append() {
    let mut world = World::new();
    let lead = world.lead();
    let new = world.new_agent(NameChoice::Like(name("codex")));
    let events = world.ask(lead, Operation::Start(Box::new(new), Some(task())));
    let id = assigned(&events);
    assert_eq!(status(&world, &id), TaskStatus::Queued);
    assert!(matches!(events[0], Event::MemberStarting(_)));
}

#[test]
fn a_task_is_run_by_its_agents_bridge_and_its_end_is_a_notice() {
    let mut world = World::new();
    let (lead, other) = (world.lead(), world.lead());
    let agent = world.agent(lead, "codex");
    let id = world.assign(other, agent);
    assert_eq!(world.refuse(other, Operation::StartTask(id.clone())), Refusal::NotTheOwner);
    world.ask(lead, Operation::StartTask(id.clone()));
    assert!(world.ask(lead, Operation::StartTask(id.clone())).is_empty());
    assert_eq!(world.state.session(agent).unwrap().status(), "running");
    let events = world.ask(lead, Operation::FinishTask(id.clone(), Box::new(done())));
    assert_eq!(
        notices(&events, "orchestrator-2"),
        [format!("{id} of codex is done: \"all fine\"")]
    );
    assert_eq!(world.state.session(agent).unwrap().status(), "idle");
    assert!(matches!(
        world.refuse(lead, Operation::FinishTask(id, Box::new(done()))),
        Refusal::TaskOver { .. }
    ));
}

#[test]
fn the_notice_of_a_task_is_delivered_and_requeued_with_its_result() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    let id = world.assign(lead, agent);
    world.ask(lead, Operation::StartTask(id.clone()));
    world.ask(lead, Operation::FinishTask(id.clone(), Box::new(done())));
    assert_eq!(world.unread("orchestrator").len(), 1);
    let (lost, other) = (world.call(), world.call());
    world.ask(lead, Operation::TakeNotice(lost, id.clone()));
    assert!(world.unread("orchestrator").is_empty());
    let other_too = Operation::TakeNotice(other, id.clone());
    assert!(world.ask(lead, other_too).is_empty());
    world.settle(lead, lost, false);
    assert_eq!(world.unread("orchestrator").len(), 1);
    world.ask(lead, Operation::TakeNotice(other, id.clone()));
    world.settle(lead, other, true);
    assert!(world.unread("orchestrator").is_empty());
    assert!(world.ask(lead, Operation::TakeNotice(lost, id)).is_empty());
}

#[test]
fn a_queued_task_is_cancelled_at_once_and_a_running_one_is_asked_to_end() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    let (first, second) = (world.assign(lead, agent), world.assign(lead, agent));
    world.ask(lead, Operation::StartTask(first.clone()));
    world.ask(lead, Operation::CancelTask(second.clone()));
    assert_eq!(status(&world, &second), TaskStatus::Cancelled);
    world.ask(lead, Operation::CancelTask(first.clone()));
    assert_eq!(status(&world, &first), TaskStatus::Running);
    assert!(world.state.task(&first).unwrap().cancel_asked);
    assert!(world.ask(lead, Operation::CancelTask(first)).is_empty());
    assert!(matches!(world.refuse(lead, Operation::CancelTask(second)), Refusal::TaskOver { .. }));
}

#[test]
fn the_death_of_an_agent_interrupts_its_task_and_cancels_its_queue() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    let (running, queued) = (world.assign(lead, agent), world.assign(lead, agent));
    world.ask(lead, Operation::StartTask(running.clone()));
    let events = world.reap(&[agent]);
    assert_eq!(status(&world, &running), TaskStatus::Interrupted);
    assert_eq!(status(&world, &queued), TaskStatus::Cancelled);
    assert_eq!(
        notices(&events, "orchestrator"),
        [format!(
            "codex ended: its bridge was killed; {running} was interrupted, {queued} was \
             cancelled. assign_task with its name starts it again"
        )]
    );
}

/// The first is the leader of the agent, who gets the whole reason; another assigner gets its beginning, and its own tasks.
/// Often the next process of the project finds that out, a day later.
#[test]
fn the_work_of_an_agent_whose_bridge_was_killed_ends_with_its_last_sign_of_life() {
    let mut world = World::new();
    let lead = world.lead();
    let (silent, talking) = (world.agent(lead, "codex"), world.agent(lead, "codex"));
    let tasks = [silent, talking].map(|agent| world.assign(lead, agent));
    world.pass(40_000);
    for task in &tasks {
        world.ask(lead, Operation::StartTask(task.clone()));
    }
    let started_ms = world.now.wall_ms;
    world.pass(5_000);
    world.ask(lead, Operation::Stir(talking));
    world.pass(3_600_000);
    world.reap(&[lead, silent, talking]);
    let times = tasks.map(|task| {
        let task = world.state.task(&task).unwrap();
        assert_eq!(task.status, TaskStatus::Interrupted);
        (task.started_ms.unwrap(), task.ended_ms.unwrap())
    });
    let expected = [(started_ms, started_ms), (started_ms, started_ms + 5_000)];
    assert_eq!(times, expected);
}

/// Agents that work may write nothing for hours. A heartbeat from before the last event, or from the future, says nothing.
#[test]
fn the_last_heartbeat_of_a_dead_agent_is_the_end_of_its_work() {
    let mut world = World::new();
    let lead = world.lead();
    let agents: Vec<_> = (0..3).map(|_| world.agent(lead, "codex")).collect();
    let tasks: Vec<_> = agents.iter().map(|agent| world.assign(lead, *agent)).collect();
    for task in &tasks {
        world.ask(lead, Operation::StartTask(task.clone()));
    }
    let started_ms = world.now.wall_ms;
    world.pass(3_600_000);
    let found_ms = world.now.wall_ms;
    let beats = [started_ms + 90_000, started_ms - 90_000, found_ms + 90_000];
    let beaten = agents.iter().zip(beats);
    let dead = beaten
        .map(|(session, alive_ms)| DeadSession { session: *session, alive_ms: Some(alive_ms) });
    let dead = std::iter::once(DeadSession::from(lead)).chain(dead).collect();
    world.ask(None, Operation::Reap(dead));
    let ended = tasks.iter().map(|task| world.state.task(task).unwrap().ended_ms.unwrap());
    assert_eq!(ended.collect::<Vec<_>>(), [started_ms + 90_000, started_ms, found_ms]);
}

#[test]
fn the_end_of_an_agent_is_one_notice_to_each_with_the_tasks_that_ended() {
    let mut world = World::new();
    let (lead, other) = (world.lead(), world.lead());
    let agent = world.agent(lead, "codex");
    let tasks = [world.assign(lead, agent), world.assign(other, agent), world.assign(lead, agent)];
    world.ask(lead, Operation::StartTask(tasks[0].clone()));
    let reason = format!("exit code 7; {}", "x".repeat(limits::NOTICE_HEAD_CHARS));
    let detail = Some(reason.clone());
    let departure = Departure::Failed;
    let events = world.ask(lead, Operation::Leave { session: agent, departure, detail });
    let [first, second, third] = tasks;
    assert_eq!(
        notices(&events, "orchestrator"),
        [format!("codex has failed: \"{reason}\"; {first} was interrupted, {third} was cancelled")]
    );
    let head = &reason[..limits::NOTICE_HEAD_CHARS];
    assert_eq!(
        notices(&events, "orchestrator-2"),
        [format!("codex has failed: \"{head}…\"; {second} was cancelled")]
    );
    // The result of one task does not stand for a notice about two, but for one about itself.
    for (by, task, is_taken) in [(lead, &first, false), (other, &second, true)] {
        let call = world.call();
        world.ask(by, Operation::TakeNotice(call, task.clone()));
        assert_eq!(!world.held(by, call).is_empty(), is_taken, "{task}");
    }
}

#[test]
fn tasks_that_an_agent_never_began_fail_with_its_error_in_the_notice_of_its_end() {
    let mut world = World::new();
    let lead = world.lead();
    let new = world.new_agent(NameChoice::Like(name("codex")));
    let agent = new.starting.session;
    let events = world.ask(lead, Operation::Start(Box::new(new), Some(task())));
    let tasks = [assigned(&events), world.assign(lead, agent)];
    let error = TaskError {
        login: Some("run `codex login`".into()),
        retry_ms: Some(7),
        ..TaskError::new("auth", "no api key")
    };
    let (detail, error) = (Some("no api key".to_owned()), Box::new(error));
    let events = world.ask(lead, Operation::Fail { session: agent, detail, error });
    let [first, second] = &tasks;
    assert_eq!(
        notices(&events, "orchestrator"),
        [format!("codex has failed: \"no api key\"; {first} has failed, {second} has failed")]
    );
    let error = |task: &TaskId| world.state.task(task).unwrap().error.clone().unwrap();
    assert_eq!(error(first).message, "its agent did not start: no api key");
    assert_eq!(error(first).login.as_deref(), Some("run `codex login`"));
    assert_eq!(
        error(second).message,
        format!("its agent did not start; see {first} for the reason")
    );
    for task in &tasks {
        assert_eq!((error(task).class.as_str(), error(task).retry_ms), ("auth", Some(7)));
        assert_eq!(status(&world, task), TaskStatus::Failed);
    }
    assert!(world.state.session(agent).is_none());
}

#[test]
fn the_task_of_an_agent_that_could_not_start_fails() {
    let mut world = World::new();
    let lead = world.lead();
    let new = world.new_agent(NameChoice::Like(name("codex")));
    let agent = new.starting.session;
    let events = world.ask(lead, Operation::Start(Box::new(new), Some(task())));
    let id = assigned(&events);
    world.leave_with(agent, Departure::Failed);
    assert_eq!(status(&world, &id), TaskStatus::Failed);
}

#[test]
fn work_is_for_agents_only() {
    let mut world = World::new();
    let (lead, peer) = (world.lead(), world.peer("b"));
    let assign = Operation::Assign { session: peer, task: task() };
    assert!(matches!(world.refuse(lead, assign), Refusal::NotAnAgent { .. }));
    let unknown = TaskId::from_bits(9);
    assert!(matches!(
        world.refuse(lead, Operation::CancelTask(unknown)),
        Refusal::UnknownTask { .. }
    ));
}

#[test]
fn the_agents_of_a_trial_take_work_from_its_leader_alone() {
    let mut world = World::new();
    let (run, other) = (world.lead(), world.lead());
    let agent = world.agent(run, "codex");
    let trial = NewWorkflow {
        name: "test".into(),
        steps: vec![Step::new(name("a"), "codex", &[])],
        prompts: text("[]"),
        plan_file: None,
        is_trial: true,
    };
    world.ask(run, Operation::CreateWorkflow(Box::new(trial)));
    let refused = world.refuse(other, Operation::Assign { session: agent, task: task() });
    assert_eq!(refused, Refusal::OfTrial { name: name("codex") });
    world.assign(run, agent);
}

#[test]
fn the_end_of_an_agent_also_ends_tasks_whose_end_was_lost_with_a_line() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    let tasks = [world.assign(lead, agent), world.assign(lead, agent)];
    let [first, second] = tasks.clone();
    world.ask(lead, Operation::StartTask(first));
    // The line with the end of the first task was damaged.
    world.append(crate::bus::storage::contract::proposal(vec![Event::TaskStarted { id: second }]));
    let events = world
        .ask(lead, Operation::Leave { session: agent, departure: Departure::Failed, detail: None });
    for id in &tasks {
        assert_eq!(status(&world, id), TaskStatus::Interrupted);
        let ends = |event: &&Event| matches!(event, Event::TaskFinished(ended) if ended.id == *id);
        assert_eq!(events.iter().filter(ends).count(), 1);
    }
}
