//! Rates and doubles: a member sends at most so fast, and the same message once.

use crate::bus::rules::command::ClaimUpdate;
use crate::bus::rules::tests::*;
use crate::domain::limits::{self, TeamLimits};
use crate::domain::member::Label;

/// A team whose orchestrator has set the limits.
fn team(messages_per_minute: u64, message_burst: u64) -> (World, SessionId, SessionId) {
    let mut world = World::new();
    let (lead, ann) = (world.lead(), world.peer("ann"));
    world.peer("bob");
    let limits = TeamLimits { messages_per_minute, message_burst, ..TeamLimits::default() };
    world.ask(lead, Operation::Limit(limits));
    (world, lead, ann)
}

fn opening(description: &str, to: Option<&str>) -> Operation {
    Operation::Open {
        description: text(description),
        context: None,
        to: to.map(str::to_owned),
        nudge_ms: 1_000,
        ttl_ms: 60_000,
        lease_ms: None,
        urgency: None,
    }
}

fn opened(events: &[Event]) -> RequestId {
    let opened = events.iter().find_map(|event| match event {
        Event::RequestOpened(opened) => Some(opened.id.clone()),
        _ => None,
    });
    opened.unwrap()
}

fn too_fast(world: &mut World, by: SessionId, operation: Operation) -> u64 {
    match world.refuse(by, operation) {
        Refusal::TooFast { wait_ms, .. } => wait_ms,
        other => panic!("{other:?}"),
    }
}

/// A peer whose configuration has a burst of so many messages.
fn peer_with_burst(world: &mut World, called: &str, message_burst: u64) -> SessionId {
    let mut new = world.joining(NameChoice::Chosen(name(called)), MemberKind::Peer, &[]);
    new.description.limits =
        Some(TeamLimits { messages_per_minute: 60, message_burst, ..TeamLimits::default() });
    let session = new.session;
    world.ask(None, Operation::Join(Box::new(new)));
    session
}

#[test]
fn a_peer_that_begins_a_team_sets_its_limits_and_one_that_comes_later_does_not() {
    let mut world = World::new();
    let ann = peer_with_burst(&mut world, "ann", 3);
    let bob = peer_with_burst(&mut world, "bob", 9);
    for (peer, to) in [(ann, "bob"), (bob, "ann")] {
        for number in 0..3 {
            world.send(peer, to, &format!("number {number}"));
        }
        assert_eq!(too_fast(&mut world, peer, sending(to, "one more", None)), 1_000);
    }
    // An orchestrator brings its own, which last when it has left.
    let lead = world.lead();
    let limits = TeamLimits { messages_per_minute: 60, message_burst: 4, ..TeamLimits::default() };
    world.ask(lead, Operation::Limit(limits));
    world.leave(lead);
    world.send(ann, "bob", "one more");
    assert_eq!(world.state.limits().message_burst, 4);
}

#[test]
fn a_member_that_sends_too_fast_is_told_when_to_go_on() {
    let (mut world, lead, ann) = team(60, 3);
    for number in 0..3 {
        world.send(ann, "bob", &format!("number {number}"));
    }
    let refusal = world.refuse(ann, sending("bob", "one more", None));
    assert_eq!(
        refusal.to_string(),
        "you send too fast: the limit is 3 messages at once and then 60 a minute \
         (`messages_per_minute` under [limits] of the configuration). Go on in 1 second, or put \
         what you have to say into one message"
    );
    // The others are not held up.
    world.send(lead, "bob", "from the lead");
    world.pass(999);
    assert_eq!(too_fast(&mut world, ann, sending("bob", "one more", None)), 1);
    world.pass(1);
    world.send(ann, "bob", "one more");
}

