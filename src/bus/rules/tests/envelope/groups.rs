//! Signals to groups: the first answer settles a question, and a report of progress takes the place of the last one for each reader.

use super::sending::{sending_with, signal};
use crate::bus::event::Envelope;
use crate::bus::rules::tests::*;
use crate::domain::member::SessionNumber;
use crate::domain::messaging::Audience;

#[test]
fn the_first_answer_of_a_group_settles_its_question_and_until_then_all_of_it_are_reminded() {
    let mut world = World::new();
    let (a, b, _c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let id = world.send_with(a, "all", signal("question"));
    world.pass(300_000);
    let events = world.due();
    let nudge = all_sent(&events).find(|sent| sent.kind == MessageKind::Nudge).unwrap();
    assert_eq!((&nudge.audience, nudge.to.named()), (&Audience::All, &[name("b"), name("c")][..]));
    assert!(nudge.quiet, "as the question was");
    let told = format!("nobody has answered your message {id} yet; reminded 1 of 3 times");
    assert_eq!(notices(&events, "a"), [told]);
    world.reply_with(b, "a", signal("answer"), &id);
    assert_eq!(world.state.awaited_answer(&id), None);
    world.pass(10_000_000);
    assert_eq!(notices(&world.due(), "a"), Vec::<String>::new());
}

#[test]
fn a_question_that_no_one_of_a_group_sees_in_time_awaits_no_answer() {
    let mut world = World::new();
    let (a, b, _c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let more = || Envelope { ttl_seconds: Some(60), ..signal("question") };
    let unseen = world.send_with(a, "all", more());
    world.pass(60_000);
    world.due();
    assert_eq!(world.state.awaited_answer(&unseen), None);
    // Who has seen it still owes the answer.
    let seen = world.send_with(a, "all", more());
    let (call, _) = world.take(b);
    world.settle(b, call, true);
    world.pass(60_000);
    world.due();
    assert_eq!(world.state.awaited_answer(&seen).unwrap().to, [name("b")]);
}

#[test]
fn a_report_to_a_group_takes_the_place_of_the_last_one_where_that_is_unread() {
    let mut world = World::new();
    let (a, b, _c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let begins = world.send_with(a, "all", signal("msg"));
    let first = world.reply_with(a, "all", signal("pulse"), &begins);
    let (call, _) = world.take(b);
    world.settle(b, call, true);
    let second = world.reply_with(a, "all", signal("pulse"), &begins);
    assert_eq!(world.delivery(&first, "b"), Some(Delivery::Seen));
    assert_eq!(world.delivery(&first, "c"), Some(Delivery::Superseded));
    assert_eq!(world.unread("c"), [begins, second]);
}

#[test]
fn who_is_mentioned_gets_a_copy_and_owes_nothing() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let words = |words: &[&str]| words.iter().map(|word| name(word)).collect::<Vec<_>>();
    let mentions = words(&["C", "b", "a", "c", "nobody"]);
    let id = world.send_with(a, "b", Envelope { mentions, ..signal("question") });
    let message = world.state.message(&id).unwrap().clone();
    assert_eq!((world.unread("b"), world.unread("c")), (vec![id.clone()], vec![id.clone()]));
    assert_eq!(message.audience, Audience::One(name("b")));
    assert!(message.is_copy_for(&name("c")) && !message.is_copy_for(&name("b")));
    assert!(message.wakes(&name("b")) && !message.wakes(&name("c")));
    assert_eq!(world.state.awaited_answer(&id).unwrap().to, [name("b")]);
    world.reply_with(c, "a", signal("answer"), &id);
    assert!(world.state.awaited_answer(&id).is_some(), "c was not asked");
    world.reply_with(b, "a", signal("answer"), &id);
    assert_eq!(world.state.awaited_answer(&id), None);
    // A group after `@`, and a message that matters more.
    world.ask(c, Operation::ClaimLane(crate::domain::member::Label::parse("storage").unwrap()));
    let mentions = words(&["storage"]);
    let id = world.send_with(a, "b", Envelope { mentions, ..signal("alert") });
    let message = world.state.message(&id).unwrap();
    assert!(message.is_copy_for(&name("c")) && message.wakes(&name("c")));
    let mentions = (0..17).map(|number| name(&format!("n{number}"))).collect();
    let refused = world.refuse(a, sending_with("b", Envelope { mentions, ..signal("msg") }, None));
    assert_eq!(
        refused.to_string(),
        "content mentions 17 words after `@`; with mention, the limit is 16: write to a group"
    );
}

#[test]
fn the_reply_of_who_is_mentioned_ends_no_wait_for_the_answer() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let mentions = vec![name("c")];
    let id = world.send_with(a, "b", Envelope { mentions, ..signal("question") });
    let (call, wait) = world.wait_for_answer(&id);
    world.ask(a, wait);
    // A copy is no second source of the answer.
    let (read, _) = world.take(b);
    world.settle(b, read, true);
    let circle = Operation::Wait {
        call: world.call(),
        from: Some(name("a")),
        request: None,
        reply_to: None,
        timeout_ms: 60_000,
    };
    let refusal = world.refuse(b, circle);
    assert_eq!(refusal, Refusal::Circle { chain: vec![name("a")], asked: Some(id.to_string()) });

    let said = world.reply_with(c, "a", signal("answer"), &id);
    assert!(world.held(a, call).is_empty() && world.state.awaited_answer(&id).is_some());
    assert_eq!(world.unread("a"), [said]);
    let answer = world.reply_with(b, "a", signal("answer"), &id);
    assert_eq!(world.held(a, call), [answer]);
    assert_eq!(world.state.awaited_answer(&id), None);
}

#[test]
fn the_number_of_a_session_mentions_its_member_and_an_unknown_one_is_text() {
    let mut world = World::new();
    let (a, _b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let number = world.state.session(c).unwrap().number.unwrap();
    let own = world.state.session(a).unwrap().number.unwrap();
    let mentioned_sessions = vec![SessionNumber::of(77), own, number, number];
    let more = Envelope { mentioned_sessions, ..signal("msg") };
    let id = world.send_with(a, "b", more.clone());
    let message = world.state.message(&id).unwrap();
    assert_eq!(message.more.as_ref().unwrap().mentions, [name("c")]);
    assert_eq!(world.unread("c"), [id]);
    world.leave(c);
    let id = world.send_with(a, "b", more);
    assert!(world.state.message(&id).unwrap().more.as_ref().unwrap().mentions.is_empty());
    let mentioned_sessions = (0..17).map(SessionNumber::of).collect();
    let many = Envelope { mentioned_sessions, ..Envelope::default() };
    let refused = world.refuse(a, sending_with("b", many, None)).to_string();
    assert!(refused.starts_with("content mentions 17 words"), "{refused}");
}
