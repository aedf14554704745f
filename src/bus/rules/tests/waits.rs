//! Waiting: the sender's own append delivers the message to a waiting call.

use super::*;
use crate::domain::wait_times;

#[test]
fn the_senders_append_delivers_the_message_to_the_wait() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let call = world.wait(b);
    assert_eq!(world.state.session(b).unwrap().status(), "waiting");
    let events = world.ask(a, sending("b", "x", None));
    assert!(matches!(
        &events[..],
        [Event::MessageSent(sent), Event::MessageHanded { ids, session, call: to, method: DeliveryMethod::Pull, .. }]
            if *ids == [sent.id.clone()] && *session == b && *to == call
    ));
    assert_eq!(world.state.session(b).unwrap().status(), "idle");
    let end = Operation::EndWait { call };
    assert_eq!(world.refuse(b, end), Refusal::AlreadyDelivered);
}

#[test]
fn a_wait_returns_the_oldest_unread_that_fits_at_once() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let older = world.send(a, "c", "x");
    let newer = world.send(b, "c", "y");
    let call = world.wait_for(c, Some("b"), None);
    assert_eq!(world.held(c, call), [newer]);
    let call = world.wait(c);
    assert_eq!(world.held(c, call), [older]);
}

#[test]
fn a_wait_of_no_time_writes_nothing_when_nothing_fits() {
    let mut world = World::new();
    let a = world.peer("a");
    let call = world.call();
    let look = Operation::Wait { call, from: None, request: None, timeout_ms: 0 };
    assert!(world.ask(a, look).is_empty());
}

#[test]
fn a_wait_skips_messages_that_do_not_fit_its_filters() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let request = world.open(c);
    let both = world.wait_for(c, Some("b"), Some(&request));
    world.send(b, "c", "not about it");
    world.reply(a, "c", &request.to_string());
    assert!(world.held(c, both).is_empty());
    let answer = world.reply(b, "c", &request.to_string());
    assert_eq!(world.held(c, both), [answer.id]);
    assert_eq!(world.unread("c").len(), 2);
}

#[test]
fn one_message_answers_only_the_oldest_wait() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let (first, second) = (world.wait(b), world.wait(b));
    let one = world.send(a, "b", "x");
    assert_eq!(world.held(b, first), [one]);
    assert!(world.state.waits(b, second));
    let two = world.send(a, "b", "y");
    assert_eq!(world.held(b, second), [two]);
}

#[test]
fn a_shutdown_ends_every_wait_whatever_its_filters() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    let (first, second) = (world.wait_for(agent, Some("nobody"), None), world.wait(agent));
    let stop =
        Operation::Stop { agent: "codex".into(), reason: Some("enough".into()), kill: false };
    let events = world.ask(lead, stop);
    assert_eq!(world.held(agent, first), [sent(&events).id.clone()]);
    assert!(!world.state.waits(agent, first));
    assert!(!world.state.waits(agent, second));
    assert!(world.held(agent, second).is_empty());
}

#[test]
fn a_requeued_message_goes_to_another_wait_of_the_same_session() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let first = world.wait(b);
    let id = world.send(a, "b", "x");
    let second = world.wait(b);
    world.settle(b, first, false);
    assert_eq!(world.held(b, second), [id]);
}

#[test]
fn a_message_requeued_at_its_deadline_goes_to_a_wait_too() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.send(a, "b", "x");
    world.take(b);
    world.pass(wait_times::HANDED_MS - 1);
    let call = world.wait(b);
    world.pass(1);
    world.due();
    assert_eq!(world.held(b, call), [id]);
}

#[test]
fn a_wait_that_its_process_did_not_end_ends_after_its_timeout_and_some_slack() {
    let mut world = World::new();
    let a = world.peer("a");
    let call = world.wait(a);
    world.pass(60_000 + wait_times::WAIT_SLACK_MS - 1);
    assert!(world.due().is_empty());
    world.pass(1);
    world.due();
    assert!(!world.state.waits(a, call));
}

#[test]
fn a_wait_gets_nothing_that_falls_due_together_with_its_end() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let call = world.wait(b);
    let open = Operation::Open {
        description: text("x"),
        context: None,
        to: None,
        nudge_ms: 60_000 + wait_times::WAIT_SLACK_MS,
        ttl_ms: 900_000,
        lease_ms: None,
    };
    let end = world.wait_for(a, Some("b"), None);
    world.ask(a, open);
    assert!(!world.held(b, call).is_empty());
    world.pass(60_000 + wait_times::WAIT_SLACK_MS);
    world.due();
    assert!(world.held(a, end).is_empty());
    assert!(!world.state.waits(a, end));
}

