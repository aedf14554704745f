//! Sending and receiving, and the delivery methods of a message.

use super::*;
use crate::domain::limits;
use crate::domain::limits::TeamLimits;
use crate::domain::wait_times;

#[test]
fn messages_are_delivered_oldest_first_and_each_once() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let ids: Vec<_> = (0..5).map(|_| world.send(a, "b", "x")).collect();
    let few = Pick { limit: 2, ..all() };
    assert_eq!(world.take_with(b, few).1, ids[..2]);
    assert_eq!(world.take(b).1, ids[2..]);
    assert!(world.take(b).1.is_empty());
}

#[test]
fn one_message_is_delivered_however_long_it_is_and_then_as_many_as_fit() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let ids: Vec<_> = (0..3).map(|_| world.send(a, "b", "0123456789")).collect();
    let bytes = |bytes, head_bytes| Pick { bytes, head_bytes, ..all() };
    assert_eq!(world.take_with(b, bytes(5, 100)).1, ids[..1]);
    assert_eq!(world.take_with(b, bytes(5, 2)).1, ids[1..]);
}

#[test]
fn a_pick_looks_at_sender_and_kind() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let from_a = world.send(a, "c", "x");
    let from_b = world.send(b, "c", "y");
    let only_b = Pick { from: Some(name("B")), ..all() };
    assert_eq!(world.take_with(c, only_b).1, [from_b]);
    let only_requests = Pick { kind: Some(MessageKind::Request), ..all() };
    assert!(world.take_with(c, only_requests).1.is_empty());
    assert_eq!(world.take(c).1, [from_a]);
}

#[test]
fn seen_needs_proof_by_a_later_call() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.send(a, "b", "x");
    let (call, _) = world.take(b);
    assert!(matches!(world.delivery(&id, "b"), Some(Delivery::InFlight { .. })));
    let mut next = world.command(b, Operation::Received);
    next.received = vec![call];
    world.run(&next).unwrap();
    assert_eq!(world.delivery(&id, "b"), Some(Delivery::Seen));
}

#[test]
fn the_messages_of_a_cancelled_call_are_unread_again_with_the_same_ids() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let ids = [world.send(a, "b", "x"), world.send(a, "b", "y")];
    let (call, _) = world.take(b);
    world.settle(b, call, false);
    assert_eq!(world.take(b).1, ids);
}

#[test]
fn a_message_in_flight_is_requeued_at_its_deadline_and_not_before() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.send(a, "b", "x");
    world.take(b);
    world.pass(wait_times::HANDED_MS - 1);
    assert!(world.take(b).1.is_empty());
    world.pass(1);
    assert_eq!(world.take(b).1, [id], "the command itself writes what is due");
}

#[test]
fn a_late_proof_still_counts_until_another_call_has_the_message() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.send(a, "b", "x");
    let (call, _) = world.take(b);
    world.pass(wait_times::HANDED_MS);
    world.due();
    let mut take = world.command(
        b,
        Operation::Take {
            session: b,
            call: CallId(Uuid::max()),
            method: DeliveryMethod::Pull,
            pick: all(),
        },
    );
    take.received = vec![call];
    let events = world.run(&take).unwrap();
    assert!(!events.iter().any(|event| matches!(event, Event::MessageHanded { .. })));
    assert_eq!(world.delivery(&id, "b"), Some(Delivery::Seen));
}

#[test]
fn a_late_proof_does_not_count_once_another_call_has_the_message() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.send(a, "b", "x");
    let (first, _) = world.take(b);
    world.settle(b, first, false);
    let (second, _) = world.take(b);
    assert!(world.settle(b, first, true).is_empty());
    assert!(
        matches!(world.delivery(&id, "b"), Some(Delivery::InFlight { call, .. }) if call == second)
    );
}

