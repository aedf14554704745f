//! Whoever decides a disagreement: what they are shown, whom the user overrules, and places that become free.

use super::disagreements::{able, argue, dispute, resolved, step};
use super::sending::{sending_with, signal};
use crate::bus::event::{ConflictOverruled, Envelope};
use crate::bus::rules::HumanWish;
use crate::bus::rules::tests::*;
use crate::domain::limits;
use crate::domain::messaging::{Arbiter, Author, ConflictEnd, ConflictStep, Signal};

/// A dispute that dora, an architect, is asked to decide.
fn arbitrated() -> (World, [SessionId; 3], MessageId) {
    let (mut world, ann, bob, thread) = dispute();
    let dora = able(&mut world, "dora", "architect");
    argue(&mut world, bob, "ann", "disagree_with", &thread);
    world.pass(600_000);
    world.due();
    assert_eq!(step(&world, &thread), ConflictStep::Arbiter(name("dora")));
    (world, [ann, bob, dora], thread)
}

fn user_says(
    world: &mut World,
    to: &str,
    decides: Option<&str>,
    reply_to: &MessageId,
) -> Vec<Event> {
    let wish = HumanWish::Send {
        to: to.into(),
        body: text("do as ann says"),
        priority: None,
        signal: decides.map(|signal| Signal::parse(signal).unwrap()),
        reply_to: Some(reply_to.clone()),
    };
    world.ask(None, Operation::ByHuman(wish))
}

fn overruled(events: &[Event]) -> Option<&MessageId> {
    events.iter().find_map(|event| match event {
        Event::ConflictOverruled(ConflictOverruled { message, .. }) => Some(message),
        _ => None,
    })
}

fn decision(world: &World, thread: &MessageId) -> (Author, Option<MessageId>) {
    let end = world.state.conflict(thread).unwrap().end.clone().unwrap();
    (end.by, end.message)
}

#[test]
fn new_words_of_the_parties_reach_whoever_is_asked_to_decide() {
    let (mut world, [ann, bob, dora], thread) = arbitrated();
    let new = argue(&mut world, ann, "bob", "msg", &thread);
    assert!(world.unread("dora").contains(&new), "the arbiter is shown it");
    // What is said to others is not, and neither is a receipt.
    world.peer("eve");
    let aside = argue(&mut world, ann, "eve", "msg", &thread);
    let receipt = argue(&mut world, bob, "ann", "ack", &new);
    let shown = world.unread("dora");
    assert!(!shown.contains(&aside) && !shown.contains(&receipt), "{shown:?}");
    // Whoever has it already gets it no second time.
    world.take(dora);
    let both = Envelope { mentions: vec![name("dora")], ..signal("challenge_approach") };
    let asked = sending_with("ann", both, Some(&thread));
    let again = sent(&world.ask(bob, asked)).id.clone();
    assert_eq!(world.unread("dora"), [again]);
    assert_eq!(step(&world, &thread), ConflictStep::Arbiter(name("dora")));
}

#[test]
fn new_words_reach_the_orchestrators_through_which_the_user_is_asked() {
    let (mut world, ann, bob, thread) = dispute();
    world.lead();
    argue(&mut world, bob, "ann", "disagree_with", &thread);
    world.pass(600_000);
    world.due();
    assert_eq!(step(&world, &thread), ConflictStep::Human);
    let new = argue(&mut world, ann, "bob", "msg", &thread);
    assert!(world.unread("orchestrator").contains(&new));
}

/// An orchestrator with a chosen name.
fn leads(world: &mut World, called: &str) -> SessionId {
    world.join(NameChoice::Chosen(name(called)), MemberKind::Orchestrator)
}

