//! Acknowledging messages: by their recipients alone, and never back.

use crate::bus::event::{Envelope, MessageAcknowledged};
use crate::bus::rules::tests::*;
use crate::domain::limits;
use crate::domain::messaging::Acknowledgement::{self, Acked, Resolved, Superseded};
use crate::domain::messaging::{Priority, Signal};
use crate::domain::wait_times;

fn said(ids: &[&MessageId], status: Acknowledgement) -> Operation {
    let ids = ids.iter().map(|id| (*id).clone()).collect();
    Operation::Acknowledge { ids, status, note: None }
}

fn acknowledged(events: &[Event]) -> Vec<&MessageAcknowledged> {
    let acknowledged = events.iter().filter_map(|event| match event {
        Event::MessageAcknowledged(acknowledged) => Some(acknowledged),
        _ => None,
    });
    acknowledged.collect()
}

/// Returns whether an acknowledgement was written after another one.
fn goes_from(before: Acknowledgement, after: Acknowledgement) -> bool {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.send(a, "b", "x");
    let (call, _) = world.take(b);
    world.settle(b, call, true);
    world.ask(b, said(&[&id], before));
    let is_written = !world.ask(b, said(&[&id], after)).is_empty();
    let expected = if is_written { after } else { before };
    assert_eq!(world.delivery(&id, "b"), Some(Delivery::Acknowledged(expected)));
    is_written
}

#[test]
fn an_acknowledgement_goes_forward_only_and_the_same_again_writes_nothing() {
    for before in [Acked, Resolved, Superseded] {
        for after in [Acked, Resolved, Superseded] {
            let expected = before == Acked && after != Acked;
            assert_eq!(goes_from(before, after), expected, "{before:?} to {after:?}");
        }
    }
}

#[test]
fn every_state_of_a_message_that_a_recipient_can_know_goes_on_to_each_acknowledgement() {
    for status in [Acked, Resolved, Superseded] {
        for state in ["unread", "by a hook", "written", "proven now", "requeued", "seen"] {
            let mut world = World::new();
            let (a, b) = (world.peer("a"), world.peer("b"));
            let id = world.send(a, "b", "x");
            let mut command = world.command(b, said(&[&id], status));
            if state == "by a hook" {
                let (call, method) = (world.call(), DeliveryMethod::Hook);
                world.ask(b, Operation::Take { session: b, call, method, pick: all() });
            } else if state != "unread" {
                let (call, _) = world.take(b);
                match state {
                    "written" => drop(world.ask(b, Operation::AnswerWritten(call))),
                    "proven now" => command.received = vec![call],
                    "requeued" => drop(world.settle(b, call, false)),
                    _ => drop(world.settle(b, call, true)),
                }
            }
            let events = world.run(&command).unwrap();
            let is_proven = events.iter().any(|event| matches!(event, Event::MessageSeen { .. }));
            assert_eq!(is_proven, state == "proven now", "{state}");
            assert_eq!(acknowledged(&events).len(), 1, "{state}");
            assert_eq!(world.delivery(&id, "b"), Some(Delivery::Acknowledged(status)), "{state}");
            assert_eq!(world.unread("b"), [], "{state}");
            world.pass(10 * wait_times::HANDED_MS);
            assert_eq!(world.due(), [], "{state}: no deadline is left");
            assert!(world.take(b).1.is_empty(), "{state}");
        }
    }
}

#[test]
fn acknowledging_one_message_of_a_call_proves_no_other_of_it() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let with_it = [world.send(a, "b", "1"), world.send(a, "b", "2")];
    let (call, _) = world.take(b);
    world.ask(b, Operation::AnswerWritten(call));
    let events = world.ask(b, said(&[&with_it[1]], Acked));
    assert_eq!((events.len(), acknowledged(&events).len()), (1, 1));
    assert_eq!(world.delivery(&with_it[1], "b"), Some(Delivery::Acknowledged(Acked)));
    assert_eq!(world.held(b, call), with_it[..1]);
    world.settle(b, call, false);
    assert_eq!(world.unread("b"), with_it[..1]);
}