#[test]
fn the_end_of_a_session_requeues_its_messages_in_flight() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.send(a, "b", "x");
    world.take(b);
    world.reap(&[b]);
    assert_eq!(world.unread("b"), [id]);
}

#[test]
fn messages_delivered_by_a_turn_have_no_deadline_but_the_turns() {
    for method in [
        DeliveryMethod::Inject,
        DeliveryMethod::Prompt,
        DeliveryMethod::Steer,
        DeliveryMethod::Drain,
    ] {
        let mut world = World::new();
        let lead = world.lead();
        let agent = world.agent(lead, "codex");
        let id = world.send(lead, "codex", "x");
        let call = world.call();
        let take = Operation::Take { session: agent, call, method, pick: all() };
        world.ask(lead, take);
        world.pass(10 * wait_times::HANDED_MS);
        assert!(world.due().is_empty());
        let seen = Operation::Settle { session: agent, call, seen: true };
        world.ask(lead, seen);
        assert_eq!(world.delivery(&id, "codex"), Some(Delivery::Seen));
    }
}

#[test]
fn a_message_steered_in_vain_is_delivered_by_the_next_method_with_the_same_id() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    let id = world.send(lead, "codex", "x");
    let mut take = |method| {
        let call = world.call();
        let take = Operation::Take { session: agent, call, method, pick: all() };
        world.ask(lead, take);
        let held = world.held(agent, call);
        let seen = method != DeliveryMethod::Steer;
        let settle = Operation::Settle { session: agent, call, seen };
        let nothing_else = world.take(agent).1;
        world.ask(lead, settle);
        (held, nothing_else)
    };
    assert_eq!(take(DeliveryMethod::Steer), (vec![id.clone()], Vec::new()));
    assert_eq!(take(DeliveryMethod::Drain), (vec![id.clone()], Vec::new()));
    assert_eq!(take(DeliveryMethod::Prompt), (Vec::new(), Vec::new()), "it is seen");
    assert_eq!(world.delivery(&id, "codex"), Some(Delivery::Seen));
}

#[test]
fn only_its_bridge_reports_the_delivery_methods_of_an_agent() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    let stranger = world.peer("a");
    let report = || Operation::DeliveryMethods {
        session: agent,
        methods: vec![DeliveryMethod::Steer, DeliveryMethod::Prompt],
    };
    assert_eq!(world.refuse(stranger, report()), Refusal::NotTheOwner);
    assert_eq!(world.ask(lead, report()).len(), 1);
    assert_eq!(world.ask(lead, report()), [], "nothing new");
    let live = world.state.session(agent).unwrap();
    assert_eq!(live.methods, [DeliveryMethod::Steer, DeliveryMethod::Prompt]);
}

#[test]
fn a_message_delivered_by_a_hook_has_no_deadline_and_is_found_by_its_method() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let (by_hook, by_pull) = (world.send(a, "b", "x"), world.send(a, "b", "y"));
    let call = world.call();
    let mut pick = all();
    pick.limit = 1;
    let take = Operation::Take { session: b, call, method: DeliveryMethod::Hook, pick };
    world.ask(b, take);
    let (pull, _) = world.take(b);
    assert_eq!(world.state.calls_in_flight_by(b, DeliveryMethod::Hook), [call]);
    world.pass(10 * wait_times::HANDED_MS);
    world.due();
    assert_eq!(world.unread("b"), [by_pull]);
    let mut proof = world.command(b, Operation::Received);
    proof.received = world.state.calls_in_flight_by(b, DeliveryMethod::Hook);
    world.run(&proof).unwrap();
    assert_eq!(world.delivery(&by_hook, "b"), Some(Delivery::Seen));
    assert_ne!(call, pull);
}

#[test]
fn no_session_receives_or_settles_the_messages_of_a_stranger() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    world.send(a, "b", "x");
    let (call, _) = world.take(b);
    let take = Operation::Take { session: b, call, method: DeliveryMethod::Pull, pick: all() };
    assert_eq!(world.refuse(a, take), Refusal::NotTheOwner);
    let settle = Operation::Settle { session: b, call, seen: true };
    assert_eq!(world.refuse(a, settle), Refusal::NotTheOwner);
}

