//! Addresses: whom each of them means, what is said where nobody is meant, and topics.

use std::slice::from_ref;

use super::super::*;
use crate::bus::event::Followed;
use crate::bus::rules::{ClaimUpdate, Description};
use crate::domain::limits;
use crate::domain::member::{Label, Traits};
use crate::domain::messaging::{Audience, Group};

fn label(text: &str) -> Label {
    Label::parse(text).unwrap()
}

fn labels(texts: &[&str]) -> Vec<Label> {
    texts.iter().map(|text| label(text)).collect()
}

/// What a peer says of itself.
#[derive(Default)]
struct Says {
    roles: &'static [&'static str],
    lane: Option<&'static str>,
    capabilities: &'static [&'static str],
    topics: &'static [&'static str],
}

fn join(world: &mut World, called: &str, says: &Says) -> SessionId {
    let mut new = world.joining(NameChoice::Chosen(name(called)), MemberKind::Peer, &[]);
    new.roles = says.roles.iter().map(|role| (*role).to_owned()).collect();
    let traits = Traits {
        lane: says.lane.map(label),
        capabilities: labels(says.capabilities),
        topics: labels(says.topics),
        surface: None,
    };
    new.description = Description { traits, ..Description::default() };
    let session = new.session;
    world.ask(None, Operation::Join(Box::new(new)));
    session
}

/// The sender `me`, three live members, and one that has left.
fn team() -> (World, SessionId) {
    let mut world = World::new();
    let me = join(&mut world, "me", &Says { roles: &["writer"], ..Says::default() });
    let says = Says {
        roles: &["Reviewer", "reads all of it"],
        lane: Some("storage"),
        topics: &["releases"],
        ..Says::default()
    };
    join(&mut world, "ann", &says);
    let says = Says {
        roles: &["reviewers"],
        lane: Some("Storage"),
        capabilities: &["rust", "storage"],
        ..Says::default()
    };
    join(&mut world, "bob", &says);
    let says =
        Says { capabilities: &["Rust", "reviewer"], topics: &["Releases"], ..Says::default() };
    join(&mut world, "carl", &says);
    let says = Says { roles: &["tester"], lane: Some("tests"), ..Says::default() };
    let gone = join(&mut world, "gone", &says);
    world.leave(gone);
    let bob = world.state.live(&name("bob")).unwrap().id;
    let (call, told) = world.take(bob);
    assert_eq!(told.len(), 1, "ann owns the lane that bob says it does");
    world.settle(bob, call, true);
    (world, me)
}

