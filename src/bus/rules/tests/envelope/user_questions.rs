//! Messages to the user: whoever speaks with them gets each, and a question is open until somebody answers it.

use super::sending::{sending_with, signal};
use crate::bus::event::Envelope;
use crate::bus::rules::HumanWish;
use crate::bus::rules::tests::*;
use crate::bus::state::AwaitedReply;
use crate::bus::state::Wait;
use crate::domain::limits;
use crate::domain::messaging::Author;

fn says(world: &mut World, to: &str, reply_to: &MessageId) -> Vec<Event> {
    let wish = HumanWish::Send {
        to: to.into(),
        body: text("yes"),
        priority: None,
        reply_to: Some(reply_to.clone()),
        signal: None,
    };
    world.ask(None, Operation::ByHuman(wish))
}

fn questions(world: &World) -> Vec<MessageId> {
    world.state.questions_for_user().map(|message| message.id.clone()).collect()
}

#[test]
fn a_message_to_the_user_reaches_who_speaks_with_them_in_the_same_append() {
    let mut world = World::new();
    let (lead, bob) = (world.lead(), world.peer("bob"));
    let other = world.join(NameChoice::Like(name("orchestrator")), MemberKind::Orchestrator);
    for to in ["human", "@human", " Human"] {
        let id = sent(&world.ask(bob, sending(to, to, None))).id.clone();
        let message = world.state.message(&id).unwrap();
        assert_eq!((message.audience.to_string().as_str(), message.quiet), ("human", false));
        assert_eq!(world.unread("orchestrator").last(), Some(&id));
        assert!(!world.state.is_queued(&id));
    }
    assert_eq!(world.unread("orchestrator-2"), []);
    // What another orchestrator has for the user reaches the same one; what that one says itself reaches nobody else.
    let id = sent(&world.ask(other, sending("human", "x", None))).id.clone();
    assert_eq!(world.unread("orchestrator").last(), Some(&id));
    let own = sent(&world.ask(lead, sending("human", "y", None))).id.clone();
    assert_eq!((world.unread("orchestrator-2"), world.state.is_queued(&own)), (Vec::new(), false));
    assert_eq!(questions(&world), []);
}

#[test]
fn what_is_for_the_user_waits_for_who_speaks_with_them_and_passes_to_the_next_one() {
    let mut world = World::new();
    let bob = world.peer("bob");
    let id = world.send_with(bob, "human", signal("question"));
    assert!(world.state.is_queued(&id));
    assert_eq!(questions(&world), std::slice::from_ref(&id));
    let lead = world.lead();
    world.due();
    assert_eq!(world.unread("orchestrator"), std::slice::from_ref(&id));
    world.reap(&[lead]);
    assert_eq!(world.state.speaks_with_user().map(|speaker| speaker.id), None);
    let next = world.join(NameChoice::Like(name("orchestrator")), MemberKind::Orchestrator);
    world.due();
    let called = world.state.session(next).unwrap().name.to_string();
    assert!(world.unread(&called).contains(&id), "{called}");
    assert_eq!(world.state.awaited_answer(&id).unwrap().to, [name(&called)]);
}

#[test]
fn who_takes_the_lead_gets_what_is_for_the_user_and_was_not_read() {
    let mut world = World::new();
    let (lead, bob) = (world.lead(), world.peer("bob"));
    let read = world.send_with(bob, "human", signal("question"));
    let (call, _) = world.take(lead);
    world.settle(lead, call, true);
    let unread = world.send_with(bob, "human", signal("question"));
    world.take_lead("boss");
    world.due();
    assert!(world.unread("boss").contains(&unread) && !world.unread("boss").contains(&read));
    assert_eq!(world.delivery(&unread, "orchestrator"), Some(Delivery::Superseded));
    assert_eq!(questions(&world), [read, unread]);
}

#[test]
fn the_answer_of_the_user_settles_a_question_and_takes_it_from_who_was_to_pass_it_on() {
    let mut world = World::new();
    let (_, bob) = (world.lead(), world.peer("bob"));
    let id = world.send_with(bob, "human", signal("request_approval"));
    let (call, waiting) = world.wait_for_answer(&id);
    world.ask(bob, waiting);
    let events = says(&mut world, "bob", &id);
    let answer = sent(&events).clone();
    assert_eq!((answer.from, answer.reply_to.as_ref()), (Author::Human, Some(&id)));
    assert_eq!(world.held(bob, call), [answer.id]);
    assert_eq!((questions(&world), world.unread("orchestrator")), (Vec::new(), Vec::new()));
    assert_eq!(world.state.awaited_answer(&id), None);
    // A wait that comes too late is told which the answer was.
    world.settle(bob, call, true);
    let wait = Wait::of(world.call(), None, None, Some(&id));
    let reply = world.state.awaited_reply(&name("bob"), &wait, &[]);
    assert!(matches!(reply, AwaitedReply::Given(_)), "{reply:?}");
}