#[test]
fn a_message_is_its_authors_and_its_addressees_alone() {
    let mut world = World::new();
    let (a, _b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let id = world.send(a, "b", "x");
    let message = world.state.message(&id).unwrap();
    let sees = |member: &str| message.is_visible_to(&name(member));
    assert_eq!((sees("a"), sees("b"), sees("c")), (true, true, false));
    let refusal = world.refuse(c, sending("a", "what was it?", Some(&id.to_string())));
    assert_eq!(refusal, Refusal::UnknownMessage { id });
}

#[test]
fn replies_form_a_thread() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let first = world.send(a, "b", "x");
    let second = world.reply(b, "a", &first.to_string());
    let third = world.reply(a, "b", &second.id.to_string());
    assert_eq!(second.kind, MessageKind::Message);
    assert_eq!(third.reply_to.as_ref(), Some(&second.id));
    assert_eq!(third.thread.as_ref(), Some(&first));
    assert_eq!(world.state.message(&first).unwrap().thread, first);
}

#[test]
fn a_member_whose_name_a_word_for_others_is_gets_its_mail() {
    let mut world = World::new();
    let (a, user) = (world.peer("a"), world.joined_before("user"));
    world.send(a, "user", "x");
    assert_eq!(world.unread("user").len(), 1);
    let to_myself = Refusal::ToYourself { name: Name::parse("user").unwrap() };
    assert_eq!(world.refuse(user, sending("user", "x", None)), to_myself);
}

#[test]
fn bad_arguments_are_refused_with_a_sentence() {
    let mut world = World::new();
    let (a, _codex) = (world.peer("a"), world.peer("codex"));
    let to_myself = Refusal::ToYourself { name: Name::parse("a").unwrap() };
    for me in ["A", "you", "myself"] {
        assert_eq!(world.refuse(a, sending(me, "x", None)), to_myself);
    }
    let refusal = world.refuse(a, sending("cdex", "x", None));
    assert_eq!(refusal.to_string(), "no member is named `cdex`: did you mean `codex`?");
    assert_eq!(world.refuse(a, sending("Everyone", "x", None)), Refusal::ToAll);
    for word in ["user", "User"] {
        let to_user = Refusal::ToUser { word: word.to_owned() };
        assert_eq!(world.refuse(a, sending(word, "x", None)), to_user);
    }
    assert_eq!(world.refuse(a, sending("bridge", "x", None)), Refusal::ToBridge);
    let refusal = world.refuse(a, sending("s12", "x", None));
    assert!(matches!(refusal, Refusal::NoSession { .. }));
    for several in ["codex, a", r#"["codex","a"]"#] {
        let refusal = world.refuse(a, sending(several, "x", None));
        assert_eq!(refusal, Refusal::ToSeveral { text: several.to_owned() });
    }
    for other in ["task-aaaaaaaa", "perm-aaaaaaaa"] {
        let refusal = world.refuse(a, sending("codex", "x", Some(other)));
        assert!(matches!(refusal, Refusal::NotAnswerable { id, .. } if id == other));
    }
    assert!(matches!(world.refuse(a, sending("codex", " \n", None)), Refusal::Empty { .. }));
    let long = "x".repeat(limits::MAX_CONTENT_BYTES + 1);
    assert!(matches!(world.refuse(a, sending("codex", &long, None)), Refusal::TooLong { .. }));
    assert!(matches!(world.refuse(a, sending("codex", "x", Some("nonsense"))), Refusal::Id(_)));
    assert!(matches!(
        world.refuse(a, sending("codex", "x", Some("req-aaaaaaaa"))),
        Refusal::UnknownRequest { .. }
    ));
    assert!(matches!(
        world.refuse(a, sending(&"../".repeat(1000), "x", None)),
        Refusal::UnknownMember { name, .. } if name.len() <= limits::SHOWN_NAME_CHARS
    ));
}

