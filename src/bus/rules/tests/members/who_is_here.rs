//! Who is here: the numbers of sessions, what members say of themselves, and the names of a pool.

use crate::bus::event::Described;
use crate::bus::rules::tests::*;
use crate::bus::rules::{Description, known_member};
use crate::bus::state::Session;
use crate::domain::member::{Label, SessionNumber, Traits};

fn number(world: &World, session: SessionId) -> String {
    world.state.session(session).unwrap().number.unwrap().to_string()
}

fn called(world: &World, session: SessionId) -> String {
    world.state.session(session).unwrap().name.to_string()
}

fn label(text: &str) -> Label {
    Label::parse(text).unwrap()
}

#[test]
fn a_number_and_the_name_reach_one_session_and_after_its_end_only_the_name_does() {
    let mut world = World::new();
    let (ann, bob) = (world.peer("ann"), world.peer("bob"));
    assert_eq!((number(&world, ann), number(&world, bob)), ("s1".into(), "s2".into()));
    for to in ["s2", "S2", "bob", "BOB"] {
        world.send(ann, to, "hello");
    }
    let (call, held) = world.take(bob);
    assert_eq!(held.len(), 4);
    world.settle(bob, call, true);
    world.leave(bob);
    let next = world.peer("bob");
    assert_eq!(number(&world, next), "s3");
    let refusal = world.refuse(ann, sending("s2", "too late", None));
    let expected = "there is no session `s2` here any more: it was one of `bob`, whose name lasts";
    assert_eq!(refusal.to_string(), expected);
    world.send(ann, "bob", "hello again");
    world.send(ann, "s3", "and again");
    assert_eq!(world.take(next).1.len(), 2);
    let refusal = world.refuse(ann, sending("s9", "nobody", None));
    let expected = "there is no session `s9` here: list_agents shows those that are";
    assert_eq!(refusal.to_string(), expected);
    assert!(matches!(world.refuse(ann, sending("s1", "me", None)), Refusal::ToYourself { .. }));
}

#[test]
fn no_number_is_given_twice_whatever_becomes_of_its_session() {
    let mut world = World::new();
    let lead = world.lead();
    let agent = world.agent(lead, "codex");
    assert_eq!((number(&world, lead), number(&world, agent)), ("s1".into(), "s2".into()));
    // A restart by policy goes on with the session.
    let crash = Operation::Crash {
        session: agent,
        detail: "out of memory".into(),
        task: crate::bus::rules::Broken::Interrupted,
    };
    world.ask(lead, crash);
    world.ready(lead, agent);
    assert_eq!(number(&world, agent), "s2");
    world.reap(&[agent]);
    let again = world.agent(lead, "codex");
    assert_eq!(number(&world, again), "s3");
    world.leave(lead);
    let peer = world.peer("ann");
    assert_eq!(number(&world, peer), "s4");
    assert_eq!(world.state.last_number(), SessionNumber::parse("s4"));
}

#[test]
fn a_number_stands_for_its_member_wherever_one_is_named() {
    let mut world = World::new();
    let lead = world.lead();
    let (agent, ann) = (world.agent(lead, "codex"), world.peer("ann"));
    assert_eq!(known_member(&world.state, "s3").unwrap(), &name("ann"));
    assert_eq!(world.state.live_as("s2").map(|live| live.id), Some(agent));
    assert_eq!(world.state.live_as("codex").map(|live| live.id), Some(agent));
    assert_eq!(world.state.live_as("s4").map(|live| live.id), None);
    let stop = Operation::Stop { agent: "s2".into(), reason: None, kill: true };
    world.ask(lead, stop);
    assert!(world.state.session(agent).unwrap().stop.is_some());
    let stop = Operation::Stop { agent: "s3".into(), reason: None, kill: true };
    assert!(matches!(world.refuse(lead, stop), Refusal::NotAnAgent { .. }));
    world.ask(
        None,
        Operation::ByHuman(crate::bus::rules::HumanWish::Send {
            to: "s3".into(),
            body: text("from the command line"),
            priority: None,
            signal: None,
            reply_to: None,
        }),
    );
    assert_eq!(world.take(ann).1.len(), 1);
}