/// A dispute in which the user is asked through an orchestrator, which has been given three messages of it and the notice.
fn asked(called: &str) -> (World, SessionId, MessageId) {
    let (mut world, _, bob, thread) = dispute();
    let lead = leads(&mut world, called);
    argue(&mut world, bob, "ann", "disagree_with", &thread);
    world.pass(600_000);
    world.due();
    assert_eq!(step(&world, &thread), ConflictStep::Human);
    assert_eq!(
        world.kinds(called),
        [MessageKind::Message, MessageKind::Message, MessageKind::Notice]
    );
    (world, lead, thread)
}

fn read_all(world: &mut World, session: SessionId) {
    let (call, _) = world.take(session);
    world.settle(session, call, true);
}

#[test]
fn the_next_lead_of_the_same_name_is_asked_once_and_told_how_to_read_what_the_last_one_was_given() {
    for has_read in [true, false] {
        let (mut world, lead, thread) = asked("boss");
        if has_read {
            read_all(&mut world, lead);
        }
        world.leave(lead);
        let mut new =
            world.joining(NameChoice::Chosen(name("boss")), MemberKind::Orchestrator, &[]);
        new.description.takes_lead = true;
        let events = world.ask(None, Operation::Join(Box::new(new)));
        let told = notices(&events, "boss");
        assert_eq!(told.len(), 1, "{told:?}");
        let position = &world.state.conflict(&thread).unwrap().parties[0].position;
        let how = format!("check_messages with thread {position} shows what they wrote");
        assert!(told[0].contains(&how), "{told:?}");
        let asks = world.kinds("boss").iter().filter(|kind| **kind == MessageKind::Notice).count();
        assert_eq!(asks, 1, "one notice, and not that of the last lead beside it: {has_read}");
        assert_eq!(world.unread("boss").len(), if has_read { 1 } else { 3 });
    }
}

#[test]
fn a_lead_that_comes_to_lead_again_is_not_asked_again_and_who_leads_meanwhile_is() {
    let (mut world, first, thread) = asked("first");
    read_all(&mut world, first);
    let events = world.take_lead("second");
    assert_eq!(notices(&events, "second").len(), 1, "{events:?}");
    let second = world.state.live(&name("second")).unwrap().id;
    let events = world.leave(second);
    assert!(world.state.is_lead(first));
    assert_eq!(notices(&events, "first"), [] as [&str; 0], "it has been asked");
    // Who has not read it when another one leads is not to ask any more.
    let (mut world, _, _) = asked("first");
    world.take_lead("second");
    let asks = |world: &World, of: &str| {
        let unread = world.state.unread(&name(of));
        unread.filter(|one| one.kind == MessageKind::Notice && one.thread == thread).count()
    };
    assert_eq!((asks(&world, "first"), asks(&world, "second")), (0, 1));
}

#[test]
fn a_party_is_told_that_its_words_do_not_reach_an_arbiter_whose_inbox_is_full() {
    let (mut world, [ann, bob, dora], thread) = arbitrated();
    for party in [ann, bob] {
        let (call, _) = world.take(party);
        world.settle(party, call, true);
    }
    let held = world.unread("dora").len();
    let few = limits::TeamLimits { unread: held, ..world.state.limits() };
    world.ask(dora, Operation::Limit(few));
    let events = world.ask(ann, sending_with("bob", signal("msg"), Some(&thread)));
    let new = &sent(&events).id;
    let told = format!(
        "your message {new} does not reach dora, who is asked to decide the disagreement in the \
         thread of {thread}: that inbox is full. Send it again later"
    );
    assert_eq!(notices(&events, "ann"), [told]);
    assert_eq!(world.unread("dora").len(), held);
}