#[test]
fn an_inbox_has_a_limit_and_a_broadcast_skips_full_ones() {
    let mut world = World::new();
    let (a, b, _c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    for _ in 0..TeamLimits::default().unread {
        world.send(a, "b", "x");
    }
    assert_eq!(
        world.refuse(a, sending("b", "x", None)),
        Refusal::InboxFull { name: name("b"), limit: TeamLimits::default().unread }
    );
    let events = world.ask(a, Operation::Broadcast(text("to all")));
    assert_eq!(sent(&events).to.named(), [name("c")]);
    world.take_with(b, Pick { limit: 1, ..all() });
    world.send(a, "b", "x");
}

#[test]
fn an_inbox_has_a_limit_of_bytes_too() {
    let mut world = World::new();
    let (a, b, _c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let long = || Operation::Send {
        to: "b".into(),
        body: Body::Blob { id: Uuid::nil(), bytes: limits::MAX_CONTENT_BYTES as u64, sha256: None },
        reply_to: None,
        priority: Priority::Normal,
        more: None,
    };
    for _ in 0..128 {
        world.ask(a, long());
    }
    let refusal = world.refuse(a, sending("b", "x", None)).to_string();
    assert_eq!(
        refusal,
        "the inbox of `b` is full (128 MiB of unread messages): wait until it has read some"
    );
    let events = world.ask(a, Operation::Broadcast(text("to all")));
    assert_eq!(sent(&events).to.named(), [name("c")]);
    let (call, _) = world.take_with(b, Pick { limit: 1, ..all() });
    world.ask(a, long());
    world.settle(b, call, false);
    world.refuse(a, long());
    // A snapshot does not store the size of an inbox.
    let snapshot = serde_json::to_vec(&world.state).unwrap();
    world.state = serde_json::from_slice(&snapshot).unwrap();
    world.state.rebuild();
    world.refuse(a, long());
    let (call, _) = world.take_with(b, Pick { limit: 2, ..all() });
    world.settle(b, call, true);
    world.ask(a, long());
}

#[test]
fn a_broadcast_is_for_all_live_members_but_the_sender() {
    let mut world = World::new();
    let (a, _b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let gone = world.peer("gone");
    world.leave(gone);
    let events = world.ask(a, Operation::Broadcast(text("to all")));
    assert_eq!(sent(&events).to.named(), [name("b"), name("c")]);
    world.leave(c);
    let alone = world.state.live(&name("b")).unwrap().id;
    world.leave(alone);
    assert!(world.ask(a, Operation::Broadcast(text("anyone?"))).is_empty());
}

#[test]
fn a_duplicate_command_does_nothing() {
    let mut world = World::new();
    let (a, _b) = (world.peer("a"), world.peer("b"));
    let send = world.command(a, sending("b", "x", None));
    assert_eq!(world.run(&send).unwrap().len(), 1);
    assert!(world.run(&send).unwrap().is_empty());
    world.pass(wait_times::ABSENT_MAIL_MS);
    assert!(world.run(&send).unwrap().is_empty());
    assert_eq!(world.unread("b").len(), 1);
}

#[test]
fn an_ended_message_stays_for_a_while_and_then_leaves_the_state() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let first = world.send(a, "b", "x");
    let (call, _) = world.take(b);
    world.settle(b, call, true);
    for _ in 0..limits::KEPT_ENDED {
        assert!(world.state.message(&first).is_some());
        world.send(a, "b", "x");
        let (call, _) = world.take(b);
        world.settle(b, call, true);
    }
    assert!(world.state.message(&first).is_none());
    assert_eq!(world.state.messages.len(), limits::KEPT_ENDED);
}