#[test]
fn a_new_session_of_a_member_goes_on_where_the_last_one_was() {
    let (mut world, _, ann) = team(60, 2);
    let first = world.send(ann, "bob", "hello");
    world.send(ann, "bob", "and more");
    world.leave(ann);
    let next = world.peer("ann");
    assert_eq!(world.refuse(next, sending("bob", "hello", None)), Refusal::Double { id: first });
    assert_eq!(too_fast(&mut world, next, sending("bob", "one more", None)), 1_000);
    world.pass(60_000);
    world.leave(next);
    let member = world.state.member(&name("ann")).unwrap();
    assert!(member.pace.is_none(), "nothing of it counts any more");
}

#[test]
fn only_the_answer_that_a_claim_obliges_to_is_free() {
    let (mut world, lead, ann) = team(1, 1);
    let bob = world.state.live(&name("bob")).unwrap().id;
    let request = world.open(lead);
    let about = request.to_string();
    world.ask(ann, Operation::Claim(request, CALL));
    // To others, or by others, it is a message like any other.
    let first = world.ask(ann, sending("bob", "who knows?", Some(&about)));
    let double = Refusal::Double { id: sent(&first).id.clone() };
    assert_eq!(world.refuse(ann, sending("bob", "who knows?", Some(&about))), double);
    assert_eq!(too_fast(&mut world, ann, sending("bob", "tell me", Some(&about))), 60_000);
    world.ask(bob, sending("orchestrator", "I do not", Some(&about)));
    too_fast(&mut world, bob, sending("orchestrator", "or do I?", Some(&about)));
    too_fast(&mut world, bob, sending("ann", "or do I?", Some(&about)));
    world.reply(ann, "orchestrator", &about);
    too_fast(&mut world, ann, sending("orchestrator", "it is answered", Some(&about)));
}

#[test]
fn an_answer_that_ends_a_claim_is_free_also_to_a_group_with_the_requester_in_it() {
    for to in ["all", "@lead"] {
        let (mut world, lead, ann) = team(1, 2);
        let request = world.open(lead);
        let about = request.to_string();
        world.ask(ann, Operation::Claim(request, CALL));
        world.send(ann, "bob", "one");
        world.send(ann, "bob", "two");
        too_fast(&mut world, ann, sending("bob", "three", None));
        let events = world.ask(ann, sending(to, "done", Some(&about)));
        assert!(events.iter().any(|event| matches!(event, Event::RequestCompleted { .. })), "{to}");
        assert_eq!(too_fast(&mut world, ann, sending("bob", "three", None)), 60_000, "{to}");
        // It has ended the claim: a second one is a message like any other.
        too_fast(&mut world, ann, sending(to, "and more", Some(&about)));
    }
}

/// In a team of so many that a line names who does not get a message.
#[test]
fn an_answer_to_very_many_is_as_free_as_one_to_the_requester() {
    let (mut world, lead, ann) = team(1, 1);
    for number in 0..limits::NAMED_AT_ONCE {
        world.peer(&format!("p{number}"));
    }
    let request = world.open(lead);
    world.ask(ann, Operation::Claim(request.clone(), CALL));
    let events = world.ask(ann, sending("all", "done", Some(&request.to_string())));
    assert_eq!(sent(&events).to.named(), [], "all but some");
    world.send(ann, "bob", "one");
}

#[test]
fn requests_count_too() {
    let (mut world, _, ann) = team(60, 2);
    for number in ["one", "two"] {
        world.ask(ann, opening(number, None));
    }
    let open = |world: &mut World| too_fast(world, ann, opening("one more", None));
    assert_eq!(open(&mut world), 1_000);
    assert_eq!(too_fast(&mut world, ann, sending("bob", "one more", None)), 1_000);
    world.pass(1_000);
    world.send(ann, "bob", "one more");
    assert_eq!(open(&mut world), 1_000);
}