/// Each form of an address, and whom it reaches: live members, an absent one, or nobody.
#[test]
fn every_form_of_an_address_means_somebody_or_says_why_not() {
    let reached: [(&str, &str, &[&str]); 17] = [
        ("bob", "bob", &["bob"]),
        ("BOB", "bob", &["bob"]),
        ("gone", "gone", &["gone"]),
        ("s3", "bob", &["bob"]),
        ("S3", "bob", &["bob"]),
        // A lane has one owner, even where it is a capability too.
        ("@storage", "@storage", &["ann"]),
        ("@Storages", "@Storages", &["ann"]),
        // A role goes before a capability, and neither its case nor its plural counts.
        ("@reviewer", "@reviewer", &["ann", "bob"]),
        ("@REVIEWERS", "@REVIEWERS", &["ann", "bob"]),
        ("@rust", "@rust", &["bob", "carl"]),
        ("#releases", "#releases", &["ann", "carl"]),
        ("#RELEASES", "#RELEASES", &["ann", "carl"]),
        ("all", "all", &["ann", "bob", "carl"]),
        ("*", "all", &["ann", "bob", "carl"]),
        ("@all", "all", &["ann", "bob", "carl"]),
        ("@project", "all", &["ann", "bob", "carl"]),
        (" all ", "all", &["ann", "bob", "carl"]),
    ];
    for (to, shown, whom) in reached {
        let (mut world, me) = team();
        let events = world.ask(me, sending(to, "x", None));
        let sent = sent(&events);
        assert_eq!(sent.kind, MessageKind::Message, "{to}");
        assert_eq!(sent.audience.to_string(), shown, "{to}");
        let whom: Vec<_> = whom.iter().map(|one| name(one)).collect();
        assert_eq!(sent.to.named(), whom, "{to}");
        // Where several are meant, none of them is woken for it.
        assert_eq!(sent.quiet, !sent.audience.is_one(), "{to}");
        for name in whom {
            assert_eq!(world.unread(name.as_str()), from_ref(&sent.id), "{to}");
        }
        assert_eq!(world.unread("me"), []);
    }
    let there = "There are lanes `@storage`; roles `@reviewer`, `@reviewers`, `@writer`; \
         capabilities `@reviewer`, `@rust`, `@storage`; topics `#releases`";
    let nobody = |to: &str, what: &str, near: &str| {
        format!("`{to}` reaches nobody: no other live member {what}{near} {there}")
    };
    let has = "has that lane, role or capability";
    let refused = [
        ("nobody", "no member is named `nobody`: list_agents shows the members".to_owned()),
        ("s5", "there is no session `s5` here any more: it was one of `gone`, whose name lasts".to_owned()),
        ("s9", "there is no session `s9` here: list_agents shows those that are".to_owned()),
        // Whoever has left is in no group.
        ("@tester", nobody("@tester", has, ".")),
        ("@tests", nobody("@tests", has, ".")),
        ("@gone", nobody("@gone", has, ". Did you mean `gone`?")),
        ("@bob", nobody("@bob", has, ". Did you mean `bob`?")),
        ("@reads", nobody("@reads", has, ".")),
        ("#release", nobody("#release", "follows that topic", ". Did you mean `#releases`?")),
        ("@", "\"@\" is not an address: after `@` or `#` comes one word of the characters A-Z a-z 0-9 . _ -, such as `@reviewer` or `#releases`; a member's name stands alone".to_owned()),
        ("fit:ann", "`fit:` would be another project, and none is listed: your user lists them under [projects] of their own configuration".to_owned()),
        ("bob, carl", "\"bob, carl\" is not one address: make one call for each member, or send to a group such as `@role`, `#topic` or `all`".to_owned()),
    ];
    for (to, why) in refused {
        let (mut world, me) = team();
        assert_eq!(world.refuse(me, sending(to, "x", None)).to_string(), why, "{to}");
    }
    let (mut world, me) = team();
    for myself in ["@writer", "me", "s1"] {
        let refusal = world.refuse(me, sending(myself, "x", None));
        assert_eq!(refusal, Refusal::ToYourself { name: name("me") }, "{myself}");
    }
    for user in ["human", "@human"] {
        let id = sent(&world.ask(me, sending(user, "x", None))).id.clone();
        assert!(world.state.is_queued(&id), "nobody speaks with the user yet");
    }
}

#[test]
fn what_is_most_like_an_unknown_group_comes_first_and_long_lists_are_cut() {
    let mut world = World::new();
    let me = world.peer("me");
    let refusal = world.refuse(me, sending("@reviewer", "x", None)).to_string();
    let expected = "`@reviewer` reaches nobody: no other live member has that lane, role or \
         capability. There are no groups here: list_agents shows the members";
    assert_eq!(refusal, expected);
    assert_eq!(world.refuse(me, sending("all", "x", None)), Refusal::NobodyElse);
    let says = Says { capabilities: &["alpha", "beta", "gamma", "reviewing"], ..Says::default() };
    join(&mut world, "ann", &says);
    let refusal = world.refuse(me, sending("@reviewin", "x", None)).to_string();
    let end = "Did you mean `@reviewing`? There are capabilities `@reviewing`, `@alpha`, `@beta`, `@gamma`";
    assert!(refusal.ends_with(end), "{refusal}");
    let mut new = world.joining(NameChoice::Chosen(name("many")), MemberKind::Peer, &[]);
    new.description.traits.topics = (0..40).map(|number| label(&format!("t{number}"))).collect();
    world.ask(None, Operation::Join(Box::new(new)));
    let refusal = world.refuse(me, sending("@none", "x", None)).to_string();
    assert!(refusal.ends_with("`#t19` and 28 more"), "{refusal}");
}

