//! Waiting: the sender's own append delivers the message to a waiting call.

use super::*;
use crate::bus::event::Envelope;
use crate::domain::ids::MessageId;
use crate::domain::messaging::{Priority, Signal};
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
    let look = Operation::Wait { call, from: None, request: None, reply_to: None, timeout_ms: 0 };
    assert!(world.ask(a, look).is_empty());
}

#[test]
fn a_wait_skips_messages_that_do_not_fit_its_filters() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let request = world.open(c);
    world.ask(b, Operation::Claim(request.clone(), CALL));
    let (call, _) = world.take(c);
    world.settle(c, call, true);
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
        urgency: None,
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
    let mut wait = world.command(
        b,
        Operation::Wait { call, from: None, request: None, reply_to: None, timeout_ms: 1 },
    );
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
        let wait = Operation::Wait {
            call,
            from: from.map(name),
            request: None,
            reply_to: None,
            timeout_ms: 60_000,
        };
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

/// A message of a member with a signal, in reply to another.
fn signalled(to: &str, word: &str, reply_to: &MessageId) -> Operation {
    let signal = Some(Signal::parse(word).unwrap());
    Operation::Send {
        to: to.into(),
        body: text("about it"),
        reply_to: Some(reply_to.to_string()),
        priority: Priority::Normal,
        more: Some(Box::new(Envelope { signal, ..Envelope::default() })),
    }
}

#[test]
fn a_wait_for_an_answer_gets_that_and_nothing_else() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let (asked, other) = (world.send(a, "b", "which colour?"), world.send(a, "b", "and the size?"));
    let (call, wait) = world.wait_for_answer(&asked);
    let began = world.ask(a, wait);
    assert!(
        matches!(&began[..], [Event::WaitStarted { reply_to: Some(id), .. }] if *id == asked),
        "{began:?}"
    );
    world.send(b, "a", "by the way");
    world.reply(b, "a", &other.to_string());
    for word in ["question", "ack", "report_progress"] {
        world.ask(b, signalled("a", word, &asked));
    }
    assert!(world.held(a, call).is_empty(), "none of them is the answer");
    let answer = world.reply(b, "a", &asked.to_string());
    assert_eq!(world.held(a, call), std::slice::from_ref(&answer.id));
    assert_eq!(world.unread("a").len(), 5, "the others are unread");

    // It may have come before the wait, and is unread again after a cancelled one.
    world.settle(a, call, false);
    let (call, wait) = world.wait_for_answer(&asked);
    world.ask(a, wait);
    assert_eq!(world.held(a, call), [answer.id]);
}

#[test]
fn only_the_sender_of_a_message_waits_for_its_answer() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let asked = world.send(a, "b", "which colour?");
    let (_, wait) = world.wait_for_answer(&asked);
    assert_eq!(world.refuse(b, wait.clone()), Refusal::NotYourQuestion { id: asked.clone() });
    assert_eq!(world.refuse(c, wait), Refusal::UnknownMessage { id: asked });
    let unknown = MessageId::from_bits(77);
    let (_, wait) = world.wait_for_answer(&unknown);
    assert_eq!(world.refuse(a, wait), Refusal::UnknownMessage { id: unknown });
}

#[test]
fn who_would_wait_for_somebody_who_waits_for_it_alone_is_told_whom_to_answer_first() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    // Each asks the next one, and b waits by name.
    let from_a = world.send(a, "b", "ready?");
    world.send(b, "c", "ready?");
    let from_c = world.send(c, "a", "ready?");
    let (of_a, wait) = world.wait_for_answer(&from_a);
    world.ask(a, wait);
    let of_b = world.wait_for(b, Some("c"), None);
    let (_, wait) = world.wait_for_answer(&from_c);
    let refusal = world.refuse(c, wait.clone());
    let expected = Refusal::Circle { chain: vec![name("a"), name("b")], asked: None };
    assert_eq!(refusal, expected);
    let said = "you would wait in a circle, because `a` waits for `b` and `b` waits for you: answer `b` first";
    assert_eq!(refusal.to_string(), said);

    // It does so, and then waits.
    let answer = world.send(c, "b", "yes");
    assert_eq!(world.held(b, of_b), [answer]);
    world.ask(c, wait);

    // The other way round, with the message that is to be answered. A question back is no answer to it.
    let back = world.ask(b, signalled("a", "question", &from_a));
    let back = sent(&back).id.clone();
    assert!(world.held(a, of_a).is_empty());
    let (_, wait) = world.wait_for_answer(&back);
    let refusal = world.refuse(b, wait.clone());
    let said = format!(
        "you would wait in a circle, because `a` waits for you: answer `a` first, with `{from_a}` as reply_to"
    );
    assert_eq!(refusal.to_string(), said);
    world.reply(b, "a", &from_a.to_string());
    world.ask(b, wait);
}

#[test]
fn nobody_waits_for_itself() {
    let mut world = World::new();
    let a = world.peer("a");
    for timeout_ms in [0, 60_000] {
        let (call, from) = (world.call(), Some(name("a")));
        let wait = Operation::Wait { call, from, request: None, reply_to: None, timeout_ms };
        assert_eq!(world.refuse(a, wait), Refusal::WaitForYourself);
    }
    // What its requester says of it ends the wait of who has claimed a request.
    let b = world.peer("b");
    let request = world.open(b);
    world.ask(a, Operation::Claim(request.clone(), CALL));
    let call = world.wait_for(a, None, Some(&request));
    let said = world.reply(b, "a", &request.to_string());
    assert_eq!(world.held(a, call), [said.id]);
}

#[test]
fn a_wait_that_several_can_end_is_part_of_no_circle() {
    let mut world = World::new();
    let (a, b, _) = (world.peer("a"), world.peer("b"), world.peer("c"));
    world.wait(a);
    world.wait_for(b, Some("a"), None);
    let mut world = World::new();
    let (a, b, _) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let all = world.send(a, "all", "ready?");
    let (_, wait) = world.wait_for_answer(&all);
    world.ask(a, wait);
    world.wait_for(b, Some("a"), None);
    // Looking once is no wait, and a message that is there ends one at once.
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    world.wait_for(a, Some("b"), None);
    let look = |call| {
        let from = Some(name("a"));
        Operation::Wait { call, from, request: None, reply_to: None, timeout_ms: 0 }
    };
    let call = world.call();
    assert!(world.ask(b, look(call)).is_empty());
}
