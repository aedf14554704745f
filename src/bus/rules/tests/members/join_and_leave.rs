//! Names, joining and leaving, and the mail of absent members.

use std::slice::from_ref;

use crate::bus::rules::tests::*;
use crate::domain::limits;
use crate::domain::limits::TeamLimits;
use crate::domain::member::ProcessMark;
use crate::domain::wait_times;

#[test]
fn only_one_live_member_has_a_name_whatever_its_case() {
    let mut world = World::new();
    let codex = world.peer("codex");
    let new = world.joining(NameChoice::Chosen(name("CODEX")), MemberKind::Peer, &[]);
    let refusal = world.try_ask(None, Operation::Join(Box::new(new))).unwrap_err();
    assert!(matches!(refusal, Refusal::NameTaken { session, .. } if session == codex));
}

#[test]
fn a_taken_generated_name_gets_a_number() {
    let mut world = World::new();
    let (one, two) = (world.lead(), world.lead());
    let called = |world: &World, session| world.state.session(session).unwrap().name.clone();
    assert_eq!(called(&world, one).as_str(), "orchestrator");
    assert_eq!(called(&world, two).as_str(), "orchestrator-2");
    world.leave(one);
    let three = world.lead();
    assert_eq!(called(&world, three).as_str(), "orchestrator");
}

#[test]
fn a_member_is_at_rest_while_it_has_nothing_pending() {
    let mut world = World::new();
    let (lead, peer) = (world.lead(), world.peer("ann"));
    let agent = world.agent(lead, "codex");
    let at_rest = |world: &World| {
        let live = world.state.session(agent).unwrap();
        world.state.is_at_rest(live)
    };
    assert!(at_rest(&world));
    assert!(
        world.state.is_generated_name(&name("codex"))
            && !world.state.is_generated_name(&name("ann"))
    );

    let unread = world.send(peer, "codex", "hello");
    assert!(!at_rest(&world), "mail");
    let (call, held) = world.take(agent);
    assert_eq!(held, [unread]);
    assert!(!at_rest(&world), "mail in flight");
    world.settle(agent, call, true);
    assert!(at_rest(&world));

    world.wait(agent);
    assert!(!at_rest(&world), "a call that waits");
    world.pass(60_000 + wait_times::WAIT_SLACK_MS);
    world.due();
    assert!(at_rest(&world));

    let task = world.assign(lead, agent);
    assert!(!at_rest(&world), "a task in its queue");
    world.ask(lead, Operation::CancelTask(task));
    assert!(at_rest(&world));

    let claimed = world.open(peer);
    let (call, _) = world.take(agent);
    world.settle(agent, call, true);
    assert!(at_rest(&world), "any member may claim an open request");
    world.ask(agent, Operation::Claim(claimed.clone(), CALL));
    assert!(!at_rest(&world), "a claim");
    world.reply(agent, "ann", &claimed.to_string());
    assert!(at_rest(&world));

    world.open(agent);
    assert!(!at_rest(&world), "a request of its own");
}

#[test]
fn a_generated_name_is_never_that_of_an_absent_chosen_member() {
    let mut world = World::new();
    let codex = world.peer("codex");
    world.leave(codex);
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    assert_eq!(world.state.session(agent).unwrap().name.as_str(), "codex-2");
}

#[test]
fn joining_twice_is_joining_once() {
    let mut world = World::new();
    let new = world.joining(NameChoice::Chosen(name("a")), MemberKind::Peer, &[]);
    assert_eq!(world.ask(None, Operation::Join(Box::new(new.clone()))).len(), 2);
    assert!(world.ask(None, Operation::Join(Box::new(new))).is_empty());
}

