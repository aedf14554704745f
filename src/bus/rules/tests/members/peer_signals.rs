//! News of who has come and left.

use super::super::*;
use crate::bus::rules::Description;
use crate::bus::state::Message;
use crate::domain::limits;
use crate::domain::member::{Label, PLAN_ROLE, Traits};
use crate::domain::messaging::Signal;
use crate::domain::wait_times;

/// The unread news in an inbox: each with its signal and whom it is about, oldest first.
fn news(world: &World, of: &str) -> Vec<(String, String)> {
    let of = name(of);
    let news = world.state.unread(&of).filter(|message| message.is_presence());
    let shown = news.map(|message| {
        let more = message.more.as_ref().unwrap();
        (message.signal().unwrap().to_string(), more.reference.clone().unwrap())
    });
    shown.collect()
}

fn news_of(signal: &Signal, about: &str) -> Vec<(String, String)> {
    vec![(signal.to_string(), about.to_owned())]
}

/// Sees all that a member has.
fn read(world: &mut World, session: SessionId) {
    let (call, _) = world.take(session);
    world.settle(session, call, true);
}

#[test]
fn those_that_joined_by_themselves_hear_of_each_other() {
    let mut world = World { keeps_news: true, ..World::new() };
    world.lead();
    let ann = world.peer("ann");
    assert_eq!(news(&world, "orchestrator"), news_of(&Signal::PEER_JOINED, "ann"));
    assert_eq!(news(&world, "ann"), []);
    world.peer("bob");
    assert_eq!(news(&world, "ann"), news_of(&Signal::PEER_JOINED, "bob"));
    assert_eq!(news(&world, "orchestrator").len(), 2);
    world.leave(ann);
    assert_eq!(news(&world, "bob"), news_of(&Signal::PEER_LEFT, "ann"));
}

#[test]
fn a_lone_orchestrator_hears_nothing_of_its_agents_and_they_hear_of_nobody() {
    let mut world = World { keeps_news: true, ..World::new() };
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    world.peer("ann");
    world.leave(agent);
    let other = world.agent(lead, "gemini");
    assert_eq!(news(&world, "orchestrator"), news_of(&Signal::PEER_JOINED, "ann"));
    assert_eq!(news(&world, "gemini"), []);
    world.reap(&[other]);
    assert_eq!(news(&world, "orchestrator").len(), 1);
}

#[test]
fn followers_of_presence_hear_of_agents_too() {
    let mut world = World { keeps_news: true, ..World::new() };
    let lead = world.lead();
    let watcher = world.agent(lead, "watcher");
    let presence = Label::parse("presence").unwrap();
    world.ask(watcher, Operation::FollowTopic(presence.clone()));
    let agent = world.agent(lead, "codex");
    assert_eq!(news(&world, "watcher"), news_of(&Signal::PEER_JOINED, "codex"));
    world.leave(agent);
    assert_eq!(news(&world, "watcher"), news_of(&Signal::PEER_LEFT, "codex"));
    // One that never was ready has not joined either.
    let new = world.new_agent(NameChoice::Like(name("gemini")));
    let session = new.starting.session;
    world.ask(lead, Operation::Start(Box::new(new), None));
    let leave = Operation::Leave { session, departure: Departure::Failed, detail: None };
    world.ask(lead, leave);
    assert_eq!(news(&world, "watcher").len(), 1);
    world.peer("ann");
    assert_eq!(news(&world, "watcher").len(), 2);
    world.ask(watcher, Operation::LeaveTopic(presence));
    world.peer("bob");
    assert_eq!(news(&world, "watcher").len(), 2);
    assert_eq!(news(&world, "orchestrator").len(), 2);
}

#[test]
fn the_news_has_the_fields_of_its_signal() {
    let mut world = World { keeps_news: true, ..World::new() };
    world.lead();
    let mut new = world.joining(NameChoice::Chosen(name("ann")), MemberKind::Peer, &[]);
    let surface = Label::parse("claude-code").ok();
    let traits = Traits { surface, ..Traits::default() };
    new.description = Description { traits, ..Description::default() };
    let ann = new.session;
    let events = world.ask(None, Operation::Join(Box::new(new)));
    let joined = sent(&events);
    assert_eq!((joined.priority, joined.quiet), (Priority::Low, true));
    assert_eq!(joined.audience.to_string(), "#presence");
    assert_eq!(said(joined), "ann (peer, s2) has joined");
    let payload = |events: &[Event]| {
        let more = sent(events).more.clone().unwrap();
        serde_json::Value::from(more.payload.unwrap())
    };
    let expected =
        serde_json::json!({ "identity": "ann", "surface": "claude-code", "session_id": "s2" });
    assert_eq!(payload(&events), expected);
    let events = world.reap(&[ann]);
    let expected =
        serde_json::json!({ "identity": "ann", "surface": "claude-code", "reason": "dead" });
    assert_eq!(payload(&events), expected);
    assert_eq!(said(sent(&events)), "ann (peer, s2) ended: its process is gone");
}

