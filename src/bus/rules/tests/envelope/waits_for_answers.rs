//! A wait for an answer that cannot come ends at once: it was given before, or nobody will give it.

use super::crossings::{carry, project};
use super::sending::signal;
use crate::bus::event::Envelope;
use crate::bus::rules::tests::*;

impl World {
    /// Begins to wait for the answer to a message, and returns the call.
    #[track_caller]
    fn awaiting(&mut self, by: SessionId, asked: &MessageId) -> CallId {
        let (call, wait) = self.wait_for_answer(asked);
        self.ask(by, wait);
        assert!(self.state.waits(by, call), "it waits");
        call
    }

    #[track_caller]
    fn refused_wait(&mut self, by: SessionId, asked: &MessageId) -> Refusal {
        let (_, wait) = self.wait_for_answer(asked);
        self.refuse(by, wait)
    }
}

#[test]
fn an_answer_that_was_given_before_ends_a_wait_for_it_at_once() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let asked = world.send(a, "b", "which colour?");
    let answer = world.reply(b, "a", &asked.to_string()).id;
    let expected = Refusal::AnsweredBefore { answer: answer.clone() };
    // In flight, seen, acknowledged.
    let (call, _) = world.take(a);
    assert_eq!(world.refused_wait(a, &asked), expected);
    world.settle(a, call, true);
    assert_eq!(world.refused_wait(a, &asked), expected);
    let said = "you were given the answer before: it is the message";
    assert_eq!(expected.to_string(), format!("{said} `{answer}`"));
    // Given back, it is unread, and ends the wait like any message.
    let asked = world.send(a, "b", "and the size?");
    let answer = world.reply(b, "a", &asked.to_string()).id;
    let (call, _) = world.take(a);
    world.settle(a, call, false);
    let (call, wait) = world.wait_for_answer(&asked);
    world.ask(a, wait);
    assert_eq!(world.held(a, call), [answer]);
}

#[test]
fn one_answer_ends_every_wait_for_it() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let asked = world.send(a, "b", "which colour?");
    let other = world.send(a, "b", "and the size?");
    let (first, second) = (world.awaiting(a, &asked), world.awaiting(a, &asked));
    let of_other = world.awaiting(a, &other);
    let answer = world.reply(b, "a", &asked.to_string()).id;
    assert_eq!(world.held(a, first), [answer]);
    assert!(!world.state.waits(a, second), "it would wait in vain");
    assert!(world.state.waits(a, of_other));
}

#[test]
fn a_wait_for_the_answers_of_a_group_goes_on_while_somebody_may_answer() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let asked = world.send(a, "all", "ready?");
    let (first, second) = (world.awaiting(a, &asked), world.awaiting(a, &asked));
    let third = world.awaiting(a, &asked);
    let of_b = world.reply(b, "a", &asked.to_string()).id;
    assert_eq!(world.held(a, first), [of_b]);
    assert!(world.state.waits(a, second) && world.state.waits(a, third));
    let of_c = world.reply(c, "a", &asked.to_string()).id;
    assert_eq!(world.held(a, second), std::slice::from_ref(&of_c));
    assert!(!world.state.waits(a, third));
    assert_eq!(world.refused_wait(a, &asked), Refusal::AnsweredBefore { answer: of_c });
}

#[test]
fn a_question_whose_place_another_one_takes_ends_the_waits_for_its_answer() {
    for is_seen in [false, true] {
        let mut world = World::new();
        let (a, b) = (world.peer("a"), world.peer("b"));
        let asked = world.send_with(a, "b", signal("question"));
        let other = world.send(a, "b", "and the size?");
        if is_seen {
            let (call, _) = world.take(b);
            world.settle(b, call, true);
        }
        let (call, of_other) = (world.awaiting(a, &asked), world.awaiting(a, &other));
        world.send_with(a, "b", Envelope { supersedes: Some(asked.clone()), ..signal("question") });
        assert!(!world.state.waits(a, call), "seen: {is_seen}");
        assert!(world.state.waits(a, of_other));
        if !is_seen {
            let never = Refusal::NeverAnswered { id: asked.clone() };
            assert_eq!(world.refused_wait(a, &asked), never);
        }
    }
}