#[test]
fn a_joiner_of_a_dead_holders_name_writes_left_and_joined_in_one_append() {
    let mut world = World::new();
    let dead = world.peer("a");
    let other = world.peer("b");
    let mail = world.send(other, "a", "kept");
    let new = world.joining(NameChoice::Chosen(name("a")), MemberKind::Peer, &[dead]);
    let session = new.session;
    let events = world.ask(None, Operation::Join(Box::new(new)));
    assert!(
        matches!(events[0], Event::MemberLeft { session, departure: Departure::Dead, .. } if session == dead)
    );
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::MemberJoined(joined) if joined.session == session))
    );
    assert_eq!(world.state.live(&name("a")).unwrap().id, session);
    assert_eq!(world.unread("a"), [mail]);
}

#[test]
fn the_mail_of_a_chosen_name_waits_for_its_return() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let before = world.send(b, "a", "before");
    let (_, held) = world.take(a);
    assert_eq!(held, from_ref(&before));
    world.leave(a);
    let after = world.send(b, "a", "after");
    world.pass(wait_times::ABSENT_MAIL_MS - 1);
    assert!(world.due().is_empty());
    let back = world.peer("a");
    assert_eq!(world.take(back).1, [before, after]);
    world.pass(wait_times::ABSENT_MAIL_MS);
    world.due();
    assert!(world.state.live(&name("a")).is_some(), "it has come back");
}

#[test]
fn mail_of_a_chosen_name_expires_after_thirty_days_and_the_sender_is_notified() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    world.leave(a);
    let id = world.send(b, "a", "hello");
    world.pass(wait_times::ABSENT_MAIL_MS);
    let events = world.due();
    assert_eq!(world.delivery(&id, "a"), Some(Delivery::Expired));
    let notices = notices(&events, "b");
    assert_eq!(notices.len(), 1);
    assert!(notices[0].contains(&id.to_string()), "{notices:?}");
    assert!(world.state.member(&name("a")).is_none());
    assert!(matches!(world.refuse(b, sending("a", "again", None)), Refusal::UnknownMember { .. }));
}

#[test]
fn unread_mail_of_a_stopped_agent_expires_at_once_and_the_sender_is_notified() {
    let mut world = World::new();
    let (lead, peer) = (world.lead(), world.peer("b"));
    let agent = world.agent(lead, "codex");
    let unread = world.send(peer, "codex", "one");
    let events = world.leave_with(agent, Departure::Stopped);
    assert_eq!(world.delivery(&unread, "codex"), Some(Delivery::Expired));
    assert_eq!(notices(&events, "b").len(), 1);
    assert!(world.state.member(&name("codex")).is_none());
}

#[test]
fn mail_in_flight_to_a_stopped_agent_expires_too() {
    let mut world = World::new();
    let (lead, peer) = (world.lead(), world.peer("b"));
    let agent = world.agent(lead, "codex");
    let in_flight = world.send(peer, "codex", "one");
    world.take(agent);
    let events = world.leave_with(agent, Departure::Stopped);
    assert_eq!(world.delivery(&in_flight, "codex"), Some(Delivery::Expired));
    assert_eq!(notices(&events, "b").len(), 1);
}

#[test]
fn mail_of_a_generated_name_waits_for_its_next_agent() {
    let mut world = World::new();
    let (lead, peer) = (world.lead(), world.peer("b"));
    let agent = world.agent(lead, "codex");
    let in_flight = world.send(peer, "codex", "one");
    world.take(agent);
    let unread = world.send(peer, "codex", "two");
    let events = world.reap(&[agent]);
    assert_eq!(notices(&events, "b").len(), 0);
    let late = world.send(peer, "codex", "three");
    // Others wrote to this name.
    let back = world.agent(lead, "codex");
    assert_eq!(world.state.session(back).unwrap().name, name("codex"));
    assert_eq!(world.take(back).1, [in_flight, unread, late]);
}

