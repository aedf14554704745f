//! A message that nobody has seen in time expires, and its sender is told once.

use super::sending::{sending_with, signal};
use crate::bus::event::Envelope;
use crate::bus::rules::tests::*;
use crate::domain::time::Tick;

fn for_a_minute() -> Envelope {
    Envelope { ttl_seconds: Some(60), ..Envelope::default() }
}

#[test]
fn an_unseen_message_expires_and_its_sender_is_told_once() {
    let mut world = World::new();
    let (a, _b) = (world.peer("a"), world.peer("b"));
    let id = world.send_with(a, "b", for_a_minute());
    world.pass(59_999);
    assert_eq!(world.due(), []);
    world.pass(1);
    let events = world.due();
    assert_eq!(world.delivery(&id, "b"), Some(Delivery::Expired));
    let told = format!("your message {id} to b expired: it was not seen within 60 s");
    assert_eq!(notices(&events, "a"), [told]);
    assert_eq!(world.unread("b"), []);
    world.pass(1_000_000);
    assert_eq!(world.due(), []);
    assert_eq!(world.state.earliest_due_ms(world.now), None);
}

#[test]
fn a_message_in_hands_expires_when_it_is_given_back() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.send_with(a, "b", for_a_minute());
    let (call, _) = world.take(b);
    world.pass(60_000);
    assert_eq!(notices(&world.due(), "a"), [""; 0], "it may still be seen");
    let other = world.wait(b);
    let events = world.settle(b, call, false);
    assert_eq!(world.delivery(&id, "b"), Some(Delivery::Expired));
    assert_eq!(notices(&events, "a").len(), 1);
    assert_eq!(world.held(b, other), []);
    world.pass(1_000_000);
    assert_eq!(notices(&world.due(), "a"), [""; 0]);
}

#[test]
fn a_message_that_comes_back_in_time_has_the_rest_of_its_time() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.send_with(a, "b", for_a_minute());
    world.pass(20_000);
    let (call, _) = world.take(b);
    world.pass(20_000);
    world.settle(b, call, false);
    world.pass(19_999);
    assert_eq!(world.due(), []);
    assert_eq!(world.unread("b"), std::slice::from_ref(&id));
    world.pass(1);
    world.due();
    assert_eq!(world.delivery(&id, "b"), Some(Delivery::Expired));
}

#[test]
fn a_message_in_the_hands_of_a_session_that_ends_expires_with_the_next_append() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.send_with(a, "b", for_a_minute());
    world.take(b);
    world.pass(60_000);
    world.leave(b);
    let events = world.due();
    assert_eq!(world.delivery(&id, "b"), Some(Delivery::Expired));
    assert_eq!(notices(&events, "a").len(), 1);
}

#[test]
fn a_message_that_was_seen_or_acknowledged_does_not_expire() {
    for is_acknowledged in [false, true] {
        let mut world = World::new();
        let (a, b) = (world.peer("a"), world.peer("b"));
        let id = world.send_with(a, "b", for_a_minute());
        if is_acknowledged {
            let status = crate::domain::messaging::Acknowledgement::Acked;
            world.ask(b, Operation::Acknowledge { ids: vec![id.clone()], status, note: None });
        } else {
            let (call, _) = world.take(b);
            world.settle(b, call, true);
        }
        assert_eq!(world.state.earliest_due_ms(world.now), None);
        world.pass(60_000);
        assert_eq!(world.due(), []);
        assert!(world.delivery(&id, "b").unwrap().is_seen());
    }
}

#[test]
fn a_new_boot_leaves_a_message_the_rest_of_its_time() {
    let mut world = World::new();
    let (a, _b) = (world.peer("a"), world.peer("b"));
    let id = world.send_with(a, "b", for_a_minute());
    world.pass(20_000);
    world.send(a, "b", "x");
    world.now.tick = Tick { boot: 2, ms: 5 };
    world.send(a, "b", "y");
    world.pass(39_999);
    assert_eq!(world.due(), []);
    world.pass(1);
    world.due();
    assert_eq!(world.delivery(&id, "b"), Some(Delivery::Expired));
}

#[test]
fn a_time_of_nothing_or_of_more_than_a_day_is_refused() {
    let mut world = World::new();
    let (a, _b) = (world.peer("a"), world.peer("b"));
    for seconds in [0, 86_401] {
        let more = Envelope { ttl_seconds: Some(seconds), ..Envelope::default() };
        let refused = world.refuse(a, sending_with("b", more, None)).to_string();
        assert_eq!(refused, format!("ttl_seconds is {seconds}; it must be 1 to 86400"));
    }
}

#[test]
fn the_answer_that_completes_a_request_cannot_expire() {
    let mut world = World::new();
    let (asker, owner) = (world.peer("asker"), world.peer("owner"));
    let request = world.open(asker);
    world.ask(owner, Operation::Claim(request.clone(), CALL));
    let shown = world.shown(&request);
    let refused = world.refuse(owner, sending_with("asker", for_a_minute(), Some(&shown)));
    assert_eq!(refused, Refusal::LastsForGood);
    // A question about it may, as the request goes on.
    let question = Envelope { ttl_seconds: Some(60), ..signal("question") };
    world.ask(owner, sending_with("asker", question, Some(&shown)));
    world.reply(owner, "asker", &request.to_string());
    assert_eq!(
        world.state.request(&request).unwrap().status,
        crate::domain::messaging::RequestStatus::Completed
    );
}