#[test]
fn a_question_that_nobody_sees_in_time_ends_the_waits_for_its_answer() {
    let mut world = World::new();
    let (a, _b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let more = || Envelope { ttl_seconds: Some(5), ..signal("question") };
    let (of_one, of_all) = (world.send_with(a, "b", more()), world.send_with(a, "all", more()));
    let (one, all) = (world.awaiting(a, &of_one), world.awaiting(a, &of_all));
    let (call, _) = world.take(c);
    world.settle(c, call, true);
    world.pass(5_000);
    world.due();
    assert!(!world.state.waits(a, one), "b will never see it");
    assert!(world.state.waits(a, all), "c has seen it");
    let never = Refusal::NeverAnswered { id: of_one.clone() };
    assert_eq!(world.refused_wait(a, &of_one), never);
    let answer = world.reply(c, "a", &of_all.to_string()).id;
    assert_eq!(world.held(a, all), [answer]);
}

#[test]
fn a_question_that_expires_when_it_is_given_back_ends_the_wait_too() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let more = Envelope { ttl_seconds: Some(5), ..signal("question") };
    let asked = world.send_with(a, "b", more);
    let (held, _) = world.take(b);
    let call = world.awaiting(a, &asked);
    world.pass(6_000);
    world.due();
    assert!(world.state.waits(a, call), "the model may be shown it");
    world.settle(b, held, false);
    assert!(!world.state.waits(a, call));
}

#[test]
fn a_queued_question_is_open_until_it_has_waited_in_vain() {
    let mut world = World::new();
    let a = world.peer("a");
    let more = Envelope { queue: true, ttl_seconds: Some(30), ..signal("question") };
    let asked = world.send_with(a, "@tester", more);
    let call = world.awaiting(a, &asked);
    world.pass(30_000);
    world.due();
    assert!(!world.state.waits(a, call), "nobody came");
    assert_eq!(world.refused_wait(a, &asked), Refusal::NeverAnswered { id: asked });
}

#[test]
fn a_wait_for_the_answer_to_a_claimed_request_is_a_wait_for_its_owner() {
    let mut world = World::new();
    let (asker, owner) = (world.peer("asker"), world.peer("owner"));
    let request = world.open(asker);
    let (call, _) = world.take(owner);
    world.settle(owner, call, true);
    let wait_from = |world: &mut World, whom: &str| Operation::Wait {
        call: world.call(),
        from: Some(name(whom)),
        request: None,
        reply_to: None,
        timeout_ms: 60_000,
    };
    // While it is open, anybody may answer it.
    let waits = world.wait_for(asker, None, Some(&request));
    let wait = wait_from(&mut world, "asker");
    let Operation::Wait { call: of_owner, .. } = wait else { unreachable!() };
    world.ask(owner, wait);
    world.ask(owner, Operation::EndWait { call: of_owner });

    world.ask(owner, Operation::Claim(request.clone(), CALL));
    assert_eq!(world.held(asker, waits).len(), 1, "the claim ends it");
    world.settle(asker, waits, true);
    let waits = world.wait_for(asker, None, Some(&request));
    let wait = wait_from(&mut world, "asker");
    let said = format!(
        "you would wait in a circle, because `asker` waits for you: answer `asker` first, with \
         `{request}` as reply_to"
    );
    assert_eq!(world.refuse(owner, wait).to_string(), said);
    let answer = world.reply(owner, "asker", &request.to_string()).id;
    assert_eq!(world.held(asker, waits), [answer]);

    // The other way round.
    let request = world.open(asker);
    world.ask(owner, Operation::Claim(request.clone(), CALL));
    let (call, _) = world.take(asker);
    world.settle(asker, call, true);
    let wait = wait_from(&mut world, "asker");
    let (call, _) = world.take(owner);
    world.settle(owner, call, true);
    world.ask(owner, wait);
    let call = world.call();
    let wait = Operation::Wait {
        call,
        from: None,
        request: Some(request),
        reply_to: None,
        timeout_ms: 60_000,
    };
    let refusal = world.refuse(asker, wait);
    assert_eq!(refusal, Refusal::Circle { chain: vec![name("owner")], asked: None });
}

#[test]
fn a_wait_for_the_answers_of_another_project_goes_on_while_somebody_there_may_answer() {
    let (mut po, mut web) = (project("po"), project("web"));
    let writer = po.peer("writer");
    let (alice, bob) = (web.peer("alice"), web.peer("bob"));
    let chief = web.state.live(&name("courier")).unwrap().id;
    let asked = po.send(writer, "web:*", "ready?");
    let there = carry(&mut po, "po", &mut web, 2).unwrap();
    let mut answer = |po: &mut World, by| {
        web.reply(by, "po:writer", &there.to_string());
        carry(&mut web, "web", po, 2).unwrap()
    };
    let first = po.awaiting(writer, &asked);
    let of_alice = answer(&mut po, alice);
    assert_eq!(po.held(writer, first), [of_alice]);
    // She has answered, and once more would be no news.
    let second = po.awaiting(writer, &asked);
    let of_bob = answer(&mut po, bob);
    assert_eq!(po.held(writer, second), [of_bob]);
    let (third, fourth) = (po.awaiting(writer, &asked), po.awaiting(writer, &asked));
    let last = answer(&mut po, chief);
    assert!(!po.state.waits(writer, fourth), "nobody else can answer");
    assert_eq!(po.held(writer, third), std::slice::from_ref(&last));
    assert_eq!(po.refused_wait(writer, &asked), Refusal::AnsweredBefore { answer: last });
}