#[test]
fn mail_of_an_orchestrator_waits_for_the_next_one() {
    for departure in [Departure::Closed, Departure::Dead] {
        let mut world = World::new();
        let lead = world.lead();
        let agent = world.agent(lead, "codex");
        let mail = world.send(agent, "orchestrator", "done");
        match departure {
            Departure::Dead => drop(world.reap(&[lead, agent])),
            departure => drop(world.leave_with(lead, departure)),
        }
        world.pass(wait_times::ABSENT_MAIL_MS - 1);
        world.due();
        let next = world.lead();
        assert_eq!(world.state.session(next).unwrap().name, name("orchestrator"));
        assert!(world.take(next).1.contains(&mail));
    }
}

#[test]
fn mail_of_an_unused_generated_name_expires_and_the_sender_is_notified() {
    let mut world = World::new();
    let (lead, peer) = (world.lead(), world.peer("b"));
    let agent = world.agent(lead, "codex");
    let id = world.send(peer, "codex", "one");
    world.reap(&[agent]);
    world.pass(wait_times::ABSENT_MAIL_MS);
    let notices = notices(&world.due(), "b");
    assert!(notices[0].starts_with("codex did not come back "), "{notices:?}");
    assert!(notices[0].contains(&id.to_string()), "{notices:?}");
    assert!(world.state.member(&name("codex")).is_none());
}

#[test]
fn a_generated_name_without_mail_is_forgotten_at_once() {
    let mut world = World::new();
    let (lead, asker) = (world.lead(), world.peer("b"));
    let agent = world.agent(lead, "codex");
    world.open(asker);
    assert_eq!(world.kinds("codex"), [MessageKind::Request]);
    world.reap(&[agent]);
    assert!(world.state.member(&name("codex")).is_none());
}

#[test]
fn above_the_limit_the_name_that_has_waited_longest_is_abandoned() {
    let mut world = World::new();
    let sender = world.peer("sender");
    for number in 0..limits::WAITING_NAMES + 3 {
        let called = format!("p{number}");
        let session = world.peer(&called);
        world.send(sender, &called, "hello");
        world.leave(session);
        world.pass(1);
    }
    while !world.due().is_empty() {}
    assert_eq!(world.state.absent.len(), limits::WAITING_NAMES);
    assert_eq!(world.kinds("sender"), [MessageKind::Notice; 3]);
    for number in 0..3 {
        assert!(world.state.member(&name(&format!("p{number}"))).is_none());
    }
}

#[test]
fn shutdown_and_nudge_never_wait_for_a_return() {
    let mut world = World::new();
    let (lead, asker) = (world.lead(), world.peer("b"));
    let new = world.new_agent(NameChoice::Chosen(name("codex")));
    let agent = new.starting.session;
    world.ask(lead, Operation::Start(Box::new(new), None));
    world.open(asker);
    let mail = world.send(asker, "codex", "kept");
    world.pass(30_000);
    world.due();
    let stop = Operation::Stop { agent: "codex".into(), reason: None, kill: false };
    world.ask(lead, stop);
    let kinds = world.kinds("codex");
    assert!(kinds.contains(&MessageKind::Nudge) && kinds.contains(&MessageKind::Shutdown));
    world.leave(agent);
    let kinds = world.kinds("codex");
    assert_eq!(kinds, [MessageKind::Request, MessageKind::Message]);
    assert!(world.unread("codex").contains(&mail));
}

#[test]
fn a_session_that_has_left_cannot_do_anything() {
    let mut world = World::new();
    let (a, _b) = (world.peer("a"), world.peer("b"));
    world.leave(a);
    assert_eq!(world.refuse(a, sending("b", "x", None)), Refusal::Left);
    assert_eq!(world.refuse(a, Operation::Received), Refusal::Left);
    let leave = Operation::Leave { session: a, departure: Departure::Closed, detail: None };
    assert_eq!(world.refuse(a, leave), Refusal::Left);
}

#[test]
fn the_dead_are_reaped_once() {
    let mut world = World::new();
    let a = world.peer("a");
    let left = |events: &[Event]| {
        let left = events.iter().filter(|event| matches!(event, Event::MemberLeft { .. }));
        left.count()
    };
    assert_eq!(left(&world.reap(&[a, a])), 1);
    assert!(world.reap(&[a]).is_empty());
    let departed: Vec<_> = world.state.departed().map(|departed| departed.departure).collect();
    assert_eq!(departed, [Departure::Dead]);
}