#[test]
fn a_message_in_an_answer_that_nobody_has_had_is_not_acknowledged_yet() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let ids = [world.send(a, "b", "1"), world.send(a, "b", "2")];
    world.take(b);
    let refusal = world.refuse(b, said(&[&ids[1]], Acked));
    let expected = format!(
        "the message `{}` is in the answer of another call, which may not have reached you when you \
         wrote this one: read it there, then call again",
        ids[1]
    );
    assert_eq!(refusal.to_string(), expected);
    // Its process dies with the answer: the next session of the name reads both.
    world.reap(&[b]);
    let next = world.peer("b");
    assert_eq!(world.take(next).1, ids);
}

#[test]
fn a_request_that_a_session_acknowledged_before_it_died_is_shown_to_the_next_one_afresh() {
    let mut world = World::new();
    let (asker, a) = (world.peer("asker"), world.peer("a"));
    let request = world.open(asker);
    let shown = world.shown(&request);
    world.ask(a, said(&[&shown], Resolved));
    world.reap(&[a]);
    let next = world.peer("a");
    assert_eq!(world.unread("a"), std::slice::from_ref(&shown));
    world.ask(next, said(&[&shown], Acked));
    assert_eq!(world.delivery(&shown, "a"), Some(Delivery::Acknowledged(Acked)));
    world.reap(&[next]);
    world.peer("a");
    world.leave(asker);
    world.pass(10 * wait_times::ABSENT_MAIL_MS);
    world.due();
    assert_eq!(world.delivery(&shown, "a"), Some(Delivery::Superseded));
}

#[test]
fn an_acknowledged_message_leaves_the_sums_of_its_inbox_as_they_are_counted() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let ids = [world.send(a, "b", "12345"), world.send(a, "b", "678")];
    world.ask(b, said(&[&ids[0]], Resolved));
    let member = world.state.member(&name("b")).unwrap();
    assert_eq!((member.unread.len(), member.unread_bytes), (1, 3));
    assert_eq!(world.unread("b"), ids[1..]);
}

#[test]
fn several_messages_are_acknowledged_by_one_event_or_not_at_all() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let ids = [world.send(a, "b", "1"), world.send(a, "b", "2"), world.send(a, "b", "3")];
    let own = world.send(b, "a", "4");
    let refusal = world.refuse(b, said(&[&ids[0], &own], Acked));
    assert_eq!(refusal, Refusal::OwnMessage { id: own });
    world.ask(b, said(&[&ids[0]], Resolved));
    let note = Some("merged".to_owned());
    let all = vec![ids[0].clone(), ids[1].clone(), ids[1].clone(), ids[2].clone()];
    let events = world.ask(b, Operation::Acknowledge { ids: all, status: Acked, note });
    let [event] = acknowledged(&events)[..] else { panic!("{events:?}") };
    assert_eq!(event.ids, ids[1..], "each once, and only those that go forward");
    assert_eq!((event.member.as_str(), event.note.as_deref()), ("b", Some("merged")));
}

#[test]
fn only_a_recipient_acknowledges_a_message() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let id = world.send(a, "b", "x");
    world.take(b);
    let refusal = world.refuse(a, said(&[&id], Acked));
    let expected = format!("you sent `{id}` yourself: its recipients acknowledge it");
    assert_eq!(refusal.to_string(), expected);
    let unknown = Refusal::UnknownMessage { id: id.clone() };
    assert_eq!(world.refuse(c, said(&[&id], Acked)), unknown);
    let never = MessageId::from_bits(7);
    let unknown = Refusal::UnknownMessage { id: never.clone() };
    assert_eq!(world.refuse(b, said(&[&never], Acked)), unknown);
}

#[test]
fn a_message_that_ended_too_many_messages_ago_is_unknown() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let first = world.send(a, "b", "first");
    let second = world.send(a, "b", "second");
    world.ask(b, said(&[&first, &second], Acked));
    for _ in 0..limits::KEPT_ENDED - 1 {
        let id = world.send(a, "b", "x");
        world.ask(b, said(&[&id], Acked));
    }
    let unknown = Refusal::UnknownMessage { id: first.clone() };
    assert_eq!(world.refuse(b, said(&[&first], Resolved)), unknown);
    assert_eq!(world.ask(b, said(&[&second], Resolved)).len(), 1, "the last one that is kept");
}

