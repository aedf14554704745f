//! Messages that wait for the first who fits their address.

use super::sending::{sending_with, signal};
use crate::bus::event::Envelope;
use crate::bus::rules::tests::*;
use crate::domain::limits;
use crate::domain::member::Label;

fn lane(world: &mut World, by: SessionId) -> Vec<Event> {
    world.ask(by, Operation::ClaimLane(Label::parse("storage").unwrap()))
}

fn queue() -> Envelope {
    Envelope { queue: true, ..signal("question") }
}

#[test]
fn a_message_that_fits_nobody_waits_for_the_first_who_fits_and_then_its_deadlines_begin() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let refused = world.refuse(a, sending_with("@storage", signal("question"), None));
    assert!(matches!(refused, Refusal::NobodyFits(_)), "{refused}");
    let id = world.send_with(a, "@storage", queue());
    assert!(world.state.is_queued(&id));
    world.pass(1_000_000);
    assert_eq!((world.due(), world.state.awaited_answer(&id)), (Vec::new(), None));
    lane(&mut world, b);
    assert_eq!(world.state.earliest_due_ms(world.now), Some(0), "it is delivered at once");
    world.due();
    assert_eq!((world.unread("b"), world.unread("c")), (vec![id.clone()], Vec::new()));
    assert!(!world.state.is_queued(&id));
    assert_eq!(world.state.awaited_answer(&id).unwrap().to, [name("b")]);
    // Who fits later gets nothing of it.
    world.ask(b, Operation::ReleaseLane(Label::parse("storage").unwrap()));
    lane(&mut world, c);
    assert_eq!((world.due(), world.unread("c")), (Vec::new(), Vec::new()));
    // Where somebody fits at once nothing waits.
    let at_once = world.send_with(a, "@storage", queue());
    assert_eq!((world.unread("c"), world.state.is_queued(&at_once)), (vec![at_once], false));
}

#[test]
fn whoever_gets_it_next_has_the_whole_time_and_all_reminders() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let id = world.send_with(a, "@storage", queue());
    let remind = |world: &mut World, times: u32| {
        for _ in 0..times {
            world.pass(300_000);
            let events = world.due();
            let reminds = |event: &Event| matches!(event, Event::MessageReminded { .. });
            assert!(events.iter().any(reminds), "{events:?}");
        }
    };
    lane(&mut world, b);
    world.due();
    remind(&mut world, 2);
    world.leave(b);
    lane(&mut world, c);
    world.due();
    assert_eq!(world.unread("c"), std::slice::from_ref(&id));
    assert_eq!(world.state.awaited_answer(&id).unwrap().to, [name("c")]);
    remind(&mut world, limits::ANSWER_REMINDERS);
    world.pass(300_000);
    world.due();
    assert_eq!(world.state.awaited_answer(&id), None);
}

#[test]
fn what_waits_may_mention_others_who_get_a_copy_at_once() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let id = world.send_with(a, "@storage", Envelope { mentions: vec![name("c")], ..queue() });
    assert_eq!(world.unread("c"), std::slice::from_ref(&id));
    let (call, _) = world.take(c);
    world.settle(c, call, true);
    assert!(world.state.is_queued(&id));
    lane(&mut world, b);
    world.due();
    assert_eq!(world.unread("b"), [id]);
}

#[test]
fn what_waits_under_a_topic_is_with_its_first_follower_in_the_append_that_follows_it() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let id = world.send_with(a, "#news", queue());
    let follow = || Operation::FollowTopic(Label::parse("news").unwrap());
    let events = world.ask(b, follow());
    assert!(events.iter().any(|event| matches!(event, Event::MessageAddressed { .. })));
    assert_eq!(world.unread("b"), [id]);
    world.ask(c, follow());
    assert_eq!((world.due(), world.unread("c")), (Vec::new(), Vec::new()));
}