#[test]
fn who_speaks_with_the_user_answers_for_them_and_what_is_no_answer_leaves_a_question_open() {
    let mut world = World::new();
    let (lead, bob, eve) = (world.lead(), world.peer("bob"), world.peer("eve"));
    let id = world.send_with(bob, "human", signal("question"));
    let (call, _) = world.take(lead);
    world.settle(lead, call, true);
    // Neither a question back, nor words to others, nor words of others, nor words of the user to others.
    world.ask(lead, sending("eve", "look into it", Some(&id.to_string())));
    world.ask(lead, sending_with("bob", signal("question"), Some(&id)));
    says(&mut world, "eve", &id);
    // Neither do words of the user to all, of whom some cannot read the question: they begin a thread.
    assert_eq!(sent(&says(&mut world, "all", &id)).reply_to, None);
    assert!(world.state.awaited_answer(&id).is_some());
    assert!(matches!(
        world.refuse(eve, sending("bob", "no", Some(&id.to_string()))),
        Refusal::UnknownMessage { .. }
    ));
    assert_eq!(questions(&world), std::slice::from_ref(&id));
    world.reply(lead, "bob", &id.to_string());
    assert_eq!(questions(&world), []);
}

#[test]
fn a_question_ends_with_what_takes_its_place_and_with_its_time_and_each_member_has_few() {
    let mut world = World::new();
    let (_, bob) = (world.lead(), world.peer("bob"));
    let ids: Vec<_> = (0..limits::USER_QUESTIONS_OF_ONE)
        .map(|_| world.send_with(bob, "human", signal("question")))
        .collect();
    let refused = world.refuse(bob, sending_with("human", signal("question"), None));
    assert!(matches!(refused, Refusal::TooManyForUser { open: 5 }), "{refused}");
    let supersedes = Some(ids[0].clone());
    world.send_with(bob, "human", Envelope { supersedes, ..Envelope::default() });
    assert_eq!(questions(&world), ids[1..]);
    let ttl_seconds = Some(60);
    let short = world.send_with(bob, "human", Envelope { ttl_seconds, ..signal("question") });
    assert_eq!(questions(&world).last(), Some(&short));
    world.pass(60_000);
    world.due();
    assert_eq!(questions(&world), ids[1..]);
}

#[test]
fn the_user_claims_no_request_and_leaves_no_claim() {
    let mut world = World::new();
    let (_, bob) = (world.lead(), world.peer("bob"));
    let open = Operation::Open {
        description: text("x"),
        context: None,
        to: Some("human".into()),
        nudge_ms: 1_000,
        ttl_ms: 1_000,
        lease_ms: None,
        urgency: None,
    };
    let refused = world.refuse(bob, open);
    assert!(matches!(refused, Refusal::ToUser { .. }), "{refused}");
    let refused = world.refuse(bob, sending("user", "x", None));
    assert!(refused.to_string().contains("send_message to `human`"), "{refused}");
}

#[test]
fn the_oldest_of_too_many_questions_is_a_message_only() {
    let mut world = World::new();
    world.lead();
    for number in 0..=limits::USER_QUESTIONS {
        let asker = world.peer(&format!("p{number}"));
        world.send_with(asker, "human", signal("question"));
    }
    assert_eq!(questions(&world).len(), limits::USER_QUESTIONS);
}

#[test]
fn what_a_lead_has_left_is_for_no_other_member_that_takes_its_name() {
    let mut world = World::new();
    let (lead, bob) = (world.lead(), world.peer("bob"));
    let question = world.send_with(bob, "human", signal("question"));
    let news = sent(&world.ask(bob, sending("@lead", "news", None))).id.clone();
    world.reap(&[lead]);
    let new = world.joining(NameChoice::Chosen(name("orchestrator")), MemberKind::Peer, &[]);
    let refused = world.try_ask(None, Operation::Join(Box::new(new))).unwrap_err();
    assert_eq!(refused, Refusal::NameOfLead { name: name("orchestrator") });
    let peer = world.join(NameChoice::Like(name("orchestrator")), MemberKind::Peer);
    assert_eq!(world.state.session(peer).unwrap().name, name("orchestrator-2"));
    // The next orchestrator has it, whatever its name is, and then the name is free.
    world.take_lead("boss");
    world.due();
    let unread = world.unread("boss");
    assert!(unread.contains(&question) && unread.contains(&news), "{unread:?}");
    world.join(NameChoice::Chosen(name("orchestrator")), MemberKind::Peer);
}

#[test]
fn the_answer_of_the_user_finds_room_in_a_full_inbox() {
    let mut world = World::new();
    let (lead, bob) = (world.lead(), world.peer("bob"));
    let limits = limits::TeamLimits { unread: 3, ..world.state.limits() };
    world.ask(lead, Operation::Limit(limits));
    let id = world.send_with(bob, "human", signal("question"));
    while world.try_ask(lead, sending("bob", "more", None)).is_ok() {
        world.pass(3_000);
    }
    let answer = sent(&says(&mut world, "bob", &id)).id.clone();
    assert!(world.unread("bob").contains(&answer));
    assert_eq!(questions(&world), []);
    // What nobody has asked for waits until there is room.
    let wish = HumanWish::Send {
        to: "bob".into(),
        body: text("and more"),
        priority: None,
        reply_to: Some(id),
        signal: None,
    };
    let refused = world.try_ask(None, Operation::ByHuman(wish)).unwrap_err();
    assert!(matches!(refused, Refusal::InboxFull { .. }), "{refused}");
}

#[test]
fn of_too_many_questions_those_of_members_that_have_left_give_way() {
    let mut world = World::new();
    world.lead();
    let bob = world.peer("bob");
    let kept = world.send_with(bob, "human", signal("question"));
    for number in 0..=limits::USER_QUESTIONS {
        let asker = world.peer(&format!("p{number}"));
        world.send_with(asker, "human", signal("question"));
        world.leave(asker);
    }
    assert_eq!(
        (questions(&world).len(), questions(&world)[0].clone()),
        (limits::USER_QUESTIONS, kept)
    );
}