#[test]
fn a_message_that_was_withdrawn_or_has_expired_is_not_acknowledged() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let request = world.open(a);
    let shown = world.shown(&request);
    world.ask(b, Operation::Claim(request, CALL));
    assert_eq!(world.delivery(&shown, "c"), Some(Delivery::Superseded));
    let refusal = world.refuse(c, said(&[&shown], Acked)).to_string();
    let expected =
        format!("the message `{shown}` was withdrawn before you had read it: leave it out");
    assert_eq!(refusal, expected);

    let id = world.send(b, "a", "x");
    let expired = Event::MessageExpired { id: id.clone(), member: name("a") };
    let proposal = crate::bus::event::Proposal {
        id: CommandId(world.fresh()),
        by: None,
        events: vec![expired],
    };
    world.append(proposal);
    let refusal = world.refuse(a, said(&[&id], Acked)).to_string();
    assert_eq!(refusal, format!("the message `{id}` expired before you had read it: leave it out"));
}

#[test]
fn the_sizes_of_an_acknowledgement_are_bounded() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.send(a, "b", "x");
    assert_eq!(world.refuse(b, said(&[], Acked)), Refusal::NothingToAcknowledge);
    let many = limits::ACKNOWLEDGED_AT_ONCE + 1;
    let refusal = world.refuse(b, said(&vec![&id; many], Acked));
    assert_eq!(refusal, Refusal::TooManyToAcknowledge { count: many });
    let mut noting = |note: String| {
        let ids = vec![id.clone()];
        world.try_ask(b, Operation::Acknowledge { ids, status: Acked, note: Some(note) })
    };
    assert_eq!(noting(" \n".into()).unwrap_err(), Refusal::Empty { what: "note" });
    let bytes = limits::ACKNOWLEDGEMENT_NOTE_BYTES + 1;
    assert_eq!(noting("x".repeat(bytes)).unwrap_err(), Refusal::NoteTooLong { bytes });
    assert_eq!(noting("x".repeat(bytes - 1)).unwrap().len(), 1);
}

#[test]
fn acknowledging_the_message_of_a_request_changes_nothing_of_the_request() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let request = world.open(a);
    let shown = world.shown(&request);
    let before = world.state.request(&request).cloned();
    let events = world.ask(b, said(&[&shown], Superseded));
    assert_eq!(events.len(), 1);
    assert_eq!(world.state.request(&request).cloned(), before);
    assert!(!world.ask(b, Operation::Claim(request.clone(), CALL)).is_empty());
    world.reply(b, "a", &request.to_string());
    assert_eq!(world.delivery(&shown, "b"), Some(Delivery::Acknowledged(Superseded)));
}

#[test]
fn a_broadcast_has_an_acknowledgement_of_each_recipient() {
    let mut world = World::new();
    let (lead, b, c) = (world.lead(), world.peer("b"), world.peer("c"));
    let events = world.ask(lead, Operation::Broadcast(text("x")));
    let id = sent(&events).id.clone();
    world.ask(b, said(&[&id], Acked));
    world.ask(c, said(&[&id], Resolved));
    let deliveries = ["b", "c"].map(|name| world.delivery(&id, name).unwrap());
    assert_eq!(deliveries, [Acked, Resolved].map(Delivery::Acknowledged));
    assert_eq!(world.refuse(lead, said(&[&id], Acked)), Refusal::OwnMessage { id });
}

/// Resolves a message, and with it the thread that it begins.
fn resolved(id: &MessageId, note: Option<&str>) -> Operation {
    let note = note.map(str::to_owned);
    Operation::Acknowledge { ids: vec![id.clone()], status: Resolved, note }
}

/// Returns the threads that events resolve, with the summary.
fn threads(events: &[Event]) -> Vec<(MessageId, String)> {
    let resolved = events.iter().filter_map(|event| match event {
        Event::ThreadResolved(resolved) => Some(resolved),
        _ => None,
    });
    resolved
        .flat_map(|one| one.threads.iter().map(|id| (id.clone(), one.summary.clone())))
        .collect()
}

