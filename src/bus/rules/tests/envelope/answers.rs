//! Who owes an answer is reminded, and who awaits it is told; the first answer settles it.

use super::sending::{sending_with, signal};
use crate::bus::event::Envelope;
use crate::bus::rules::tests::*;
use crate::domain::limits;

/// Says what both get when the time of an answer is over.
fn due_after(world: &mut World, seconds: u64) -> (Vec<String>, Vec<String>) {
    world.pass(seconds * 1_000);
    let events = world.due();
    let nudges = all_sent(&events).filter(|sent| sent.kind == MessageKind::Nudge);
    (nudges.map(said).collect(), notices(&events, "a"))
}

#[test]
fn who_owes_an_answer_is_reminded_three_times_and_then_it_is_awaited_no_longer() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.send_with(a, "b", signal("question"));
    let (call, _) = world.take(b);
    world.settle(b, call, true);
    world.pass(299_999);
    assert_eq!(world.due(), []);
    for number in 1..=3 {
        let (nudges, told) = due_after(&mut world, 300);
        let nudge = format!("a waits for your answer to {id}: send_message with reply_to {id}");
        assert_eq!(nudges, [nudge]);
        let notice =
            format!("b has not answered your message {id} yet; reminded {number} of 3 times");
        assert_eq!(told, [notice]);
    }
    let (nudges, told) = due_after(&mut world, 300);
    let notice = format!(
        "b has not answered your message {id} after 3 reminders: ask somebody else, or go on \
         without an answer"
    );
    assert_eq!((nudges, told), (Vec::new(), vec![notice]));
    assert_eq!(due_after(&mut world, 10_000), (Vec::new(), Vec::new()));
    assert_eq!(world.state.earliest_due_ms(world.now), None);
}

#[test]
fn the_first_answer_settles_it_and_what_is_no_answer_does_not() {
    for (word, settles) in [
        (None, true),
        (Some("provide_review"), true),
        (Some("reject"), true),
        (Some("question"), false),
        (Some("report_progress"), false),
        (Some("ack"), false),
    ] {
        let mut world = World::new();
        let (a, b) = (world.peer("a"), world.peer("b"));
        let id = world.send_with(a, "b", signal("request_review"));
        let more = word.map(signal).unwrap_or_default();
        world.reply_with(b, "a", more, &id);
        assert_eq!(world.state.awaited_answer(&id).is_none(), settles, "{word:?}");
        let (nudges, _) = due_after(&mut world, 300);
        assert_eq!(
            nudges.iter().any(|nudge| nudge.contains(&id.to_string())),
            !settles,
            "{word:?}"
        );
    }
}

#[test]
fn an_answer_withdraws_its_unread_reminders_and_no_others() {
    for superseded in [false, true] {
        let mut world = World::new();
        let (a, b) = (world.peer("a"), world.peer("b"));
        let first = world.send_with(a, "b", signal("question"));
        let more = Envelope { supersedes: None, ..signal("question") };
        let second = world.reply_with(a, "b", more, &first);
        let (call, _) = world.take(b);
        world.settle(b, call, true);
        let nudges: Vec<_> = [300, 300].iter().flat_map(|s| due_after(&mut world, *s).0).collect();
        assert_eq!((nudges.len(), world.unread("b").len()), (4, 2));
        let question = world.reply_with(b, "a", signal("question"), &first);
        assert_eq!(world.unread("b").len(), 2, "a question back is no answer");
        if superseded {
            let more = Envelope { supersedes: Some(first.clone()), ..signal("question") };
            let id = world.send_with(a, "b", more);
            assert_eq!(world.unread("b").last(), Some(&id));
        } else {
            world.reply_with(b, "a", signal("answer"), &first);
        }
        let left = world.state.unread(&name("b"));
        let left = left.filter(|message| message.kind == MessageKind::Nudge);
        let left: Vec<_> = left.map(|nudge| nudge.reply_to.clone()).collect();
        assert_eq!(left, [Some(second)], "{superseded} {question}");
    }
}

