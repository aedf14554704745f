//! The summary that a new session gets about earlier ones, and what ends with the last member of a team.

use crate::bus::event::TaskReport;
use crate::bus::rules::tests::*;
use crate::bus::rules::{Ending, is_summary_needed};
use crate::bus::state::Message;
use crate::domain::limits;
use crate::domain::member::PLAN_ROLE;
use crate::domain::messaging::RequestStatus;
use crate::domain::name::MAX_NAME_BYTES;
use crate::domain::task::TaskStatus;
use crate::domain::wait_times;

fn named_lead(world: &mut World, dead: &[SessionId]) -> (SessionId, Vec<Event>) {
    let choice = NameChoice::Chosen(name("chief"));
    let new = world.joining(choice, MemberKind::Orchestrator, dead);
    let session = new.session;
    let events = world.ask(None, Operation::Join(Box::new(new)));
    (session, events)
}

fn unread(world: &World, of: &str) -> usize {
    world.state.unread(&name(of)).count()
}

fn done() -> Ending {
    Ending {
        status: TaskStatus::Done,
        output: text("fine"),
        stop_reason: None,
        error: None,
        report: TaskReport::default(),
    }
}

#[test]
fn the_next_orchestrator_gets_one_notice_of_all_ended_tasks() {
    let mut world = World::new();
    let (lead, _) = named_lead(&mut world, &[]);
    let agents = ["ann", "ben", "cid"].map(|agent| world.agent(lead, agent));
    let tasks = agents.map(|agent| world.assign(lead, agent));
    for task in &tasks {
        world.ask(lead, Operation::StartTask(task.clone()));
    }
    world.ask(lead, Operation::FinishTask(tasks[2].clone(), Box::new(done())));
    for agent in agents {
        let leave =
            Operation::Leave { session: agent, departure: Departure::Stopped, detail: None };
        world.ask(lead, leave);
    }
    world.leave(lead);
    let (next, events) = named_lead(&mut world, &[]);
    let [a, b, c] = &tasks;
    assert_eq!(
        notices(&events, "chief"),
        [format!(
            "ended tasks: {c} of cid is done, {a} of ann was cancelled, {b} of ben was cancelled; \
             get_task_result has their output"
        )]
    );
    assert_eq!(unread(&world, "chief"), 1);
    world.leave(next);
    let (_, events) = named_lead(&mut world, &[]);
    assert!(notices(&events, "chief").is_empty(), "and not again");
}

/// A client that ends with its turn, such as `claude -p`, makes no call after the one that brought the result.
#[test]
fn notices_that_earlier_sessions_were_given_are_not_joined_into_a_new_one() {
    let mut world = World::new();
    let given = ["ann", "ben"].map(|agent| {
        let (lead, events) = named_lead(&mut world, &[]);
        assert!(notices(&events, "chief").is_empty());
        let session = world.agent(lead, agent);
        let task = world.assign(lead, session);
        world.ask(lead, Operation::StartTask(task.clone()));
        world.ask(lead, Operation::FinishTask(task.clone(), Box::new(done())));
        world.take(lead);
        world.leave_with(session, Departure::Stopped);
        world.leave(lead);
        task
    });
    assert!(!is_summary_needed(&world.state, &name("chief")));
    let (lead, events) = named_lead(&mut world, &[]);
    assert!(notices(&events, "chief").is_empty(), "{events:?}");
    assert_eq!(unread(&world, "chief"), 2, "an answer of a tool has them");

    let agent = world.agent(lead, "cid");
    let news = [world.assign(lead, agent), world.assign(lead, agent)];
    world.leave_with(agent, Departure::Stopped);
    world.leave(lead);
    let (_, events) = named_lead(&mut world, &[]);
    let said = notices(&events, "chief");
    let [joined] = &said[..] else { panic!("one notice of the new ones: {said:?}") };
    assert!(news.iter().all(|task| joined.contains(&task.to_string())), "{joined}");
    assert!(!given.iter().any(|task| joined.contains(&task.to_string())), "{joined}");
}

#[test]
fn agents_that_die_with_their_bridge_are_reported_in_one_notice() {
    let mut world = World::new();
    let (lead, _) = named_lead(&mut world, &[]);
    let agents = ["ann", "ben"].map(|agent| world.agent(lead, agent));
    let tasks = agents.map(|agent| world.assign(lead, agent));
    for task in &tasks {
        world.ask(lead, Operation::StartTask(task.clone()));
    }
    named_lead(&mut world, &[lead]);
    let events = world.reap(&agents);
    assert_eq!(unread(&world, "chief"), 1);
    let notices = notices(&events, "chief");
    let [a, b] = &tasks;
    assert_eq!(
        notices.last().unwrap(),
        &format!(
            "ended with their bridge: ann, ben. ended tasks: {a} of ann was interrupted, {b} of \
             ben was interrupted; get_task_result has their output"
        )
    );
}