#[test]
fn who_resolves_the_first_message_of_a_thread_and_says_how_resolves_the_thread() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let first = world.send(a, "b", "which colour?");
    let reply = world.reply(b, "a", &first.to_string());
    let is_resolved = |world: &World| world.state.message(&first).unwrap().resolved;

    assert_eq!(threads(&world.ask(a, resolved(&reply.id, Some("green")))), [], "not the first");
    assert_eq!(threads(&world.ask(b, resolved(&first, None))), [], "it says nothing");
    assert!(!is_resolved(&world));
    let expected = [(first.clone(), "it is green".to_owned())];
    assert_eq!(threads(&world.ask(b, resolved(&first, Some("it is green")))), expected);
    assert!(is_resolved(&world));
    let expected = [(first.clone(), "a light green".to_owned())];
    assert_eq!(threads(&world.ask(b, resolved(&first, Some("a light green")))), expected);

    // A message in the thread reopens it, and it can be resolved once more.
    world.reply(a, "b", &first.to_string());
    assert!(!is_resolved(&world));
    let expected = [(first.clone(), "or blue".to_owned())];
    assert_eq!(threads(&world.ask(b, resolved(&first, Some("or blue")))), expected);
    assert!(is_resolved(&world));
}

#[test]
fn who_has_a_mere_copy_of_a_message_resolves_its_own_receipt_and_not_the_thread() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let mentions = vec![name("c")];
    let more = Envelope { mentions, ..Envelope::default() };
    let asking = Operation::Send {
        to: "b".into(),
        body: text("which colour? @c may know"),
        reply_to: None,
        priority: Priority::Normal,
        more: Some(Box::new(more)),
    };
    let first = sent(&world.ask(a, asking)).id.clone();
    assert_eq!(threads(&world.ask(c, resolved(&first, Some("green")))), []);
    assert_eq!(world.delivery(&first, "c"), Some(Delivery::Acknowledged(Resolved)));
    assert!(!world.state.message(&first).unwrap().resolved);
    assert_eq!(threads(&world.ask(b, resolved(&first, Some("blue")))).len(), 1);
}

#[test]
fn neither_a_receipt_nor_another_thread_reopens_one() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let first = world.send(a, "b", "which colour?");
    let other = world.send(a, "b", "and the size?");
    world.reply(b, "a", &first.to_string());
    world.ask(b, resolved(&first, Some("green")));
    world.reply(b, "a", &other.to_string());
    let signal = Some(Signal::parse("ack").unwrap());
    let thanks = Operation::Send {
        to: "b".into(),
        body: text("thanks"),
        reply_to: Some(first.to_string()),
        priority: Priority::Normal,
        more: Some(Box::new(Envelope { signal, ..Envelope::default() })),
    };
    world.ask(a, thanks);
    assert!(world.state.message(&first).unwrap().resolved);
    // What was put aside cannot be resolved.
    world.ask(b, said(&[&other], Superseded));
    assert_eq!(world.ask(b, resolved(&other, Some("large"))), []);
}

#[test]
fn only_who_has_resolved_a_thread_corrects_its_summary() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let first = world.send(a, "all", "which colour?");
    let by =
        |by: &str| Refusal::ThreadResolved { id: first.clone(), by: Some(name(by)), summary: None };
    world.ask(b, resolved(&first, Some("green")));
    assert_eq!(world.refuse(c, resolved(&first, Some("blue"))), by("b"));
    // What it has dealt with itself, it may say.
    assert_eq!(world.ask(c, resolved(&first, None)).len(), 1);
    assert_eq!(world.refuse(c, resolved(&first, Some("blue"))), by("b"));
    assert_eq!(threads(&world.ask(b, resolved(&first, Some("light green")))).len(), 1);

    world.ask(c, sending("a", "rather blue", Some(&first.to_string())));
    assert_eq!(threads(&world.ask(c, resolved(&first, Some("blue")))).len(), 1);
    assert_eq!(world.refuse(b, resolved(&first, Some("green"))), by("c"));
}