#[test]
fn a_message_to_a_group_wakes_if_it_is_urgent_or_from_an_orchestrator() {
    let (mut world, me) = team();
    let lead = world.lead();
    let of_priority = |priority: Priority| Operation::Send {
        to: "@reviewer".into(),
        body: text("x"),
        reply_to: None,
        priority,
        more: None,
    };
    let is_quiet = |events: &[Event]| sent(events).quiet;
    assert!(is_quiet(&world.ask(me, sending("@reviewer", "x", None))));
    assert!(is_quiet(&world.ask(me, sending("#releases", "x", None))));
    assert!(is_quiet(&world.ask(me, of_priority(Priority::Low))));
    assert!(!is_quiet(&world.ask(me, of_priority(Priority::High))));
    assert!(!is_quiet(&world.ask(me, of_priority(Priority::Urgent))));
    assert!(!is_quiet(&world.ask(me, sending("ann", "x", None))));
    assert!(!is_quiet(&world.ask(lead, sending("@reviewer", "x", None))));
    assert!(!is_quiet(&world.ask(lead, Operation::Broadcast(text("x")))));
    let ann = world.state.unread(&name("ann"));
    assert_eq!(ann.filter(|message| message.wakes(&name("ann"))).count(), 5);
}

#[test]
fn a_group_is_without_those_that_do_not_respond_and_those_whose_inbox_is_full() {
    let (mut world, me) = team();
    let ann = world.state.live(&name("ann")).unwrap().id;
    world.ask(me, Operation::Hung(vec![ann], 30_000));
    let events = world.ask(me, sending("@reviewer", "x", None));
    assert_eq!(sent(&events).to.named(), [name("bob")]);
    let message = world.state.message(&sent(&events).id).unwrap();
    let missed = world.state.missed_by(message);
    assert_eq!(
        missed.iter().map(|(who, why)| (who.name.as_str(), *why)).collect::<Vec<_>>(),
        [("ann", "hung")]
    );
    let events = world.ask(me, sending("@storage", "x", None));
    assert_eq!(sent(&events).to.named(), [name("bob")], "it does the lane, too, and responds");
    let one = crate::domain::limits::TeamLimits {
        unread: 1,
        messages_per_minute: 0,
        ..Default::default()
    };
    let lead = world.lead();
    world.ask(lead, Operation::Limit(one));
    let events = world.ask(me, sending("@rust", "x", None));
    assert_eq!(sent(&events).to.named(), [name("carl")]);
    let message = world.state.message(&sent(&events).id).unwrap();
    let missed = world.state.missed_by(message);
    assert_eq!(
        missed.iter().map(|(who, why)| (who.name.as_str(), *why)).collect::<Vec<_>>(),
        [("bob", "full")]
    );
    let refusal = world.refuse(me, sending("@rust", "x", None));
    assert_eq!(refusal, Refusal::InboxFull { name: name("bob"), limit: 1 });
}

#[test]
fn whoever_writes_to_a_topic_follows_it_until_it_leaves_it() {
    let (mut world, me) = team();
    let events = world.ask(me, sending("#releases", "x", None));
    let followed = Followed { session: me, topic: label("releases") };
    assert_eq!(events.last(), Some(&Event::TopicFollowed(followed.clone())));
    let again = world.ask(me, sending("#Releases", "y", None));
    assert_eq!(again.len(), 1, "it follows it already");
    let ann = world.state.live(&name("ann")).unwrap().id;
    let events = world.ask(ann, sending("#releases", "z", None));
    assert_eq!(sent(&events).to.named(), [name("me"), name("carl")]);
    assert_eq!(world.ask(me, Operation::LeaveTopic(label("RELEASES"))).len(), 1);
    let events = world.ask(ann, sending("#releases", "z", None));
    assert_eq!(sent(&events).to.named(), [name("carl")]);
    let refusal = world.refuse(me, Operation::LeaveTopic(label("releases")));
    assert_eq!(refusal.to_string(), "you do not follow `#releases`");
    // What a member has said of itself when it joined can be left, too.
    world.ask(ann, Operation::LeaveTopic(label("releases")));
    assert_eq!(world.ask(me, Operation::FollowTopic(label("releases"))).len(), 1);
    assert_eq!(world.ask(me, Operation::FollowTopic(label("releases"))), []);
}