#[test]
fn the_calls_of_a_turn_end_with_it_and_their_unproven_messages_are_requeued() {
    let mut world = World::new();
    let (lead, other) = (world.lead(), world.peer("other"));
    let agent = world.agent(lead, "codex");
    world.send(other, "codex", "w");
    let (shown, _) = world.take(agent);
    let id = world.send(other, "codex", "x");
    let (call, received) = world.take(agent);
    assert_eq!(received, std::slice::from_ref(&id));
    let waiting = world.wait_for(agent, Some("orchestrator"), None);
    let end = || Operation::EndCalls(agent);
    assert_eq!(world.refuse(other, end()), Refusal::NotTheOwner);
    world.settle(agent, shown, true);
    world.ask(lead, end());
    assert!(!world.state.waits(agent, waiting));
    assert!(world.held(agent, call).is_empty());
    assert_eq!(world.unread("codex"), [id]);
    // Only the next turn gets later messages.
    let next = world.send(lead, "codex", "y");
    assert_eq!(world.held(agent, waiting), []);
    assert!(world.unread("codex").contains(&next));
    assert_eq!(world.ask(lead, end()), []);
}

#[test]
fn an_answer_is_written_once_and_only_while_it_holds_something() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    world.send(a, "b", "x");
    let (call, _) = world.take(b);
    assert!(!world.state.is_written(b, call));
    assert_eq!(world.ask(b, Operation::AnswerWritten(call)).len(), 1);
    assert!(world.state.is_written(b, call));
    assert_eq!(world.ask(b, Operation::AnswerWritten(call)), []);
    world.settle(b, call, false);
    assert!(!world.state.is_written(b, call));
    assert_eq!(world.ask(b, Operation::AnswerWritten(call)), []);
}

#[test]
fn messages_requeued_by_a_cancelled_turn_go_to_none_of_its_waits() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    let id = world.send(lead, "codex", "x");
    world.take(agent);
    let waiting = world.wait(agent);
    world.ask(lead, Operation::EndCalls(agent));
    assert_eq!(world.held(agent, waiting), []);
    assert_eq!(world.unread("codex"), [id]);
}

#[test]
fn an_ended_wait_gets_nothing() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let call = world.wait(b);
    world.ask(b, Operation::EndWait { call });
    assert!(world.ask(b, Operation::EndWait { call }).is_empty());
    let id = world.send(a, "b", "x");
    assert_eq!(world.unread("b"), [id]);
}

#[test]
fn a_call_that_proves_a_message_does_not_get_it_again() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.send(a, "b", "x");
    let (received, _) = world.take(b);
    world.settle(b, received, false);
    let call = world.call();
    let mut wait =
        world.command(b, Operation::Wait { call, from: None, request: None, timeout_ms: 1 });
    wait.received = vec![received];
    world.run(&wait).unwrap();
    assert!(world.held(b, call).is_empty());
    assert_eq!(world.delivery(&id, "b"), Some(Delivery::Seen));
}

#[test]
fn a_wait_gets_messages_steered_into_the_turn_and_never_begins_beside_them() {
    let mut world = World::new();
    let lead = world.lead();
    let (agent, _) = (world.agent(lead, "codex"), world.peer("ann"));
    let steer = |world: &mut World| {
        let call = world.call();
        let take =
            Operation::Take { session: agent, call, method: DeliveryMethod::Steer, pick: all() };
        world.ask(lead, take);
        call
    };
    let wait = |world: &mut World, from: Option<&str>| {
        let call = world.call();
        let wait =
            Operation::Wait { call, from: from.map(name), request: None, timeout_ms: 60_000 };
        (call, world.ask(agent, wait))
    };
    let settle = |call, seen| Operation::Settle { session: agent, call, seen };
    let id = world.send(lead, "codex", "x");
    let steered = steer(&mut world);
    assert_eq!(wait(&mut world, Some("ann")).1, [], "it does not fit");
    let (call, _) = wait(&mut world, None);
    assert_eq!(world.held(agent, call), std::slice::from_ref(&id));
    // The wait keeps the message, even if the turn proves it later.
    world.ask(lead, settle(steered, true));
    assert_eq!(world.held(agent, call), [id]);

    world.send(lead, "codex", "y");
    let steered = steer(&mut world);
    world.ask(lead, settle(steered, true));
    let (_, began) = wait(&mut world, None);
    assert!(matches!(began[..], [Event::WaitStarted { .. }]), "{began:?}");
}
