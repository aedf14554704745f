//! What the class of a signal does.

use super::sending::{sending_with, signal};
use crate::bus::event::Envelope;
use crate::bus::rules::ClaimUpdate;
use crate::bus::rules::tests::*;
use crate::domain::messaging::Acknowledgement::{Acked, Resolved};
use crate::domain::messaging::Audience;

#[test]
fn an_answer_and_a_receipt_need_what_they_reply_to() {
    let mut world = World::new();
    let (a, _b) = (world.peer("a"), world.peer("b"));
    for word in ["ReviewCompleted", "approve", "Acknowledgment", "ack"] {
        let refused = world.refuse(a, sending_with("b", signal(word), None)).to_string();
        let expected = format!(
            "`{word}` replies to another message: give the id of that message as reply_to, or \
             leave signal out"
        );
        assert_eq!(refused, expected);
    }
}

#[test]
fn a_receipt_acknowledges_what_it_replies_to_and_takes_nothing_back() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.send(a, "b", "x");
    let (call, _) = world.take(b);
    world.settle(b, call, true);
    world.reply_with(b, "a", signal("ack"), &id);
    assert_eq!(world.delivery(&id, "b"), Some(Delivery::Acknowledged(Acked)));
    world.ask(b, Operation::Acknowledge { ids: vec![id.clone()], status: Resolved, note: None });
    world.reply_with(b, "a", signal("Acknowledgment"), &id);
    assert_eq!(world.delivery(&id, "b"), Some(Delivery::Acknowledged(Resolved)));
}

#[test]
fn a_receipt_acknowledges_nothing_that_its_sender_cannot_have_had() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.send(a, "b", "x");
    world.take(b);
    world.reply_with(b, "a", signal("ack"), &id);
    assert!(!world.delivery(&id, "b").unwrap().is_final(), "if its answer is lost, it comes again");
}

/// As in the loop of a review: the one who asked closes it with a receipt in reply to its own request.
#[test]
fn a_receipt_in_reply_to_ones_own_message_acknowledges_its_answers() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let asked = world.send_with(a, "b", signal("ReviewRequested"));
    let answer = world.reply_with(b, "a", signal("ReviewCompleted"), &asked);
    let (call, _) = world.take(a);
    world.settle(a, call, true);
    let unrelated = world.send(c, "a", "y");
    world.reply_with(a, "b", signal("Acknowledgment"), &asked);
    assert_eq!(world.delivery(&answer, "a"), Some(Delivery::Acknowledged(Acked)));
    assert_eq!(world.unread("a"), [unrelated]);
    // Where there is no answer it is a message like others.
    let asked = world.send_with(a, "c", signal("question"));
    world.reply_with(a, "c", signal("ack"), &asked);
}

#[test]
fn progress_takes_the_place_of_the_senders_unread_progress_in_the_thread() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let task = world.send_with(a, "b", signal("task"));
    let other = world.send_with(a, "c", signal("task"));
    let first = world.reply_with(b, "a", signal("StatusUpdate"), &task);
    let said = world.reply_with(b, "a", signal("sense"), &task);
    let of_another = world.reply_with(c, "a", signal("pulse"), &other);
    let second = world.reply_with(b, "a", signal("report_progress"), &task);
    assert_eq!(world.delivery(&first, "a"), Some(Delivery::Superseded));
    assert_eq!(world.unread("a"), [said, of_another, second.clone()]);
    let (_, taken) = world.take(a);
    assert_eq!(taken.len(), 3);
    world.reply_with(b, "a", signal("pulse"), &task);
    assert!(!world.delivery(&second, "a").unwrap().is_final(), "it may have been seen");
}

#[test]
fn progress_wakes_nobody() {
    let mut world = World::new();
    let (a, _b) = (world.peer("a"), world.peer("b"));
    for (word, wakes) in [("pulse", false), ("sense", true), ("alert", true), ("x-own", true)] {
        let id = world.send_with(a, "b", signal(word));
        assert_eq!(world.state.message(&id).unwrap().wakes(&name("b")), wakes, "{word}");
    }
}

#[test]
fn an_alarm_is_read_before_other_messages() {
    let mut world = World::new();
    let (a, _b) = (world.peer("a"), world.peer("b"));
    let said = world.send(a, "b", "x");
    let alarm = world.send_with(a, "b", signal("report_blocker"));
    assert_eq!(world.unread("b"), [alarm, said]);
}

#[test]
fn neither_progress_nor_a_receipt_completes_a_request() {
    for (word, completes) in
        [("report_progress", false), ("ack", false), ("question", false), ("task_completed", true)]
    {
        let mut world = World::new();
        let (a, b) = (world.peer("a"), world.peer("b"));
        let request = world.open(a);
        world.ask(b, Operation::Claim(request.clone(), CALL));
        let shown = world.shown(&request);
        world.reply_with(b, "a", signal(word), &shown);
        let is_completed = world.state.request(&request).unwrap().status.is_final();
        assert_eq!(is_completed, completes, "{word}");
    }
}

