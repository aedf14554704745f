//! Unread messages are read most urgent first, then oldest.

use crate::bus::event::Envelope;
use crate::bus::rules::tests::*;
use crate::domain::messaging::Urgency;

#[test]
fn the_most_urgent_are_delivered_first_and_then_the_oldest() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let first = world.send(a, "b", "x");
    let low = world.send_as(a, "b", Priority::Low);
    let high = world.send_as(a, "b", Priority::High);
    let second = world.send(a, "b", "y");
    let urgent = world.send_as(a, "b", Priority::Urgent);
    let exactly = Envelope { urgency: Urgency::new(0.8), ..Envelope::default() };
    let between = world.send_with(a, "b", exactly);
    let order = [urgent, between, high, first, second, low];
    assert_eq!(world.unread("b"), order);
    let (call, ids) = world.take_with(b, Pick { limit: 3, ..all() });
    assert_eq!(ids, order[..3]);
    // What comes back has its place again.
    world.settle(b, call, false);
    assert_eq!(world.unread("b"), order);
    assert_eq!(world.take(b).1, order);
}

#[test]
fn a_request_has_its_place_among_the_messages_also_when_it_is_open_again() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let sense = Envelope { urgency: Urgency::new(0.6), ..Envelope::default() };
    let sense = world.send_with(a, "b", sense);
    let usual = world.open(a);
    let urgent = world.open_urgent(a, 0.95);
    let between = world.open_urgent(a, 0.7);
    let shown = [&urgent, &between, &usual].map(|request| world.shown(request));
    let [urgent_shown, between_shown, usual_shown] = shown;
    let order = [urgent_shown.clone(), between_shown, sense, usual_shown];
    assert_eq!(world.unread("b"), order);
    let message = world.state.message(&urgent_shown).unwrap();
    assert_eq!((message.priority, message.more.is_none()), (Priority::Urgent, true));
    assert_eq!(world.take(b).1, order);
}

#[test]
fn a_wait_gets_the_most_urgent_message_that_fits() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    world.send(a, "b", "x");
    let urgent = world.send_as(a, "b", Priority::Urgent);
    let call = world.wait(b);
    assert_eq!(world.held(b, call), [urgent]);
}

#[test]
fn while_nobody_says_otherwise_the_oldest_is_first() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let sent: Vec<_> = (0..5).map(|number| world.send(a, "b", &number.to_string())).collect();
    assert_eq!(world.take(b).1, sent);
}

/// A snapshot of an older version has all messages in the order of their seqs.
#[test]
fn a_snapshot_of_an_older_version_gets_the_order_of_today() {
    let mut world = World::new();
    let (a, _b) = (world.peer("a"), world.peer("b"));
    world.send(a, "b", "x");
    world.send_as(a, "b", Priority::Urgent);
    let mut written = serde_json::to_value(&world.state).unwrap();
    let unread = &mut written["members"]["b"]["unread"];
    let places = unread.as_object().unwrap().clone();
    assert!(places.keys().any(|place| place.ends_with("@950")), "{places:?}");
    let older = places.into_iter().map(|(place, id)| {
        let seq = place.split('@').next().unwrap().to_owned();
        (seq, id)
    });
    *unread = older.collect::<serde_json::Map<_, _>>().into();
    let mut read: State = serde_json::from_value(written).unwrap();
    read.rebuild();
    assert_eq!(read, world.state);
}

#[test]
fn the_priority_of_a_task_is_its_place_in_the_queue_of_the_agent() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    let mut assign = |priority| {
        let task = NewTask { priority, ..task() };
        assigned(&world.ask(lead, Operation::Assign { session: agent, task }))
    };
    let (first, low) = (assign(Priority::Normal), assign(Priority::Low));
    let (second, urgent) = (assign(Priority::Normal), assign(Priority::Urgent));
    let high = assign(Priority::High);
    let queue: Vec<_> = world.state.session(agent).unwrap().queue.iter().cloned().collect();
    assert_eq!(queue, [urgent, high, first, second, low]);
}
