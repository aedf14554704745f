//! Lanes: each has one owner, who claims it, gives it up, or leaves.

use super::super::*;
use crate::bus::event::LaneMoved;
use crate::bus::rules::Description;
use crate::domain::limits;
use crate::domain::member::{Label, Traits};

fn lane(text: &str) -> Label {
    Label::parse(text).unwrap()
}

fn claim(text: &str) -> Operation {
    Operation::ClaimLane(lane(text))
}

fn release(text: &str) -> Operation {
    Operation::ReleaseLane(lane(text))
}

fn owner(world: &World, text: &str) -> Option<String> {
    world.state.lane_owner(text).map(|owner| owner.name.to_string())
}

/// Lets a peer join that says it does a lane, and returns what happens.
fn join_with_lane(world: &mut World, called: &str, does: &str) -> (SessionId, Vec<Event>) {
    let mut new = world.joining(NameChoice::Chosen(name(called)), MemberKind::Peer, &[]);
    let traits = Traits { lane: Some(lane(does)), ..Traits::default() };
    new.description = Description { traits, ..Description::default() };
    let session = new.session;
    let events = world.ask(None, Operation::Join(Box::new(new)));
    (session, events)
}

#[test]
fn a_lane_has_one_owner_until_it_releases_it_or_leaves() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let moved = LaneMoved { session: a, lane: lane("storage") };
    assert_eq!(world.ask(a, claim("storage")), [Event::LaneClaimed(moved.clone())]);
    assert_eq!(world.ask(a, claim("Storage")), [], "it owns it already");
    let refusal = world.refuse(b, claim("STORAGES"));
    assert_eq!(
        refusal.to_string(),
        "a owns the lane `@STORAGES`: write to `@STORAGES`, or ask a to release it"
    );
    let refusal = world.refuse(b, release("storage"));
    assert_eq!(refusal.to_string(), "you do not own the lane `@storage`: a does");
    let sent_to = |events: &[Event]| sent(events).to.named().to_vec();
    assert_eq!(sent_to(&world.ask(b, sending("@storage", "x", None))), [name("a")]);
    assert_eq!(world.ask(a, release("storage")), [Event::LaneReleased(moved)]);
    assert_eq!(owner(&world, "storage"), None);
    assert_eq!(
        world.refuse(a, release("storage")).to_string(),
        "you do not own the lane `@storage`"
    );
    world.ask(b, claim("storage"));
    world.leave(b);
    assert_eq!(owner(&world, "storage"), None);
}

#[test]
fn who_says_it_does_an_owned_lane_is_told_by_whom_and_follows_its_owner() {
    let mut world = World::new();
    let a = world.peer("a");
    world.ask(a, claim("storage"));
    let (b, events) = join_with_lane(&mut world, "b", "storage");
    let (c, _) = join_with_lane(&mut world, "c", "storage");
    let told = "the lane @storage has an owner, a: messages to it reach a and, once a has released \
                it or left, you";
    assert_eq!(notices(&events, "b"), [told]);
    assert_eq!(owner(&world, "storage").as_deref(), Some("a"));
    world.leave(a);
    assert_eq!(owner(&world, "storage").as_deref(), Some("b"), "it is here longest");
    // What it said when it joined can be given up, too.
    world.ask(b, release("storage"));
    assert_eq!(owner(&world, "storage").as_deref(), Some("c"));
    let held = |session| world.state.owned_by(world.state.session(session).unwrap());
    assert_eq!((held(b), held(c)), (Vec::new(), vec!["@storage".to_owned()]));
}

#[test]
fn a_session_claims_a_limited_number_of_lanes() {
    let mut world = World::new();
    let a = world.peer("a");
    for number in 0..limits::LANES_OF_ONE {
        world.ask(a, claim(&format!("lane{number}")));
    }
    let refusal = world.refuse(a, claim("more"));
    assert_eq!(
        refusal.to_string(),
        "you own 16 lanes, which is the limit: release one with update_claim"
    );
}