#[test]
fn the_user_has_the_last_word_and_a_second_word_of_theirs_replaces_the_first() {
    let (mut world, [_, bob, dora], thread) = arbitrated();
    let decide = sending_with("bob", signal("announce_decision"), Some(&thread));
    let wrong = sent(&world.ask(dora, decide.clone())).id.clone();
    assert_eq!(decision(&world, &thread), (Author::Member(name("dora")), Some(wrong.clone())));
    // Words alone are talk.
    let events = user_says(&mut world, "ann", None, &thread);
    assert_eq!((overruled(&events), resolved(&events)), (None, None));
    let events = user_says(&mut world, "ann", Some("announce_decision"), &thread);
    let first = sent(&events).clone();
    assert_eq!(first.to.named(), [name("ann"), name("bob")], "both get it");
    assert_eq!(overruled(&events), Some(&first.id));
    assert_eq!(decision(&world, &thread), (Author::Human, Some(first.id.clone())));
    let told = |binds: &str| {
        format!(
            "the user has overruled the decision of dora, {wrong}, in the thread of {thread} with {}{binds}",
            first.id
        )
    };
    for party in ["ann", "bob"] {
        assert_eq!(notices(&events, party), [told(", which binds you")]);
    }
    assert_eq!(notices(&events, "dora"), [told(", which binds them")]);
    // Nobody else overrules the user.
    let events = world.ask(dora, decide);
    assert!(notices(&events, "dora")[0].contains("changes nothing"), "{events:?}");
    let lead = world.lead();
    let shown = argue(&mut world, bob, "orchestrator", "msg", &thread);
    let passed_on = sending_with("bob", signal("announce_decision"), Some(&shown));
    let events = world.ask(lead, passed_on);
    assert!(notices(&events, "orchestrator")[0].contains("changes nothing"), "{events:?}");
    assert_eq!(decision(&world, &thread), (Author::Human, Some(first.id.clone())));
    let events = user_says(&mut world, "bob", Some("announce_decision"), &thread);
    let second = sent(&events).id.clone();
    assert_eq!(decision(&world, &thread), (Author::Human, Some(second.clone())));
    let told = format!(
        "the user has replaced their decision, {}, in the thread of {thread} with {second}, which binds you",
        first.id
    );
    assert_eq!(notices(&events, "ann"), [told]);
}

#[test]
fn the_user_decides_also_what_was_agreed_or_has_lapsed() {
    let (mut world, ann, bob, thread) = dispute();
    let against = argue(&mut world, bob, "ann", "disagree_with", &thread);
    argue(&mut world, ann, "bob", "agree_with", &against);
    let events = user_says(&mut world, "bob", Some("announce_decision"), &against);
    let id = sent(&events).id.clone();
    let told = format!(
        "the user has decided the disagreement in the thread of {thread}, which was over, with {id}, \
         which binds you"
    );
    assert_eq!(notices(&events, "ann"), [told]);
    assert_eq!(decision(&world, &thread), (Author::Human, Some(id)));
}

#[test]
fn a_dispute_ends_when_neither_party_comes_back_and_nobody_is_told() {
    let mut world = World::new();
    let lead = world.lead();
    let (one, two) = (world.agent(lead, "codex"), world.agent(lead, "codex"));
    let thread = world.send_with(one, "codex-2", signal("propose_approach"));
    argue(&mut world, two, "codex", "disagree_with", &thread);
    world.ask(lead, Operation::Leave { session: one, departure: Departure::Stopped, detail: None });
    assert!(world.state.conflict(&thread).unwrap().is_open(), "the other one may go on");
    let leave = Operation::Leave { session: two, departure: Departure::Stopped, detail: None };
    let events = world.ask(lead, leave);
    assert_eq!(resolved(&events), Some((ConflictEnd::Lapsed, Author::Bridge)));
    let about_it = |sent: &&crate::bus::event::MessageSent| sent.thread.as_ref() == Some(&thread);
    assert_eq!(all_sent(&events).filter(about_it).count(), 0);
    assert_eq!(world.state.open_conflicts().count(), 0);
    assert_eq!(world.state.earliest_due_ms(world.now), None);
}

#[test]
fn the_arbiter_and_the_parties_may_leave_in_any_order() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let (mut world, ann, bob, thread) = dispute();
        let dora = able(&mut world, "dora", "architect");
        argue(&mut world, bob, "ann", "disagree_with", &thread);
        world.pass(600_000);
        world.due();
        let sessions = [ann, bob, dora];
        world.reap(&order.map(|index| sessions[index]));
        assert!(world.state.conflict(&thread).unwrap().is_open(), "chosen names may come back");
    }
}