#[test]
fn what_waits_in_vain_expires_once_and_its_sender_is_told() {
    for (ttl_seconds, waits_ms) in [(None, 30 * 24 * 60 * 60 * 1000), (Some(60), 60_000)] {
        let mut world = World::new();
        let (a, b) = (world.peer("a"), world.peer("b"));
        let id = world.send_with(a, "#news", Envelope { ttl_seconds, ..queue() });
        world.pass(waits_ms - 1);
        assert_eq!(notices(&world.due(), "a"), Vec::<String>::new());
        world.pass(1);
        let told = format!("your message {id} to #news expired: nobody who fits came");
        assert_eq!(notices(&world.due(), "a"), [told]);
        world.ask(b, Operation::FollowTopic(Label::parse("news").unwrap()));
        assert_eq!((world.due(), world.unread("b")), (Vec::new(), Vec::new()));
        assert_eq!(world.state.awaited_answer(&id), None);
    }
}

#[test]
fn what_waits_is_one_message_is_withdrawn_and_is_limited() {
    let mut world = World::new();
    let (lead, b) = (world.lead(), world.peer("b"));
    let limits =
        limits::TeamLimits { messages_per_minute: 60, message_burst: 20, ..world.state.limits() };
    world.ask(lead, Operation::Limit(limits));
    let id = world.send_with(lead, "@storage", queue());
    let again = world.refuse(lead, sending_with("@storage", queue(), None));
    assert_eq!(again, Refusal::Double { id: id.clone() });
    let instead = Envelope { supersedes: Some(id.clone()), ..queue() };
    let after = world.send_with(lead, "@storage", instead);
    assert!(!world.state.is_queued(&id) && world.state.is_queued(&after));
    world.ask(lead, Operation::Limit(limits::TeamLimits { messages_per_minute: 0, ..limits }));
    for _ in 1..limits::QUEUED_OF_ONE {
        world.send_with(lead, "@storage", queue());
    }
    let refused = world.refuse(lead, sending_with("@storage", queue(), None));
    assert_eq!(
        refused.to_string(),
        "20 messages already wait for somebody who fits, the limit of one member: write again when \
         somebody is there"
    );
    lane(&mut world, b);
    world.due();
    assert_eq!(world.unread("b").len(), limits::QUEUED_OF_ONE);
}

#[test]
fn what_waits_outlives_its_sender_and_a_snapshot() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.send_with(a, "@storage", queue());
    world.leave(a);
    let text = serde_json::to_string(&world.state).unwrap();
    let mut loaded: crate::bus::state::State = serde_json::from_str(&text).unwrap();
    loaded.rebuild();
    assert_eq!(loaded, world.state);
    lane(&mut world, b);
    world.due();
    assert_eq!(world.unread("b"), [id]);
}

#[test]
fn what_waited_goes_to_the_next_who_fits_if_who_got_it_dies_before_reading() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let id = world.send_with(a, "@storage", queue());
    lane(&mut world, b);
    world.due();
    let (call, _) = world.take(b);
    world.ask(None, Operation::Reap(vec![b.into()]));
    assert!(!world.state.waits(b, call));
    lane(&mut world, c);
    world.due();
    assert_eq!((world.unread("b"), world.unread("c")), (Vec::new(), vec![id.clone()]));
    assert_eq!(world.state.awaited_answer(&id).unwrap().to, [name("c")]);
    // Whoever has seen it keeps it.
    let (call, _) = world.take(c);
    world.settle(c, call, true);
    world.ask(None, Operation::Reap(vec![c.into()]));
    let d = world.peer("d");
    lane(&mut world, d);
    assert_eq!((world.due(), world.unread("d")), (Vec::new(), Vec::new()));
}

#[test]
fn who_had_a_question_that_has_passed_on_keeps_no_reminder_of_it() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let question = Envelope { response_seconds: Some(1), ..queue() };
    let id = world.send_with(a, "@storage", question);
    lane(&mut world, b);
    world.due();
    assert_eq!(world.unread("b"), std::slice::from_ref(&id));
    world.ask(None, Operation::Reap(vec![b.into()]));
    world.pass(1_000);
    world.due();
    assert_eq!(world.unread("b").len(), 2, "it waits for its name, with a reminder");
    lane(&mut world, c);
    world.due();
    assert_eq!((world.unread("b"), world.unread("c")), (Vec::new(), vec![id]));
}