/// An orchestrator with a generated name dies with its agent. A peer reaps them, together or one after the other.
#[test]
fn the_next_orchestrator_is_notified_in_whatever_order_the_dead_are_found() {
    type Reaping = fn(SessionId, SessionId) -> Vec<Vec<SessionId>>;
    let orders: [Reaping; 4] = [
        |lead, agent| vec![vec![lead, agent]],
        |lead, agent| vec![vec![agent, lead]],
        |lead, agent| vec![vec![lead], vec![agent]],
        |lead, agent| vec![vec![agent], vec![lead]],
    ];
    for (number, order) in orders.into_iter().enumerate() {
        let mut world = World::new();
        world.peer("ann");
        let lead = world.lead();
        let agent = world.agent(lead, "codex");
        let tasks = [world.assign(lead, agent), world.assign(lead, agent)];
        world.ask(lead, Operation::StartTask(tasks[0].clone()));
        let mut events = Vec::new();
        for dead in order(lead, agent) {
            events.extend(world.reap(&dead));
            world.pass(1_000);
        }
        let choice = NameChoice::Like(name("orchestrator"));
        let next = world.joining(choice, MemberKind::Orchestrator, &[]);
        events.extend(world.ask(None, Operation::Join(Box::new(next))));
        let unread = world.unread("orchestrator");
        let notices = all_sent(&events).filter(|sent| unread.contains(&sent.id)).map(said);
        let notices: Vec<_> = notices.collect();
        let [running, queued] = tasks;
        // An agent that was found dead before its leader is named once, at the beginning.
        let of_both = |text: &&String| {
            let text = text.replace(" of codex", "");
            text.contains(&format!("{running} was interrupted"))
                && text.contains(&format!("{queued} was cancelled"))
        };
        assert_eq!(notices.iter().filter(of_both).count(), 1, "order {number}: {notices:?}");
    }
}

/// An orchestrator with a chosen name dies with its agent; the next one has another name.
#[test]
fn the_next_orchestrator_under_another_name_is_notified_of_a_dead_ones_tasks() {
    type Reaping = fn(SessionId, SessionId) -> Vec<Vec<SessionId>>;
    // How many steps of each order happen before the next orchestrator joins; it finds the other dead itself.
    let orders: [(Reaping, usize); 4] = [
        (|lead, agent| vec![vec![lead, agent]], 0),
        (|lead, agent| vec![vec![lead, agent]], 1),
        (|lead, agent| vec![vec![agent], vec![lead]], 1),
        (|lead, agent| vec![vec![lead], vec![agent]], 2),
    ];
    for (number, (order, found_before)) in orders.into_iter().enumerate() {
        let mut world = World::new();
        world.peer("ann");
        let (lead, _) = named_lead(&mut world, &[]);
        let agent = world.agent(lead, "codex");
        let task = world.assign(lead, agent);
        world.ask(lead, Operation::StartTask(task.clone()));
        let mut reapings = order(lead, agent);
        let left = reapings.split_off(found_before);
        for dead in reapings {
            world.reap(&dead);
        }
        let choice = NameChoice::Chosen(name("boss"));
        let next = world.joining(choice, MemberKind::Orchestrator, &left.concat());
        let events = world.ask(None, Operation::Join(Box::new(next)));
        let expected = format!(
            "ended tasks: {task} of codex was interrupted (assigned by chief); get_task_result has \
                their output"
        );
        assert_eq!(notices(&events, "boss"), [expected], "order {number}");
        let of_a_task = |message: &Message| message.task.is_some();
        let still = world.state.unread(&name("chief")).any(of_a_task);
        assert!(!still, "the summary replaces the notice");
        let (_, events) = named_lead(&mut world, &[]);
        assert!(notices(&events, "chief").is_empty(), "order {number}");
    }
}

#[test]
fn only_one_of_several_orchestrators_is_notified_of_a_dead_ones_tasks() {
    let mut world = World::new();
    let (lead, _) = named_lead(&mut world, &[]);
    let agent = world.agent(lead, "codex");
    let task = world.assign(lead, agent);
    world.ask(lead, Operation::StartTask(task.clone()));
    world.reap(&[lead]);
    world.lead();
    world.lead();
    let events = world.reap(&[agent]);
    let of_it = |name: &&str| {
        let notices = notices(&events, name);
        notices.iter().any(|text| text.contains(&format!("{task} of codex was interrupted")))
    };
    let notified = ["orchestrator", "orchestrator-2"].into_iter().filter(of_it);
    assert_eq!(notified.count(), 1);
    assert_eq!(unread(&world, "chief"), 0);
}