#[test]
fn nothing_is_delivered_to_a_session_that_is_reaped_in_the_same_append() {
    let mut world = World::new();
    let (asker, owner, waiter) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let request = world.open(asker);
    world.take(waiter);
    world.ask(owner, Operation::Claim(request, CALL));
    world.wait(waiter);
    for order in [[waiter, owner], [owner, waiter]] {
        let mut world = World { state: world.state.clone(), ..world };
        world.reap(&order);
        let holders = |message: &&crate::bus::state::Message| {
            let delivery = message.delivery(&name("c"));
            matches!(delivery, Some(Delivery::InFlight { .. }))
        };
        assert_eq!(world.state.messages.values().filter(holders).count(), 0);
    }
}

#[test]
fn members_that_die_together_leave_no_mail_behind() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    world.assign(lead, agent);
    for order in [[lead, agent], [agent, lead]] {
        let mut world = World { state: world.state.clone(), ..world };
        world.reap(&order);
        world.pass(wait_times::ABSENT_MAIL_MS);
        world.due();
        assert_eq!(world.state.names().count(), 0, "generated names are forgotten");
    }
}

#[test]
fn two_names_that_are_forgotten_together_leave_nothing_behind() {
    let mut world = World::new();
    for order in [["a", "b"], ["b", "a"]] {
        let sessions = order.map(|called| world.peer(called));
        world.send(sessions[0], order[1], "one");
        world.send(sessions[1], order[0], "two");
        world.reap(&sessions);
        world.pass(wait_times::ABSENT_MAIL_MS);
        world.due();
        world.due();
        assert_eq!(world.state.names().count(), 0);
        assert_eq!(world.due(), []);
    }
}

#[test]
fn a_full_inbox_of_the_longest_name_is_abandoned_in_lines_that_fit() {
    let mut world = World::new();
    let (long, b) = ("n".repeat(64), world.peer("b"));
    let absent = world.peer(&long);
    world.leave(absent);
    for _ in 0..TeamLimits::default().unread {
        world.send(b, &long, "x");
    }
    world.pass(wait_times::ABSENT_MAIL_MS);
    // Each append ends a thousand or more messages.
    for _ in 0..20 {
        let events = world.due();
        let line = crate::bus::storage::file::line_format::encode(&Entry {
            seq: 1,
            ts: 0,
            tick: world.now.tick,
            id: CommandId(Uuid::nil()),
            by: None,
            events,
        });
        assert!(line.len() < crate::bus::storage::file::line_format::MAX_LINE_BYTES);
    }
    assert!(world.state.member(&name(&long)).is_none());
}

#[test]
fn only_its_bridge_acts_for_an_agent() {
    let mut world = World::new();
    let (lead, other) = (world.lead(), world.lead());
    let agent = world.agent(lead, "codex");
    let leave = |session| Operation::Leave {
        session,
        departure: Departure::Failed,
        detail: Some("exit code 1".into()),
    };
    assert_eq!(world.refuse(other, leave(agent)), Refusal::NotTheOwner);
    let events = world.ask(lead, leave(agent));
    assert_eq!(notices(&events, "orchestrator"), ["codex has failed: \"exit code 1\""]);
    assert!(notices(&events, "orchestrator-2").is_empty());
}

#[test]
fn the_end_of_an_agent_without_its_bridge_is_reported_to_every_orchestrator() {
    let mut world = World::new();
    let (lead, other) = (world.lead(), world.lead());
    let agent = world.agent(lead, "codex");
    world.leave(lead);
    let events = world.reap(&[agent]);
    assert_eq!(notices(&events, "orchestrator-2").len(), 1);
    assert!(world.state.session(other).is_some());
}

