//! Health: processes, silence, heartbeats, restarts, and limits.

use super::*;
use crate::bus::event::{Runs, TaskReport};
use crate::bus::rules::{Broken, Ending};
use crate::bus::state::Run;
use crate::domain::limits::{self, TeamLimits};
use crate::domain::member::ProcessMark;
use crate::domain::messaging::RequestStatus;
use crate::domain::task::TaskStatus;
use crate::domain::task::error_class;

const AFTER_MS: u64 = 30_000;

fn runs(session: SessionId) -> Operation {
    let mark = |pid| ProcessMark { pid, started: Some(7) };
    Operation::Runs(Box::new(Runs {
        session,
        agent: mark(10),
        shim: Some(mark(9)),
        acp_session: Some("acp-1".into()),
        place: Some("1:2".into()),
    }))
}

fn crash(session: SessionId, task: Broken) -> Operation {
    Operation::Crash { session, detail: "exit code 7".into(), task }
}

fn status(world: &World, session: SessionId) -> &'static str {
    world.state.session(session).unwrap().status()
}

fn request_status(world: &World, id: &RequestId) -> RequestStatus {
    world.state.request(id).unwrap().status
}

#[test]
fn the_processes_of_a_dead_agent_are_known_until_they_are_swept() {
    let mut world = World::new();
    let lead = world.lead();
    let (known, unknown) = (world.agent(lead, "codex"), world.agent(lead, "codex"));
    world.ask(lead, runs(known));
    world.reap(&[lead, known, unknown]);
    let left: Vec<_> = world.state.unswept().collect();
    assert_eq!(left.len(), 2, "the bridge is no agent");
    let run: Option<&Run> = left[0].1;
    assert_eq!(run.unwrap().shim.unwrap().pid, 9);
    assert_eq!(left[1].1, None);
    let other = world.lead();
    world.ask(other, Operation::Swept(known));
    assert!(world.ask(other, Operation::Swept(known)).is_empty());
    assert_eq!(world.state.unswept().count(), 1);
}

#[test]
fn an_agent_that_its_bridge_stopped_needs_no_sweep() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    world.ask(lead, runs(agent));
    world.leave_with(agent, Departure::Stopped);
    assert_eq!(world.state.unswept().count(), 0);
}

#[test]
fn only_its_bridge_reports_the_health_of_an_agent() {
    let mut world = World::new();
    let (lead, other) = (world.lead(), world.lead());
    let agent = world.agent(lead, "codex");
    for operation in [
        runs(agent),
        Operation::Stir(agent),
        Operation::Stall(agent, AFTER_MS),
        crash(agent, Broken::Kept),
    ] {
        assert_eq!(world.refuse(other, operation), Refusal::NotTheOwner);
    }
}

#[test]
fn a_stalled_turn_is_reported_once_and_any_sign_of_life_ends_it() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    assert!(world.ask(lead, Operation::Stall(agent, AFTER_MS)).is_empty());
    let task = world.assign(lead, agent);
    world.ask(lead, Operation::StartTask(task.clone()));
    let events = world.ask(lead, Operation::Stall(agent, AFTER_MS));
    assert!(notices(&events, "orchestrator")[0].contains("silent in its turn for 30 s"));
    assert_eq!(status(&world, agent), "stalled");
    assert!(world.ask(lead, Operation::Stall(agent, AFTER_MS)).is_empty());
    world.ask(lead, Operation::Stir(agent));
    assert_eq!(status(&world, agent), "running");
    world.ask(lead, Operation::CancelTask(task));
    let events = world.ask(lead, Operation::Stall(agent, AFTER_MS));
    let text = &notices(&events, "orchestrator")[0];
    assert!(!text.contains("cancel_task") && text.contains("is being cancelled"), "{text}");
}

#[test]
fn the_silence_of_an_agent_counts_from_its_last_turn_or_the_beginning_of_a_turn() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    let task = world.assign(lead, agent);
    world.ask(lead, Operation::StartTask(task.clone()));
    let silent_ms = |world: &World| {
        let last_ms = world.state.session(agent).unwrap().last_ms;
        world.now.wall_ms - last_ms
    };
    world.pass(60_000);
    assert_eq!(silent_ms(&world), 60_000);
    let cancelled = Ending {
        status: TaskStatus::Cancelled,
        output: text(""),
        stop_reason: None,
        error: None,
        report: TaskReport::default(),
    };
    world.ask(lead, Operation::FinishTask(task, Box::new(cancelled)));
    assert_eq!(silent_ms(&world), 0, "its turn has ended");
    world.send(lead, "codex", "Go on.");
    world.pass(60_000);
    let (call, method) = (world.call(), DeliveryMethod::Prompt);
    world.ask(agent, Operation::Take { session: agent, call, method, pick: all() });
    assert_eq!((world.held(agent, call).len(), silent_ms(&world)), (1, 0), "a turn begins");
}