#[test]
fn a_broadcast_that_is_repeated_reaches_those_who_have_joined_since() {
    let (mut world, lead, ann) = team(60, 2);
    let events = world.ask(lead, Operation::Broadcast(text("hello")));
    let id = sent(&events).id.clone();
    let cay = world.peer("cay");
    let call = world.wait(cay);
    let again = world.ask(lead, Operation::Broadcast(text("hello")));
    assert!(all_sent(&again).next().is_none(), "{again:?}");
    assert_eq!(world.held(cay, call), std::slice::from_ref(&id));
    assert_eq!(world.take(ann).1, std::slice::from_ref(&id), "once");
    let refusal = world.refuse(lead, Operation::Broadcast(text("hello")));
    assert_eq!(refusal, Refusal::Double { id: id.clone() });
    // It is no new message, so one more is allowed.
    world.send(lead, "cay", "and more");
    world.pass(2_000);
    let later = world.ask(lead, Operation::Broadcast(text("hello")));
    assert_ne!(sent(&later).id, id);
}

#[test]
fn broadcasts_count_and_notices_tasks_and_answers_to_requests_do_not() {
    let (mut world, lead, ann) = team(1, 2);
    let request = world.open(lead);
    world.ask(ann, Operation::Claim(request.clone(), CALL));
    world.send(ann, "bob", "one");
    world.ask(ann, Operation::Broadcast(text("two")));
    assert_eq!(too_fast(&mut world, ann, sending("bob", "three", None)), 60_000);
    assert_eq!(too_fast(&mut world, ann, Operation::Broadcast(text("three"))), 60_000);
    world.reply(ann, "orchestrator", &request.to_string());
    let new = world.new_agent(NameChoice::Like(name("codex")));
    // Beside the request.
    world.send(lead, "ann", "and more");
    too_fast(&mut world, lead, sending("ann", "too much", None));
    // Its tasks, and the notices that follow from them, go on.
    let events = world.ask(lead, Operation::Start(Box::new(new), Some(task())));
    world.ask(lead, Operation::CancelTask(assigned(&events)));
}

#[test]
fn the_same_message_twice_within_two_seconds_is_one_message() {
    let (mut world, _, ann) = team(60, 20);
    let first = world.send(ann, "bob", "hello");
    let double = |id: &crate::domain::ids::MessageId| Refusal::Double { id: id.clone() };
    assert_eq!(world.refuse(ann, sending("bob", "hello", None)), double(&first));
    assert_eq!(world.refuse(ann, sending("BOB", "hello", None)), double(&first));
    // Another text, address, thread, priority or sender is another message.
    world.send(ann, "bob", "hello!");
    world.send(ann, "orchestrator", "hello");
    let bob = world.state.live(&name("bob")).unwrap().id;
    let (call, _) = world.take(bob);
    world.settle(bob, call, true);
    let answer = world.send(bob, "ann", "well?");
    let (call, _) = world.take(ann);
    world.settle(ann, call, true);
    world.ask(ann, sending("bob", "hello", Some(&answer.to_string())));
    world.ask(
        ann,
        Operation::Send {
            to: "bob".into(),
            body: text("hello"),
            reply_to: None,
            priority: Priority::Urgent,
            more: None,
        },
    );
    world.send(bob, "orchestrator", "hello");
    world.ask(ann, Operation::Broadcast(text("hello")));
    let refusal = world.refuse(ann, Operation::Broadcast(text("hello")));
    assert!(matches!(refusal, Refusal::Double { .. }), "{refusal:?}");
    // A group is one address, however it is written.
    world.ask(bob, Operation::ClaimLane(crate::domain::member::Label::parse("storage").unwrap()));
    let grouped = world.send(ann, "@storage", "hello");
    for same in ["@Storage", "@storages"] {
        assert_eq!(world.refuse(ann, sending(same, "hello", None)), double(&grouped), "{same}");
    }
    world.pass(2_000);
    let again = world.send(ann, "bob", "hello");
    assert_ne!(again, first);
    let pace = world.state.member(&name("ann")).unwrap().pace.as_ref().unwrap();
    assert_eq!(pace.remembered(), 1, "those of more than two seconds ago are forgotten");
}