/// The tasks of an orchestrator with a long name end in its absence.
#[test]
fn very_many_ended_tasks_are_reported_in_several_appends() {
    const TASKS: usize = 2_500;
    let mut world = World::new();
    let called = "n".repeat(MAX_NAME_BYTES);
    let join = |world: &mut World| {
        let choice = NameChoice::Chosen(name(&called));
        world.join(choice, MemberKind::Orchestrator)
    };
    let lead = join(&mut world);
    let agent = world.agent(lead, "codex");
    for _ in 0..TASKS {
        let task = world.assign(lead, agent);
        world.ask(lead, Operation::StartTask(task.clone()));
        world.ask(lead, Operation::FinishTask(task, Box::new(done())));
    }
    world.leave(agent);
    world.leave(lead);
    (world.longest, world.appends) = (0, 0);
    let lead = join(&mut world);
    while is_summary_needed(&world.state, &name(&called)) {
        assert!(!world.ask(None, Operation::NotifyOfEndedTasks(lead)).is_empty());
    }
    assert!(world.longest < limits::DUE_BYTES, "{}", world.longest);
    let ends = |message: &&Message| message.task.is_some();
    assert_eq!(world.state.unread(&name(&called)).filter(ends).count(), 0);
    let notices = unread(&world, &called);
    assert!(notices <= world.appends, "{notices} notices");
}

/// Joins as an orchestrator with a chosen name, and returns its notices.
fn leads(world: &mut World, called: &str) -> (SessionId, Vec<String>) {
    let choice = NameChoice::Chosen(name(called));
    let new = world.joining(choice, MemberKind::Orchestrator, &[]);
    let session = new.session;
    let events = world.ask(None, Operation::Join(Box::new(new)));
    (session, notices(&events, called))
}

/// Leaves a dead orchestrator `lead` with unread notices of two ended tasks.
fn ended_unread(world: &mut World) -> [TaskId; 2] {
    let (lead, _) = named_lead(world, &[]);
    let agent = world.agent(lead, "codex");
    let tasks = [world.assign(lead, agent), world.assign(lead, agent)];
    world.leave_with(agent, Departure::Stopped);
    world.reap(&[lead]);
    tasks
}

fn is_summary_of(notices: &[String], tasks: &[TaskId]) -> bool {
    let of_all = |text: &String| {
        tasks.iter().all(|task| {
            text.contains(&format!("{task} of codex was cancelled (assigned by chief)"))
        })
    };
    notices.len() == 1 && notices.iter().all(of_all)
}

/// No model reads the mail of `run`.
#[test]
fn a_session_that_only_runs_a_plan_inherits_no_notices() {
    for joins_first in [true, false] {
        let mut world = World::new();
        let mut run = world.joining(NameChoice::Like(name("run")), MemberKind::Orchestrator, &[]);
        run.roles = vec![PLAN_ROLE.into()];
        let join = Operation::Join(Box::new(run));
        let tasks = if joins_first {
            world.ask(None, join);
            let (lead, _) = named_lead(&mut world, &[]);
            let agent = world.agent(lead, "codex");
            let tasks = [world.assign(lead, agent), world.assign(lead, agent)];
            world.reap(&[lead, agent]);
            tasks
        } else {
            let tasks = ended_unread(&mut world);
            assert!(all_sent(&world.ask(None, join)).next().is_none());
            tasks
        };
        let (_, notices) = leads(&mut world, "orchestrator");
        let of_all = |text: &String| tasks.iter().all(|task| text.contains(&task.to_string()));
        assert!(notices.iter().any(of_all), "{joins_first}: {notices:?}");
    }
}