#[test]
fn a_stuck_agent_takes_no_work_and_is_free_when_its_turn_ends_after_all() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    let (abandoned, behind) = (world.assign(lead, agent), world.assign(lead, agent));
    world.ask(lead, Operation::StartTask(abandoned.clone()));
    let silent = Ending {
        status: TaskStatus::Cancelled,
        output: text(""),
        stop_reason: None,
        error: None,
        report: TaskReport::default(),
    };
    world.ask(lead, Operation::FinishTask(abandoned, Box::new(silent)));
    let events = world.ask(lead, Operation::Stuck(agent));
    let notices = notices(&events, "orchestrator");
    assert!(notices[0].contains("was interrupted: \"codex does not end its previous turn"));
    let ended_behind = world.state.task(&behind).unwrap();
    assert_eq!(ended_behind.status, TaskStatus::Interrupted);
    assert_eq!(ended_behind.error.as_ref().unwrap().class, error_class::STUCK);
    assert_eq!(status(&world, agent), "stuck");
    assert!(world.ask(lead, Operation::Stuck(agent)).is_empty());
    let again = Operation::Assign { session: agent, task: task() };
    let refused = world.refuse(lead, again);
    assert!(refused.to_string().contains("stop it with kill_agent"), "{refused}");
    world.ask(lead, Operation::Free(agent));
    assert_eq!(status(&world, agent), "idle");
    assert!(world.ask(lead, Operation::Free(agent)).is_empty());
    world.assign(lead, agent);
}

#[test]
fn an_agent_that_waits_for_a_message_is_not_stalled() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    let task = world.assign(lead, agent);
    world.ask(lead, Operation::StartTask(task));
    world.wait(agent);
    assert!(world.ask(lead, Operation::Stall(agent, AFTER_MS)).is_empty());
    assert_eq!(status(&world, agent), "waiting");
}

#[test]
fn a_hung_member_loses_its_claims_once_and_comes_back_without_them() {
    let mut world = World::new();
    let (lead, asker, owner) = (world.lead(), world.peer("asker"), world.peer("owner"));
    let request = world.open(asker);
    world.ask(owner, Operation::Claim(request.clone(), CALL));
    let events = world.ask(None, Operation::Hung(vec![owner], AFTER_MS));
    assert!(
        notices(&events, "orchestrator")[0].starts_with("owner stopped responding (no heartbeat")
    );
    assert!(notices(&events, "asker")[0].ends_with("owner, which claimed it, stopped responding"));
    assert_eq!(request_status(&world, &request), RequestStatus::Open);
    assert_eq!(status(&world, owner), "hung");
    let again = world.ask(None, Operation::Hung(vec![owner], AFTER_MS));
    assert!(again.is_empty(), "another process that sees it writes nothing");

    let broadcast = world.ask(lead, Operation::Broadcast(text("hear")));
    assert_eq!(sent(&broadcast).to.named(), [name("asker")]);
    world.ask(None, Operation::Back(vec![owner]));
    assert!(world.ask(None, Operation::Back(vec![owner])).is_empty());
    assert_eq!(status(&world, owner), "idle");
    let answer = world.reply(owner, "asker", &request.to_string());
    assert_eq!(answer.request, None, "it ends no wait for the request");
    assert_eq!(
        request_status(&world, &request),
        RequestStatus::Open,
        "its old claim does not return"
    );
    world.ask(owner, Operation::Claim(request, CALL));
}