#[test]
fn a_session_follows_a_limited_number_of_topics() {
    let (mut world, me) = team();
    for number in 0..limits::FOLLOWED_TOPICS {
        world.ask(me, Operation::FollowTopic(label(&format!("t{number}"))));
    }
    let refusal = world.refuse(me, sending("#releases", "x", None));
    assert_eq!(
        refusal.to_string(),
        "you follow 64 topics, which is the limit: leave one with update_claim"
    );
    // A log that has one more nevertheless is a fact, and does no harm.
    let followed = Followed { session: me, topic: label("more") };
    let proposal = crate::bus::storage::Proposal {
        id: CommandId(world.fresh()),
        by: None,
        events: vec![Event::TopicFollowed(followed)],
    };
    world.append(proposal);
    assert_eq!(world.state.session(me).unwrap().traits.topics.len(), limits::FOLLOWED_TOPICS);
    world.leave(me);
    assert!(world.state.group_words().topics.iter().all(|topic| topic == "#releases"));
}

#[test]
fn a_reply_to_a_group_stays_in_its_thread_and_an_answer_that_the_requester_gets_completes() {
    let (mut world, me) = team();
    let first = world.send(me, "@reviewer", "who looks at it?");
    let ann = world.state.live(&name("ann")).unwrap().id;
    let events = world.ask(ann, sending("@reviewer", "I do", Some(&first.to_string())));
    let reply = sent(&events);
    assert_eq!((reply.to.named(), reply.thread.as_ref()), (&[name("bob")][..], Some(&first)));
    let request = world.open(me);
    world.ask(ann, Operation::Claim(request.clone(), CALL));
    let events = world.ask(ann, sending("all", "done", Some(&request.to_string())));
    assert_eq!(sent(&events).kind, MessageKind::Response);
    assert!(events.iter().any(|event| matches!(event, Event::RequestCompleted { .. })));
}

#[test]
fn the_same_to_the_same_group_a_moment_later_is_one_message() {
    let (mut world, me) = team();
    let lead = world.lead();
    let paced =
        limits::TeamLimits { messages_per_minute: 60, message_burst: 20, ..Default::default() };
    world.ask(lead, Operation::Limit(paced));
    let id = world.send(me, "@reviewer", "x");
    let refusal = world.refuse(me, sending("@Reviewer", "x", None));
    assert_eq!(refusal, Refusal::Double { id });
    world.send(me, "@rust", "x");
}

#[test]
fn a_message_to_a_group_is_its_authors_and_its_addressees_alone() {
    let (mut world, me) = team();
    let id = world.send(me, "@reviewer", "x");
    let message = world.state.message(&id).unwrap();
    assert_eq!(message.audience, Audience::Group(Group::Word(label("reviewer"))));
    let seers = ["me", "ann", "bob", "carl", "gone"].into_iter();
    let seers: Vec<_> = seers.filter(|one| message.is_visible_to(&name(one))).collect();
    assert_eq!(seers, ["me", "ann", "bob"]);
}

fn open_for(world: &mut World, by: SessionId, to: &str) -> RequestId {
    let open = Operation::Open {
        description: text("look at this"),
        context: None,
        to: Some(to.into()),
        nudge_ms: 30_000,
        ttl_ms: 900_000,
        lease_ms: None,
        urgency: None,
    };
    let events = world.ask(by, open);
    let opened = events.iter().find_map(|event| match event {
        Event::RequestOpened(opened) => Some(opened.id.clone()),
        _ => None,
    });
    opened.unwrap()
}