#[test]
fn the_same_request_twice_within_two_seconds_is_one_request() {
    let (mut world, lead, ann) = team(60, 20);
    let first = opened(&world.ask(ann, opening("read it", None)));
    let shown = world.shown(&first);
    let double = |id: &crate::domain::ids::MessageId| Refusal::Double { id: id.clone() };
    for again in [None, Some("all"), Some("@project")] {
        assert_eq!(world.refuse(ann, opening("read it", again)), double(&shown));
    }
    // Another text, address, context, time or requester is another request, and a message is none.
    world.ask(ann, opening("read it!", None));
    let for_bob = opened(&world.ask(ann, opening("read it", Some("bob"))));
    let shown_to_bob = world.shown(&for_bob);
    assert_eq!(world.refuse(ann, opening("read it", Some("BOB"))), double(&shown_to_bob));
    let mut with_context = opening("read it", None);
    let mut with_lease = opening("read it", None);
    if let Operation::Open { context, .. } = &mut with_context {
        *context = Some(text("the parser"));
    }
    if let Operation::Open { lease_ms, .. } = &mut with_lease {
        *lease_ms = Some(60_000);
    }
    world.ask(ann, with_context);
    world.ask(ann, with_lease);
    world.ask(lead, opening("read it", None));
    world.send(ann, "bob", "read it");
    // It is the same while somebody does it, and once it is done.
    let bob = world.state.live(&name("bob")).unwrap().id;
    world.ask(bob, Operation::Claim(first.clone(), CALL));
    assert_eq!(world.refuse(ann, opening("read it", None)), double(&shown));
    world.ask(bob, Operation::UpdateClaim(first, ClaimUpdate::Complete(text("done"))));
    assert_eq!(world.refuse(ann, opening("read it", None)), double(&shown));
    world.pass(2_000);
    opened(&world.ask(ann, opening("read it", None)));
}

#[test]
fn a_request_that_was_given_up_is_opened_anew() {
    let (mut world, _, ann) = team(60, 20);
    let bob = world.state.live(&name("bob")).unwrap().id;
    let first = opened(&world.ask(ann, opening("read it", None)));
    world.ask(bob, Operation::Claim(first.clone(), CALL));
    world.ask(bob, Operation::UpdateClaim(first.clone(), ClaimUpdate::Fail(None)));
    let again = opened(&world.ask(ann, opening("read it", None)));
    assert_ne!(again, first);
}

#[test]
fn a_message_that_ended_without_a_reader_is_sent_anew() {
    let (mut world, lead, ann) = team(60, 20);
    let agent = world.agent(lead, "codex");
    let first = world.send(ann, "codex", "hello");
    let stopped = Operation::Leave { session: agent, departure: Departure::Stopped, detail: None };
    world.ask(lead, stopped);
    let next = world.agent(lead, "codex");
    assert_eq!(world.delivery(&first, "codex"), Some(Delivery::Expired));
    let again = world.send(ann, "codex", "hello");
    assert_eq!(world.take(next).1, [again]);
}

#[test]
fn who_sends_too_fast_claims_no_lane_and_can_give_one_up() {
    let (mut world, _, ann) = team(60, 1);
    let lane = |word: &str| Label::parse(word).unwrap();
    world.ask(ann, Operation::ClaimLane(lane("storage")));
    world.send(ann, "bob", "hello");
    too_fast(&mut world, ann, Operation::ClaimLane(lane("network")));
    assert_eq!(world.ask(ann, Operation::ReleaseLane(lane("storage"))).len(), 1);
}

#[test]
fn without_a_limit_nothing_is_counted() {
    let (mut world, lead, ann) = team(60, 1);
    world.send(ann, "bob", "hello");
    too_fast(&mut world, ann, sending("bob", "more", None));
    world.ask(lead, Operation::Limit(TeamLimits::default()));
    for _ in 0..50 {
        world.send(ann, "bob", "hello");
    }
    let mut unled = World::new();
    let bob = unled.peer("bob");
    unled.peer("ann");
    for _ in 0..50 {
        unled.send(bob, "ann", "hello");
    }
    assert!(unled.state.member(&name("bob")).unwrap().pace.is_none());
}