#[test]
fn a_payload_has_the_shape_of_its_signal() {
    let mut world = World::new();
    let (a, _b) = (world.peer("a"), world.peer("b"));
    let payload = |value: serde_json::Value| value.as_object().cloned();
    let wrong = payload(serde_json::json!({ "spec_id": "S" }));
    let more = Envelope { payload: wrong, ..signal("ReviewRequested") };
    let refused = world.refuse(a, sending_with("b", more, None)).to_string();
    assert!(refused.contains("has no `instructions`: its shape is {spec_id: "), "{refused}");
    let long = payload(serde_json::json!({ "x": "x".repeat(64 * 1024) }));
    let more = Envelope { payload: long, ..Envelope::default() };
    let refused = world.refuse(a, sending_with("b", more, None)).to_string();
    assert!(
        refused.starts_with("payload is 65544 bytes long as JSON; the limit is 65536 "),
        "{refused}"
    );
    let reference = Some("r".repeat(201));
    let more = Envelope { reference, ..Envelope::default() };
    let refused = world.refuse(a, sending_with("b", more, None)).to_string();
    assert!(
        refused.starts_with("ref is one line of at most 200 bytes, not 201 bytes"),
        "{refused}"
    );
    for reference in ["two\nlines", "a\u{1b}[31mcolour", "\u{202e}txt.exe", "a\u{200b}b"] {
        let more = Envelope { reference: Some(reference.to_owned()), ..Envelope::default() };
        let refused = world.refuse(a, sending_with("b", more, None)).to_string();
        let expected = "ref is one line without control characters or invisible letters: a path, \
                        a commit, or a number in a tracker";
        assert_eq!(refused, expected, "{reference:?}");
    }
}

#[test]
fn the_same_words_with_another_signal_are_another_message() {
    let mut world = World::new();
    let (lead, _b) = (world.lead(), world.peer("b"));
    let limits = crate::domain::limits::TeamLimits {
        messages_per_minute: 60,
        message_burst: 20,
        ..world.state.limits()
    };
    world.ask(lead, Operation::Limit(limits));
    let first = world.send_with(lead, "b", signal("sense"));
    let second = world.send_with(lead, "b", signal("msg"));
    assert_ne!(first, second);
    let again = world.refuse(lead, sending_with("b", signal("msg"), None));
    assert_eq!(again, Refusal::Double { id: second });
}

#[test]
fn a_message_takes_the_place_of_the_senders_own_where_that_is_unread() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let before = world.send_with(a, "b", signal("question"));
    let instead = |id: &MessageId| Envelope { supersedes: Some(id.clone()), ..signal("question") };
    let after = world.send_with(a, "b", instead(&before));
    assert_eq!(world.delivery(&before, "b"), Some(Delivery::Superseded));
    assert_eq!(world.unread("b"), std::slice::from_ref(&after));
    assert_eq!(world.state.awaited_answer(&before), None);
    assert!(world.state.awaited_answer(&after).is_some());
    // What was shown stays shown, and no answer to it is awaited.
    let (call, _) = world.take(b);
    world.settle(b, call, true);
    let last = world.send_with(a, "b", instead(&after));
    assert_eq!(world.delivery(&after, "b"), Some(Delivery::Seen));
    assert_eq!(world.state.awaited_answer(&after), None);
    let refused = |world: &mut World, by| world.refuse(by, sending_with("a", instead(&last), None));
    assert_eq!(refused(&mut world, b), Refusal::NotYourMessage { id: last.clone() });
    assert_eq!(refused(&mut world, c), Refusal::UnknownMessage { id: last.clone() });
}

#[test]
fn who_had_a_message_in_hands_when_another_took_its_place_and_did_not_see_it_gets_the_other_alone()
{
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let instead = |id: &MessageId| Envelope { supersedes: Some(id.clone()), ..Envelope::default() };
    let first = world.send(a, "b", "deploy to A");
    let (call, _) = world.take(b);
    let second = world.send_with(a, "b", instead(&first));
    // Its call is given back unseen.
    world.settle(b, call, false);
    assert_eq!(world.delivery(&first, "b"), Some(Delivery::Superseded));
    let (_, taken) = world.take(b);
    assert_eq!(taken, std::slice::from_ref(&second));
    let third = world.send_with(a, "b", instead(&second));
    // Its session ends.
    world.reap(&[b]);
    let b = world.peer("b");
    assert_eq!(world.delivery(&second, "b"), Some(Delivery::Superseded));
    assert_eq!(world.take(b).1, [third]);
}

#[test]
fn what_takes_the_place_of_a_message_is_for_the_same_recipients() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    world.peer("c");
    let before = world.send(a, "b", "v1");
    let instead = |id: &MessageId| Envelope { supersedes: Some(id.clone()), ..Envelope::default() };
    for to in ["c", "all"] {
        let refused = world.refuse(a, sending_with(to, instead(&before), None));
        let to = Audience::One(name("b"));
        assert_eq!(refused, Refusal::ReplacesForOthers { id: before.clone(), to });
    }
    assert_eq!(world.unread("b"), std::slice::from_ref(&before));
    // What has completed a request stays: nobody does it again.
    let request = world.open(a);
    world.ask(b, Operation::Claim(request.clone(), CALL));
    let completes = Operation::UpdateClaim(request, ClaimUpdate::Complete(text("done")));
    let answer = sent(&world.ask(b, completes)).id.clone();
    for to in ["a", "c"] {
        let refused = world.refuse(b, sending_with(to, instead(&answer), None));
        assert_eq!(refused, Refusal::LastsForGood, "{to}");
    }
}