#[test]
fn of_too_many_disputes_those_whose_parties_have_both_left_give_way() {
    let mut world = World::new();
    let mut opened = Vec::new();
    while opened.len() <= limits::OPEN_CONFLICTS {
        let number = opened.len();
        let (ann, bob) = (world.peer(&format!("a{number}")), world.peer(&format!("b{number}")));
        let id = world.send_with(ann, &format!("b{number}"), signal("propose_approach"));
        argue(&mut world, bob, &format!("a{number}"), "disagree_with", &id);
        world.leave(ann);
        // Of the first, one party stays.
        if number > 0 {
            world.leave(bob);
        }
        opened.push(id);
        world.pass(1_000);
    }
    assert_eq!(world.state.open_conflicts().count(), limits::OPEN_CONFLICTS);
    let is_open = |index: usize| world.state.conflict(&opened[index]).unwrap().is_open();
    assert!(is_open(0) && !is_open(1) && is_open(2), "the oldest that nobody argues gives way");
}

#[test]
fn the_team_chooses_who_decides_by_a_word_or_by_a_name() {
    for (chosen, decides) in
        [("@boss", "eve"), ("carl", "carl"), ("bob", "nobody"), ("fred", "nobody")]
    {
        let (mut world, _, bob, thread) = dispute();
        let (_, _, _) = (
            able(&mut world, "dora", "architect"),
            world.peer("carl"),
            able(&mut world, "eve", "boss"),
        );
        let arbiter = Arbiter::parse(chosen).unwrap();
        let join = |world: &mut World, called: &str, kind: MemberKind| {
            let mut new = world.joining(NameChoice::Chosen(name(called)), kind, &[]);
            new.description.arbiter = Some(arbiter.clone());
            world.ask(None, Operation::Join(Box::new(new)))
        };
        let set = |events: &[Event]| {
            events.iter().filter(|event| matches!(event, Event::ArbiterSet { .. })).count()
        };
        let (leads, beside) = (MemberKind::Orchestrator, MemberKind::Peer);
        assert_eq!(set(&join(&mut world, "ivan", beside)), 0, "others are here");
        assert_eq!(set(&join(&mut world, "gina", leads)), 1, "in the append of its joining");
        assert_eq!(set(&join(&mut world, "hugo", leads)), 0, "it is set already");
        argue(&mut world, bob, "ann", "disagree_with", &thread);
        world.pass(600_000);
        world.due();
        let expected = match decides {
            "nobody" => ConflictStep::Human,
            member => ConflictStep::Arbiter(name(member)),
        };
        assert_eq!(step(&world, &thread), expected, "{chosen}");
    }
    // A team that has chosen nobody writes nothing.
    let mut world = World::new();
    let mut new = world.joining(NameChoice::Chosen(name("ann")), MemberKind::Peer, &[]);
    new.description.arbiter = Some(Arbiter::default());
    world.ask(None, Operation::Join(Box::new(new)));
    assert_eq!(world.state.arbiter, None);
}

#[test]
fn what_a_thread_is_about_comes_before_the_arbiter_of_the_team() {
    let (mut world, _, bob, thread) = dispute();
    able(&mut world, "dora", "architect");
    let carl = able(&mut world, "carl", "storage");
    argue(&mut world, bob, "ann", "disagree_with", &thread);
    let mut new = world.joining(NameChoice::Chosen(name("eve")), MemberKind::Orchestrator, &[]);
    new.description.arbiter = Some(Arbiter::parse("dora").unwrap());
    world.ask(None, Operation::Join(Box::new(new)));
    world.pass(600_000);
    world.due();
    assert_eq!(step(&world, &thread), ConflictStep::Arbiter(name("carl")));
    world.leave(carl);
}