#[test]
fn a_request_for_some_is_shown_to_them_and_to_those_who_join_them_and_claimed_by_no_other() {
    let (mut world, me) = team();
    let request = open_for(&mut world, me, "@reviewer");
    let shown = world.shown(&request);
    assert_eq!(world.state.message(&shown).unwrap().audience.to_string(), "@reviewer");
    let carl = world.state.live(&name("carl")).unwrap().id;
    assert_eq!(world.unread("carl"), []);
    assert_eq!(world.unread("bob"), from_ref(&shown));
    let refusal = world.refuse(carl, Operation::Claim(request.clone(), CALL));
    let expected =
        format!("the request `{request}` is for `@reviewer` alone: `ann`, `bob` may claim it");
    assert_eq!(refusal.to_string(), expected);
    // Whoever joins with that role sees it, and nobody else.
    join(&mut world, "dora", &Says { roles: &["reviewers"], ..Says::default() });
    join(&mut world, "eric", &Says { roles: &["tester"], ..Says::default() });
    world.due();
    assert_eq!((world.unread("dora"), world.unread("eric")), (vec![shown.clone()], vec![]));
    // Only they are reminded.
    world.pass(30_000);
    let events = world.due();
    let nudge = all_sent(&events).find(|sent| sent.kind == MessageKind::Nudge).unwrap();
    assert_eq!(nudge.audience.to_string(), "@reviewer");
    assert_eq!(nudge.to.named(), [name("ann"), name("bob"), name("dora")]);
    let told = notices(&events, "me");
    assert!(told[0].contains("Those who may claim it were reminded"), "{told:?}");
    // Once it is open again they alone see it.
    let bob = world.state.live(&name("bob")).unwrap().id;
    world.ask(bob, Operation::Claim(request.clone(), CALL));
    assert!(!world.unread("dora").contains(&shown));
    world.leave(bob);
    assert!(world.unread("dora").contains(&shown) && world.unread("ann").contains(&shown));
    assert_eq!((world.unread("carl"), world.unread("eric")), (vec![], vec![]));
}

#[test]
fn what_a_request_for_some_is_about_its_claim_and_its_end_tell_no_other() {
    let (mut world, me) = team();
    let request = open_for(&mut world, me, "@reviewer");
    let session = |world: &World, called: &str| world.state.live(&name(called)).unwrap().id;
    let (ann, bob, carl) =
        (session(&world, "ann"), session(&world, "bob"), session(&world, "carl"));
    let update = || Operation::UpdateClaim(request.clone(), ClaimUpdate::Renew);
    assert!(matches!(world.refuse(carl, update()), Refusal::UnknownRequest { .. }));
    assert!(matches!(world.refuse(ann, update()), Refusal::ClaimOver { .. }));
    world.ask(bob, Operation::Claim(request.clone(), CALL));
    for is_over in [false, true] {
        assert!(matches!(world.refuse(carl, update()), Refusal::UnknownRequest { .. }));
        if is_over {
            world.reply(bob, "me", &request.to_string());
        }
        let claim = || Operation::Claim(request.clone(), CALL);
        assert!(matches!(world.refuse(carl, claim()), Refusal::NotForYou { .. }));
        assert!(matches!(world.refuse(ann, claim()), Refusal::ClaimLost { .. }));
    }
}

#[test]
fn a_request_for_one_member_waits_for_it() {
    let (mut world, me) = team();
    let request = open_for(&mut world, me, "gone");
    let shown = world.shown(&request);
    let ann = world.state.live(&name("ann")).unwrap().id;
    assert_eq!(world.unread("ann"), []);
    let refusal = world.refuse(ann, Operation::Claim(request.clone(), CALL));
    let expected = format!("the request `{request}` is for `gone` alone: none of them is live now");
    assert_eq!(refusal.to_string(), expected);
    let gone = world.peer("gone");
    world.due();
    assert_eq!(world.unread("gone"), [shown]);
    world.ask(gone, Operation::Claim(request, CALL));
    let all = open_for(&mut world, me, "all");
    assert_eq!(world.state.request(&all).unwrap().only, None);
    assert!(world.unread("ann").contains(&world.shown(&all)));
}

#[test]
fn a_request_to_a_topic_follows_it() {
    let (mut world, me) = team();
    let request = open_for(&mut world, me, "#releases");
    assert!(world.state.session(me).unwrap().follows(&label("releases")));
    let bob = world.state.live(&name("bob")).unwrap().id;
    let refusal = world.refuse(bob, Operation::Claim(request.clone(), CALL));
    assert!(matches!(refusal, Refusal::NotForYou { .. }));
    // Who follows it later may claim it.
    world.ask(bob, Operation::FollowTopic(label("releases")));
    world.ask(bob, Operation::Claim(request, CALL));
}