#[test]
fn an_answer_of_somebody_else_or_to_somebody_else_settles_nothing() {
    let mut world = World::new();
    let (a, b, _c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let id = world.send_with(a, "b", signal("question"));
    world.reply_with(b, "c", signal("answer"), &id);
    world.reply_with(a, "b", Envelope::default(), &id);
    assert!(world.state.awaited_answer(&id).is_some());
    world.reply_with(b, "a", signal("answer"), &id);
    assert!(world.state.awaited_answer(&id).is_none());
}

#[test]
fn any_message_may_want_an_answer_within_a_time() {
    let mut world = World::new();
    let (a, _b) = (world.peer("a"), world.peer("b"));
    let more = Envelope { response_seconds: Some(5), ..Envelope::default() };
    let id = world.send_with(a, "b", more);
    assert_eq!(world.state.awaited_answer(&id).unwrap().seconds, 5);
    assert_eq!(due_after(&mut world, 5).0.len(), 1);
    let said = world.send_with(a, "b", signal("sense"));
    assert_eq!(world.state.awaited_answer(&said), None);
}

#[test]
fn who_has_left_for_good_owes_no_answer() {
    let mut world = World::new();
    let (a, lead) = (world.peer("a"), world.lead());
    let codex = world.agent(lead, "codex");
    let id = world.send_with(a, "codex", signal("question"));
    let (call, _) = world.take(codex);
    world.settle(codex, call, true);
    world.leave(codex);
    let (nudges, told) = due_after(&mut world, 300);
    assert_eq!(nudges, Vec::<String>::new());
    assert_eq!(told, [format!("nobody answers your message {id}: codex has left")]);
    assert_eq!(world.state.earliest_due_ms(world.now), None);
}

#[test]
fn a_question_that_expires_awaits_no_answer() {
    let mut world = World::new();
    let (a, _b) = (world.peer("a"), world.peer("b"));
    let more = Envelope { ttl_seconds: Some(60), ..signal("question") };
    let id = world.send_with(a, "b", more);
    world.pass(60_000);
    assert_eq!(notices(&world.due(), "a").len(), 1);
    assert_eq!(world.state.awaited_answer(&id), None);
    assert_eq!(due_after(&mut world, 10_000), (Vec::new(), Vec::new()));
}

#[test]
fn who_asks_and_leaves_for_good_awaits_nothing() {
    let mut world = World::new();
    let (lead, _b) = (world.lead(), world.peer("b"));
    let codex = world.agent(lead, "codex");
    let id = world.send_with(codex, "b", signal("question"));
    world.leave(codex);
    assert_eq!(world.state.awaited_answer(&id), None);
    assert_eq!(world.state.earliest_due_ms(world.now), None);
}

#[test]
fn a_member_awaits_a_limited_number_of_answers() {
    let mut world = World::new();
    let a = world.peer("a");
    let mut others = Vec::new();
    for number in 0..=limits::MAX_AWAITED_ANSWERS {
        others.push(format!("b{number}"));
        world.peer(&others[number]);
    }
    for to in &others[1..] {
        world.send_with(a, to, signal("question"));
    }
    let refused = world.refuse(a, sending_with("b0", signal("question"), None)).to_string();
    assert!(
        refused.starts_with("100 answers to you are awaited, which is the limit: "),
        "{refused}"
    );
    world.send(a, "b0", "hello");
}

#[test]
fn a_reminder_takes_the_place_of_the_one_before_and_fills_no_inbox() {
    let mut world = World::new();
    let (a, lead) = (world.peer("a"), world.lead());
    world.peer("b");
    let more = Envelope { response_seconds: Some(1), ..Envelope::default() };
    let id = world.send_with(a, "b", more.clone());
    due_after(&mut world, 1);
    let first = world.unread("b");
    due_after(&mut world, 1);
    let second = world.unread("b");
    assert_eq!((first.len(), second.len()), (2, 2), "the message and one reminder of it");
    assert_ne!(first, second);
    let few = limits::TeamLimits { unread: 2, ..world.state.limits() };
    world.ask(lead, Operation::Limit(few));
    let (nudges, _) = due_after(&mut world, 1);
    assert_eq!(
        nudges,
        [format!("a waits for your answer to {id}: send_message with reply_to {id}")]
    );
    assert_eq!(world.unread("b").len(), 2);
}

#[test]
fn an_answer_that_is_awaited_neither_expires_nor_gives_way_to_something_else() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.send_with(a, "b", signal("question"));
    let fleeting = Envelope { ttl_seconds: Some(1), ..Envelope::default() };
    let refused = world.refuse(b, sending_with("a", fleeting, Some(&id)));
    assert_eq!(refused, Refusal::LastsForGood);
    let answer = world.reply_with(b, "a", signal("answer"), &id);
    let instead = Envelope { supersedes: Some(answer.clone()), ..Envelope::default() };
    let refused = world.refuse(b, sending_with("a", instead.clone(), None));
    let replaces = Refusal::ReplacesAnswer { answer: answer.clone(), asked: id.clone() };
    assert_eq!(refused, replaces);
    let pulse = Envelope { supersedes: Some(answer), ..signal("pulse") };
    assert_eq!(world.refuse(b, sending_with("a", pulse, Some(&id))), replaces);
    world.reply_with(b, "a", instead, &id);
}

#[test]
fn nobody_is_reminded_of_a_question_to_the_user_whose_asker_has_left() {
    let mut world = World::new();
    world.lead();
    let bob = world.peer("bob");
    let id = world.send_with(bob, "human", signal("question"));
    let (nudges, _) = due_after(&mut world, 300);
    assert_eq!(
        nudges,
        [format!("bob waits for the answer of your user to {id}: send_message with reply_to {id}")]
    );
    world.leave(bob);
    assert!(world.state.awaited_answer(&id).is_some(), "it may come back");
    assert_eq!(due_after(&mut world, 300), (Vec::new(), Vec::new()));
    assert_eq!(world.state.awaited_answer(&id), None);
}