#[test]
fn what_is_no_longer_true_goes_unread() {
    let mut world = World { keeps_news: true, ..World::new() };
    let lead = world.lead();
    for _ in 0..10 {
        let ann = world.peer("ann");
        assert_eq!(news(&world, "orchestrator"), news_of(&Signal::PEER_JOINED, "ann"));
        world.leave(ann);
        assert_eq!(news(&world, "orchestrator"), news_of(&Signal::PEER_LEFT, "ann"));
    }
    read(&mut world, lead);
    assert_eq!(news(&world, "orchestrator"), []);
    // A name that is taken over says both, and so one of them.
    let ann = world.peer("ann");
    read(&mut world, lead);
    let new = world.joining(NameChoice::Chosen(name("ann")), MemberKind::Peer, &[ann]);
    world.ask(None, Operation::Join(Box::new(new)));
    assert_eq!(news(&world, "orchestrator"), news_of(&Signal::PEER_JOINED, "ann"));
}

#[test]
fn an_inbox_holds_few_of_them_and_a_full_one_none() {
    let mut world = World { keeps_news: true, ..World::new() };
    let lead = world.lead();
    for number in 0..limits::UNREAD_PRESENCE + 5 {
        world.peer(&format!("peer-{number}"));
    }
    assert_eq!(news(&world, "orchestrator").len(), limits::UNREAD_PRESENCE);
    read(&mut world, lead);
    let writer = world.peer("writer");
    read(&mut world, lead);
    let limit = world.state.limits().unread;
    for number in 0..limit {
        world.send(writer, "orchestrator", &format!("text {number}"));
    }
    world.peer("late");
    assert_eq!(news(&world, "orchestrator"), []);
}

/// What is unread keeps the history before it.
#[test]
fn they_expire_after_a_day_without_a_word() {
    let mut world = World { keeps_news: true, ..World::new() };
    world.lead();
    world.peer("ann");
    world.pass(wait_times::PRESENCE_SECONDS * 1_000 + 1);
    let events = world.due();
    assert_eq!(news(&world, "orchestrator"), []);
    assert!(events.iter().all(|event| matches!(event, Event::MessageExpired { .. })));
}

#[test]
fn they_end_no_wait_and_wake_nobody() {
    let mut world = World { keeps_news: true, ..World::new() };
    let lead = world.lead();
    let waiting = world.wait(lead);
    world.peer("ann");
    assert_eq!(world.state.in_flight_to(lead, waiting), Vec::<&Message>::new());
    assert!(world.state.waits(lead, waiting));
    // Nor is it what a wait begins with.
    let again = world.wait(lead);
    assert!(world.state.waits(lead, again));
    let presence = Label::parse("presence").unwrap();
    let agent = world.agent(lead, "codex");
    world.ask(agent, Operation::FollowTopic(presence));
    world.peer("bob");
    let codex = name("codex");
    let mut unread = world.state.unread(&codex);
    assert!(unread.all(|message| !message.wakes(&codex) && !message.is_talk()));
    assert!(world.state.is_at_rest(world.state.session(agent).unwrap()));
}

#[test]
fn who_would_not_read_them_gets_none() {
    let mut world = World { keeps_news: true, ..World::new() };
    let mut run = world.joining(NameChoice::Like(name("run")), MemberKind::Orchestrator, &[]);
    run.roles = vec![PLAN_ROLE.to_owned()];
    world.ask(None, Operation::Join(Box::new(run)));
    let ann = world.peer("ann");
    world.ask(None, Operation::Hung(vec![ann], 30_000));
    world.peer("bob");
    assert_eq!(news(&world, "run"), []);
    assert_eq!(news(&world, "ann"), []);
}

#[test]
fn in_a_team_of_very_many_nobody_is_told() {
    let mut world = World { keeps_news: true, ..World::new() };
    let first = world.peer("first");
    for number in 0..limits::TOLD_OF_PEERS {
        world.peer(&format!("peer-{number}"));
    }
    read(&mut world, first);
    let late = world.peer("late");
    assert_eq!(news(&world, "first"), []);
    world.leave(late);
    assert_eq!(news(&world, "first"), []);
}

/// The dead hear nothing of each other, and the living of each.
#[test]
fn those_that_die_together_are_told_of_each() {
    let mut world = World { keeps_news: true, ..World::new() };
    let lead = world.lead();
    let dead = ["a", "b", "c"].map(|called| world.peer(called));
    read(&mut world, lead);
    let events = world.reap(&dead);
    assert_eq!(news(&world, "orchestrator").len(), 3);
    assert!(all_sent(&events).all(|sent| sent.to.named() == [name("orchestrator")]));
}