#[test]
fn an_owner_that_does_not_respond_has_a_lane_only_as_long_as_nobody_else_does_it() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    world.ask(a, claim("storage"));
    world.ask(None, Operation::Hung(vec![a], 30_000));
    assert_eq!(owner(&world, "storage").as_deref(), Some("a"), "nobody else does it");
    let (c, _) = join_with_lane(&mut world, "c", "storage");
    assert_eq!(owner(&world, "storage").as_deref(), Some("c"));
    let sent_to = |events: &[Event]| sent(events).to.named().to_vec();
    assert_eq!(sent_to(&world.ask(b, sending("@storage", "x", None))), [name("c")]);
    world.ask(None, Operation::Back(vec![a]));
    assert_eq!(owner(&world, "storage").as_deref(), Some("a"), "it had claimed it");
    world.ask(None, Operation::Hung(vec![a], 30_000));
    let told = "c has claimed the lane @storage while you did not respond: messages to it reach c";
    assert_eq!(notices(&world.ask(c, claim("storage")), "a"), [told]);
    world.ask(None, Operation::Back(vec![a]));
    assert_eq!(owner(&world, "storage").as_deref(), Some("c"));
    assert!(matches!(world.refuse(a, claim("storage")), Refusal::LaneTaken { .. }));
}

#[test]
fn the_requests_for_a_lane_are_shown_to_who_does_it_while_its_owner_does_not_respond() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    world.ask(a, claim("storage"));
    let (c, _) = join_with_lane(&mut world, "c", "storage");
    let open = Operation::Open {
        description: text("look at this"),
        context: None,
        to: Some("@storage".into()),
        nudge_ms: 30_000,
        ttl_ms: 900_000,
        lease_ms: None,
        urgency: None,
    };
    let events = world.ask(b, open);
    let opened = events.iter().find_map(|event| match event {
        Event::RequestOpened(opened) => Some((opened.id.clone(), opened.message.clone())),
        _ => None,
    });
    let (request, shown) = opened.unwrap();
    assert!(!world.unread("c").contains(&shown));
    world.ask(None, Operation::Hung(vec![a], 30_000));
    world.due();
    assert!(world.unread("c").contains(&shown));
    world.ask(c, Operation::Claim(request, CALL));
}

#[test]
fn no_lane_has_the_word_of_others_or_of_all() {
    let mut world = World::new();
    let a = world.peer("a");
    let mut new = world.joining(NameChoice::Chosen(name("b")), MemberKind::Peer, &[]);
    new.roles = vec!["reviewer".into()];
    world.ask(None, Operation::Join(Box::new(new)));
    assert_eq!(
        world.refuse(a, claim("Reviewers")).to_string(),
        "`Reviewers` is the name, a role or a capability of b, who gets what is written to `@Reviewers`: give \
         your lane another word"
    );
    // Neither a plural s nor case counts where it is written to.
    assert!(matches!(world.refuse(a, claim("Bs")), Refusal::LaneMeansOthers { .. }));
    assert!(matches!(world.refuse(a, claim("user")), Refusal::LaneMeansMore { .. }));
    assert_eq!(
        world.refuse(a, claim("project")).to_string(),
        "no lane can be called `project`: `@project` has a meaning of its own"
    );
}

#[test]
fn who_joins_with_a_lane_takes_nothing_from_others() {
    let mut world = World::new();
    let c = world.peer("c");
    let mut ann = world.joining(NameChoice::Chosen(name("ann")), MemberKind::Peer, &[]);
    ann.roles = vec!["reviewer".into()];
    world.ask(None, Operation::Join(Box::new(ann)));
    for (number, word) in ["Reviewers", "ann", "lead"].into_iter().enumerate() {
        let (session, events) = join_with_lane(&mut world, &format!("hij-{number}"), word);
        assert!(!world.state.session(session).unwrap().does_lane(word), "{word}");
        let told = serde_json::to_string(&events).unwrap();
        assert!(told.contains("is not yours, as that"), "{told}");
    }
    let events = world.ask(c, sending("@reviewer", "x", None));
    assert_eq!(sent(&events).to.named(), [name("ann")]);
}

#[test]
fn a_claimed_lane_takes_no_messages_from_who_comes_later_with_that_role() {
    let mut world = World::new();
    let (a, c) = (world.peer("a"), world.peer("c"));
    assert!(matches!(world.refuse(a, claim("C")), Refusal::LaneMeansOthers { .. }));
    world.ask(a, claim("reviewer"));
    let mut new = world.joining(NameChoice::Chosen(name("b")), MemberKind::Peer, &[]);
    new.roles = vec!["reviewer".into()];
    world.ask(None, Operation::Join(Box::new(new)));
    let events = world.ask(c, sending("@reviewer", "x", None));
    assert_eq!(sent(&events).to.named(), [name("b")]);
}