#[test]
fn what_may_wait_and_one_member_got_at_once_goes_to_the_next_who_fits_if_it_dies_before_reading() {
    for has_read in [false, true] {
        let mut world = World::new();
        let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
        lane(&mut world, b);
        let events = world.ask(a, sending_with("@storage", queue(), None));
        let id = sent(&events).id.clone();
        assert_eq!(world.unread("b"), std::slice::from_ref(&id), "in the same append");
        assert_eq!(world.state.awaited_answer(&id).unwrap().to, [name("b")]);
        let (call, _) = world.take(b);
        if has_read {
            world.settle(b, call, true);
        }
        world.ask(None, Operation::Reap(vec![b.into()]));
        lane(&mut world, c);
        world.due();
        let expected = if has_read { Vec::new() } else { vec![id.clone()] };
        assert_eq!(world.unread("c"), expected);
        // The one that died finds it only if nobody else has got it.
        world.peer("b");
        assert_eq!(world.unread("b"), []);
        if !has_read {
            let (call, _) = world.take(c);
            world.settle(c, call, true);
            world.ask(None, Operation::Reap(vec![c.into()]));
            let b = world.state.live(&name("b")).unwrap().id;
            lane(&mut world, b);
            assert_eq!((world.due(), world.unread("b")), (Vec::new(), Vec::new()), "it was read");
        }
    }
}

#[test]
fn who_had_a_message_that_has_passed_on_still_answers_it() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let id = world.send_with(a, "@storage", queue());
    let reply = |to: &str| sending_with(to, Envelope::default(), Some(&id));
    let unknown = Refusal::UnknownMessage { id: id.clone() };
    assert_eq!(world.refuse(b, reply("a")), unknown, "it had nothing");
    lane(&mut world, b);
    world.due();
    world.take(b);
    world.ask(None, Operation::Reap(vec![b.into()]));
    lane(&mut world, c);
    world.due();
    let b = world.peer("b");
    assert_eq!((world.unread("b"), world.unread("c")), (Vec::new(), vec![id.clone()]));
    let answer = world.ask(b, reply("a"));
    assert_eq!(
        (&sent(&answer).reply_to, &sent(&answer).thread),
        (&Some(id.clone()), &Some(id.clone()))
    );
    // What its sender has taken back stays unknown to who was not shown it.
    let before = world.send(a, "b", "old");
    let instead = Envelope { supersedes: Some(before.clone()), ..Envelope::default() };
    world.ask(a, sending_with("b", instead, None));
    let refused = world.refuse(b, sending_with("a", Envelope::default(), Some(&before)));
    assert_eq!(refused, Refusal::UnknownMessage { id: before });
}

#[test]
fn what_may_wait_waits_while_the_only_one_who_fits_does_not_respond() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    world.ask(b, Operation::FollowTopic(Label::parse("news").unwrap()));
    world.ask(None, Operation::Hung(vec![b], 1_000));
    let id = world.send_with(a, "#news", queue());
    assert!(world.state.is_queued(&id));
    world.ask(c, Operation::FollowTopic(Label::parse("news").unwrap()));
    assert_eq!((world.unread("b"), world.unread("c")), (Vec::new(), vec![id]));
}