#[test]
fn only_an_agent_can_be_stopped_and_at_once_wins_over_gracefully() {
    let mut world = World::new();
    let (lead, _peer) = (world.lead(), world.peer("b"));
    let agent = world.agent(lead, "codex");
    let stop = |agent: &str, kill| Operation::Stop { agent: agent.into(), reason: None, kill };
    assert!(matches!(world.refuse(lead, stop("b", true)), Refusal::NotAnAgent { .. }));
    assert!(matches!(
        world.refuse(lead, stop("codx", true)),
        Refusal::UnknownMember { nearest, .. } if nearest == ["codex"]
    ));
    let events = world.ask(lead, stop("codex", false));
    assert_eq!(sent(&events).kind, MessageKind::Shutdown);
    assert!(world.ask(lead, stop("codex", false)).is_empty(), "once");
    assert!(!world.ask(lead, stop("codex", true)).is_empty());
    assert!(world.ask(lead, stop("codex", false)).is_empty());
    let again = Operation::Assign { session: agent, task: task() };
    assert!(matches!(world.refuse(lead, again), Refusal::Stopping { .. }));
}

#[test]
fn a_member_is_found_by_the_nearest_process_that_it_serves() {
    let mut world = World::new();
    let client = |pid| ProcessMark { pid, started: Some(7) };
    let mut join = |called: &str, kind, pid| {
        let mut new = world.joining(NameChoice::Chosen(name(called)), kind, &[]);
        new.client = Some(client(pid));
        let session = new.session;
        world.ask(None, Operation::Join(Box::new(new)));
        session
    };
    let outer = join("outer", MemberKind::Orchestrator, 10);
    let first = join("first", MemberKind::Peer, 20);
    let lead = join("chief", MemberKind::Orchestrator, 20);
    let serving = |pids: &[u32]| {
        let clients: Vec<_> = pids.iter().copied().map(client).collect();
        world.state.serving(&clients).map(|session| session.id)
    };
    assert_eq!(serving(&[30, 20, 10]), Some(lead));
    assert_eq!(serving(&[30, 10]), Some(outer));
    assert_eq!(serving(&[30]), None);
    assert_eq!(serving(&[]), None);
    let reused = ProcessMark { pid: 20, started: Some(8) };
    assert_eq!(world.state.serving(&[reused]), None);
    world.reap(&[lead]);
    assert_eq!(world.state.serving(&[client(20)]).map(|session| session.id), Some(first));
}

#[test]
fn the_reason_for_an_agents_end_is_recorded_once_however_long_its_queue_is() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    let tasks: Vec<_> = (0..=limits::MAX_QUEUED)
        .map(|number| {
            let task = world.assign(lead, agent);
            if number == 0 {
                world.ask(lead, Operation::StartTask(task.clone()));
            }
            task
        })
        .collect();
    // Each takes six bytes in a line, and seven in a quote.
    let detail = "\u{1}".repeat(limits::ERROR_CHARS - 100);
    let leave = Operation::Leave {
        session: agent,
        departure: Departure::Failed,
        detail: Some(detail.clone()),
    };
    let events = world.ask(lead, leave);
    // Ten tasks are named, and the others counted.
    let [notice] = &notices(&events, "orchestrator")[..] else { panic!("one notice: {events:?}") };
    assert!(notice.contains(&format!("{} was interrupted", tasks[0])), "{notice}");
    assert!(notice.ends_with(&format!(" and {} more", tasks.len() - limits::NOTICE_IDS)));
    let error = |task: &TaskId| world.state.task(task).unwrap().error.clone().unwrap();
    assert!(error(&tasks[0]).message.contains(&detail));
    for task in &tasks[1..] {
        let message = error(task).message;
        assert_eq!(message, format!("its agent ended; see {} for the reason", tasks[0]));
    }
    let left = world.state.departed().last().unwrap();
    assert_eq!(left.detail.as_ref(), Some(&detail));
}