#[test]
fn a_restart_requeues_the_messages_and_reopens_the_claims_of_the_old_process() {
    let mut world = World::new();
    let (lead, peer) = (world.lead(), world.peer("peer"));
    let agent = world.agent(lead, "codex");
    let request = world.open(peer);
    world.ask(agent, Operation::Claim(request.clone(), CALL));
    let message = world.send(peer, "codex", "hello");
    let (_, held) = world.take(agent);
    assert!(held.contains(&message));
    world.wait(agent);
    let (running, queued) = (world.assign(lead, agent), world.assign(lead, agent));
    world.ask(lead, Operation::StartTask(running.clone()));

    let events = world.ask(lead, crash(agent, Broken::Interrupted));
    assert_eq!(
        notices(&events, "orchestrator"),
        [format!(
            "codex crashed and is being restarted: \"exit code 7\"; {running} was interrupted"
        )]
    );
    assert!(world.unread("codex").contains(&message));
    assert_eq!(request_status(&world, &request), RequestStatus::Open);
    assert_eq!(world.state.task(&running).unwrap().status, TaskStatus::Interrupted);
    let session = world.state.session(agent).unwrap();
    assert_eq!((session.queue.front(), session.restarts), (Some(&queued), 1));
    assert_eq!(session.status(), "starting");
    assert_eq!(world.state.live(&name("codex")).unwrap().id, agent);
}

#[test]
fn a_task_that_may_be_resumed_stays_through_a_restart() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    let task = world.assign(lead, agent);
    world.ask(lead, Operation::StartTask(task.clone()));
    world.ask(lead, crash(agent, Broken::Kept));
    assert_eq!(world.state.task(&task).unwrap().status, TaskStatus::Running);
    assert_eq!(world.state.session(agent).unwrap().running, Some(task.clone()));
    world.ready(lead, agent);
    let events = world.ask(lead, Operation::ResumeTask(task.clone()));
    assert!(notices(&events, "orchestrator")[0].contains("is resumed"));
    assert_eq!(status(&world, agent), "running");
    let unknown = TaskId::from_bits(9);
    assert!(matches!(
        world.refuse(lead, Operation::ResumeTask(unknown)),
        Refusal::UnknownTask { .. }
    ));
}

#[test]
fn limits_apply_to_all_members_once_they_are_set() {
    let mut world = World::new();
    let (lead, peer) = (world.lead(), world.peer("peer"));
    let limits = TeamLimits { agents: 2, queued_tasks: 1, unread: 3, ..TeamLimits::default() };
    assert!(world.ask(lead, Operation::Limit(TeamLimits::default())).is_empty());
    world.ask(lead, Operation::Limit(limits));
    assert!(world.ask(lead, Operation::Limit(limits)).is_empty());

    let agent = world.agent(lead, "codex");
    world.agent(lead, "codex");
    let third = world.new_agent(NameChoice::Like(name("codex")));
    let refused = world.refuse(lead, Operation::Start(Box::new(third), None));
    assert_eq!(refused, Refusal::TooManyAgents { limit: 2 });

    world.assign(lead, agent);
    let session = agent;
    let refused = world.refuse(lead, Operation::Assign { session, task: task() });
    assert!(matches!(refused, Refusal::QueueFull { limit: 1, .. }));

    for _ in 0..3 {
        world.send(lead, "peer", "x");
    }
    let refused = world.refuse(lead, sending("peer", "x", None));
    assert!(matches!(refused, Refusal::InboxFull { limit: 3, .. }));
    let request = world.open(lead);
    assert_eq!(world.unread("peer").len(), 3, "a full inbox gets no requests");
    world.ask(peer, Operation::Claim(request, CALL));
}

#[test]
fn a_member_has_a_limited_number_of_unanswered_requests() {
    let mut world = World::new();
    let peer = world.peer("peer");
    for _ in 0..limits::MAX_OWN_REQUESTS {
        world.open(peer);
    }
    let open = Operation::Open {
        description: text("one more"),
        context: None,
        to: None,
        nudge_ms: 1,
        ttl_ms: 1,
        lease_ms: None,
        urgency: None,
    };
    let limit = limits::MAX_OWN_REQUESTS;
    assert_eq!(world.refuse(peer, open), Refusal::TooManyRequests { limit });
}

#[test]
fn notices_of_the_bus_fill_an_inbox_only_up_to_a_limit() {
    let mut world = World::new();
    let (lead, peer) = (world.lead(), world.peer("peer"));
    let limits = TeamLimits { unread: 2, ..TeamLimits::default() };
    world.ask(lead, Operation::Limit(limits));
    for _ in 0..6 {
        let request = world.open(peer);
        let helper = world.peer("helper");
        world.ask(helper, Operation::Claim(request.clone(), CALL));
        world.leave(helper);
    }
    let is_notice = |kind: &&MessageKind| **kind == MessageKind::Notice;
    let count = world.kinds("peer").iter().filter(is_notice).count();
    assert!(count < limits.unread * limits::NOTICE_ROOM, "{count}");
}