#[test]
fn what_waited_goes_once_to_the_next_who_fits_while_who_got_it_does_not_respond() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let id = world.send_with(a, "#news", queue());
    world.ask(b, Operation::FollowTopic(Label::parse("news").unwrap()));
    world.due();
    world.ask(None, Operation::Hung(vec![b], 1_000));
    world.due();
    assert_eq!(world.unread("b"), std::slice::from_ref(&id), "nobody else fits");
    world.ask(c, Operation::FollowTopic(Label::parse("news").unwrap()));
    world.due();
    assert_eq!((world.unread("b"), world.unread("c")), (Vec::new(), vec![id.clone()]));
    world.ask(None, Operation::Back(vec![b]));
    assert_eq!(world.due(), [], "it has passed on");
    assert_eq!((world.unread("b"), world.unread("c")), (Vec::new(), vec![id.clone()]));
    // Whoever had it still answers it.
    let answer = world.ask(b, sending_with("a", Envelope::default(), Some(&id)));
    assert_eq!(sent(&answer).reply_to, Some(id));
}

#[test]
fn what_a_hung_member_has_in_flight_stays_with_it_until_that_is_given_up() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let id = world.send_with(a, "#news", queue());
    world.ask(b, Operation::FollowTopic(Label::parse("news").unwrap()));
    world.due();
    let (call, _) = world.take(b);
    world.ask(None, Operation::Hung(vec![b], 1_000));
    world.ask(c, Operation::FollowTopic(Label::parse("news").unwrap()));
    world.due();
    assert_eq!(world.unread("c"), [], "it may have been shown");
    world.settle(b, call, false);
    world.due();
    assert_eq!((world.unread("b"), world.unread("c")), (Vec::new(), vec![id]));
}

#[test]
fn what_waited_waits_again_for_a_month_if_nobody_else_fits_and_a_returning_name_has_it() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.send_with(a, "@storage", queue());
    lane(&mut world, b);
    world.due();
    world.ask(None, Operation::Reap(vec![b.into()]));
    assert_eq!(world.due(), []);
    world.peer("b");
    assert_eq!(world.unread("b"), [id]);
}

#[test]
fn who_fits_and_has_a_copy_owes_the_answer_and_gets_it_once() {
    for has_seen in [false, true] {
        let mut world = World::new();
        let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
        let id = world.send_with(a, "@storage", Envelope { mentions: vec![name("b")], ..queue() });
        if has_seen {
            let (call, _) = world.take(b);
            world.settle(b, call, true);
        }
        lane(&mut world, b);
        world.due();
        let expected = if has_seen { Vec::new() } else { vec![id.clone()] };
        assert_eq!(world.unread("b"), expected);
        assert_eq!(world.state.awaited_answer(&id).unwrap().to, [name("b")]);
        assert!(!world.state.is_queued(&id));
        world.ask(b, Operation::ReleaseLane(Label::parse("storage").unwrap()));
        lane(&mut world, c);
        assert_eq!((world.due(), world.unread("c")), (Vec::new(), Vec::new()));
    }
}

#[test]
fn nobody_keeps_the_others_out_of_a_full_queue() {
    let mut world = World::new();
    let many = limits::QUEUED / limits::QUEUED_OF_ONE;
    let mut first = None;
    for number in 0..many {
        let one = world.peer(&format!("one{number}"));
        for _ in 0..limits::QUEUED_OF_ONE {
            let id = world.send_with(one, "@storage", queue());
            first.get_or_insert(id);
        }
    }
    let a = world.peer("a");
    let events = world.ask(a, sending_with("@storage", queue(), None));
    let out = events.iter().find_map(|event| match event {
        Event::MessageUnclaimed { id } => Some(id.clone()),
        _ => None,
    });
    let told = format!(
        "your message {} to @storage gave way to another one: too many wait for somebody who fits",
        out.unwrap()
    );
    let notices: Vec<_> =
        all_sent(&events).filter(|sent| sent.kind == MessageKind::Notice).map(said).collect();
    assert_eq!(notices, [told]);
    // Whoever has left gives way first.
    let gone = world.state.live(&name("one2")).unwrap().id;
    world.leave(gone);
    let events = world.ask(a, sending_with("@storage", queue(), None));
    assert!(events.iter().any(|event| matches!(event, Event::MessageUnclaimed { id } if world.state.message(id).is_none_or(|message| message.from.member() == Some(&name("one2"))))));
}