/// An heir that ends before reading the notices passes them on, however it ends and however often that happens.
#[test]
fn notices_that_an_heir_has_not_read_pass_to_the_next_orchestrator() {
    for departure in [Departure::Dead, Departure::Closed] {
        let ends = |world: &mut World, session: SessionId| match departure {
            Departure::Dead => world.reap(&[session]),
            departure => world.leave_with(session, departure),
        };
        let mut world = World::new();
        let tasks = ended_unread(&mut world);
        for heir in ["boss", "second"] {
            let (session, notices) = leads(&mut world, heir);
            assert!(is_summary_of(&notices, &tasks), "{heir}: {notices:?}");
            // A delivery without proof does not count as reading.
            world.take(session);
            ends(&mut world, session);
        }
        let (third, notices) = leads(&mut world, "third");
        assert!(is_summary_of(&notices, &tasks), "{departure:?}: {notices:?}");
        let (call, _) = world.take(third);
        world.settle(third, call, true);
        ends(&mut world, third);
        for next in ["fourth", "boss", "second", "chief"] {
            let (_, notices) = leads(&mut world, next);
            assert!(notices.is_empty(), "{next}: {notices:?}");
            assert_eq!(unread(&world, next), 0, "{next}");
        }
    }
}

#[test]
fn notices_that_an_heir_has_not_read_go_back_to_their_returning_owner() {
    let mut world = World::new();
    let tasks = ended_unread(&mut world);
    let (boss, _) = leads(&mut world, "boss");
    world.leave(boss);
    let (_, notices) = leads(&mut world, "chief");
    let of_all = |text: &String| tasks.iter().all(|task| text.contains(&task.to_string()));
    assert!(notices.len() == 1 && notices.iter().all(of_all), "{notices:?}");
    assert!(!notices[0].contains("assigned by"), "{notices:?}");
    assert!(leads(&mut world, "boss").1.is_empty());
    assert_eq!(unread(&world, "boss"), 0, "only one orchestrator is notified");
}

/// The notices of its own tasks wait for it alone; only the inherited ones pass to another orchestrator.
#[test]
fn an_heir_that_leaves_keeps_the_notices_of_its_own_tasks() {
    let mut world = World::new();
    let (boss, _) = leads(&mut world, "boss");
    let agent = world.agent(boss, "claude");
    let own = [world.assign(boss, agent), world.assign(boss, agent)];
    world.leave_with(agent, Departure::Stopped);
    world.leave(boss);
    let tasks = ended_unread(&mut world);
    let (boss, notices) = leads(&mut world, "boss");
    assert_eq!(notices.len(), 2, "{notices:?}");
    world.leave(boss);
    let (_, notices) = leads(&mut world, "third");
    assert!(is_summary_of(&notices, &tasks), "{notices:?}");
    assert!(!notices[0].contains(&own[0].to_string()), "{notices:?}");
    assert_eq!(unread(&world, "boss"), 1);
    let (boss, notices) = leads(&mut world, "boss");
    assert!(notices.is_empty(), "it already has that one: {notices:?}");
    // The result of one task does not stand for a notice about two.
    let call = world.call();
    world.ask(boss, Operation::TakeNotice(call, own[0].clone()));
    assert!(world.held(boss, call).is_empty());
}

/// It may return at any time.
#[test]
fn notices_for_an_orchestrator_that_has_left_wait_for_it_alone() {
    let mut world = World::new();
    let (lead, _) = named_lead(&mut world, &[]);
    let agent = world.agent(lead, "codex");
    world.assign(lead, agent);
    world.leave_with(agent, Departure::Stopped);
    world.leave(lead);
    let choice = NameChoice::Chosen(name("boss"));
    let next = world.joining(choice, MemberKind::Orchestrator, &[]);
    let events = world.ask(None, Operation::Join(Box::new(next)));
    assert!(notices(&events, "boss").is_empty());
    assert_eq!(unread(&world, "chief"), 1);
}

/// The name is kept only for its tasks, and not longer than mail waits.
#[test]
fn a_name_whose_tasks_never_end_is_abandoned_with_its_mail() {
    let mut world = World::new();
    let (first, second) = (world.lead(), world.lead());
    let agent = world.agent(first, "codex");
    world.assign(second, agent);
    world.leave(second);
    let left = name("orchestrator-2");
    assert!(world.state.member(&left).is_some());
    world.pass(wait_times::ABSENT_MAIL_MS);
    world.due();
    assert!(world.state.member(&left).is_none());
    assert!(world.due().is_empty());
}

#[test]
fn requests_end_with_the_last_member_of_their_team() {
    let mut world = World::new();
    let (asker, other) = (world.peer("asker"), world.peer("other"));
    let request = world.open(asker);
    world.leave(asker);
    let status = |world: &World| world.state.request(&request).unwrap().status;
    assert_eq!(status(&world), RequestStatus::Open, "another member can claim it");
    world.leave(other);
    assert_eq!(status(&world), RequestStatus::Expired);
    world.peer("newcomer");
    assert_eq!(unread(&world, "newcomer"), 0);
    world.peer("asker");
    assert_eq!(unread(&world, "asker"), 1, "it is notified");
}