#[test]
fn what_a_session_says_of_itself_stands_beside_its_number() {
    let mut world = World::new();
    let traits = Traits {
        lane: Some(label("storage")),
        capabilities: vec![label("rust"), label("review")],
        topics: vec![label("releases")],
        surface: Some(label("claude-code")),
    };
    let mut new = world.joining(NameChoice::Chosen(name("ann")), MemberKind::Peer, &[]);
    new.description = Description {
        traits: traits.clone(),
        cwd: Some("/project/sub".into()),
        ..Description::default()
    };
    let session = new.session;
    let events = world.ask(None, Operation::Join(Box::new(new)));
    assert!(matches!(&events[0], Event::MemberJoined(joined) if joined.session == session));
    let described = Described {
        session,
        number: SessionNumber::FIRST,
        traits: traits.clone(),
        cwd: Some("/project/sub".into()),
        host: None,
    };
    assert_eq!(events[1], Event::MemberDescribed(described));
    let live: &Session = world.state.session(session).unwrap();
    assert_eq!((&live.traits, live.cwd.as_deref()), (&traits, Some("/project/sub")));

    let lead = world.lead();
    let mut new = world.new_agent(NameChoice::Like(name("codex")));
    let agent = new.starting.session;
    new.traits.capabilities = vec![label("rust")];
    world.ask(lead, Operation::Start(Box::new(new), None));
    world.ready(lead, agent);
    let live = world.state.session(agent).unwrap();
    assert_eq!(live.traits.capabilities, [label("rust")]);
    assert_eq!(live.cwd.as_deref(), Some("/project"), "the place that its bridge gave it");
}

fn from_pool(world: &mut World, cwd: &str) -> Result<SessionId, Refusal> {
    let pool = ["Ada", "Grace", "Linus"].map(name).to_vec();
    let choice = NameChoice::FromPool { pool, cwd: cwd.into() };
    let mut new = world.joining(choice, MemberKind::Peer, &[]);
    new.description.cwd = Some(cwd.into());
    let session = new.session;
    world.try_ask(None, Operation::Join(Box::new(new))).map(|_| session)
}

#[test]
fn a_peer_without_a_name_takes_the_word_last_used_in_its_directory_else_the_first_free_one() {
    let mut world = World::new();
    let (one, two) =
        (from_pool(&mut world, "/one").unwrap(), from_pool(&mut world, "/two").unwrap());
    assert_eq!((called(&world, one), called(&world, two)), ("Ada".into(), "Grace".into()));
    let sender = world.peer("sender");
    world.leave(one);
    world.leave(two);
    world.send(sender, "Grace", "for whoever works there");
    let again = from_pool(&mut world, "/two").unwrap();
    assert_eq!(called(&world, again), "Grace");
    assert_eq!(world.take(again).1.len(), 1, "it is a chosen name, whose mail waits");
    // Its word is taken, so the next session there gets the first free one.
    let beside = from_pool(&mut world, "/two").unwrap();
    assert_eq!(called(&world, beside), "Ada");
    let elsewhere = from_pool(&mut world, "/three").unwrap();
    assert_eq!(called(&world, elsewhere), "Linus");
    let refusal = from_pool(&mut world, "/four").unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "live members have all names of the pool, which are 3: choose another with --name, or add \
         a word to `pool` under [names] of the configuration"
    );
}

#[test]
fn a_word_whose_session_is_dead_is_free_and_its_case_does_not_count() {
    let mut world = World::new();
    world.peer("ADA");
    let one = from_pool(&mut world, "/one").unwrap();
    assert_eq!(called(&world, one), "Grace");
    let pool = ["Ada", "Grace"].map(name).to_vec();
    let choice = NameChoice::FromPool { pool, cwd: "/one".into() };
    let new = world.joining(choice, MemberKind::Peer, &[one]);
    let session = new.session;
    world.ask(None, Operation::Join(Box::new(new)));
    assert_eq!(called(&world, session), "Grace");
}

#[test]
fn nobody_gets_a_name_that_means_the_lead_or_the_user_and_an_old_member_keeps_its_own() {
    let mut world = World::new();
    for word in ["lead", "User", "PROJECT", "lead."] {
        let new = world.joining(NameChoice::Chosen(name(word)), MemberKind::Peer, &[]);
        let refused = world.try_ask(None, Operation::Join(Box::new(new))).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("`{word}` is reserved, as it means others in the team: choose another name")
        );
        let like = world.join(NameChoice::Like(name(word)), MemberKind::Peer);
        let called = world.state.session(like).unwrap().name.to_string();
        assert_eq!(called, format!("{word}-2"), "no generated name gives it either");
    }
    // A bus of an earlier version may have such a member: it stays, and comes back.
    let old = world.joined_before("lead");
    let ann = world.peer("ann");
    let mail = world.send(ann, "lead", "x");
    world.leave(old);
    world.peer("lead");
    assert_eq!(world.unread("lead"), [mail]);
}
