//! Disagreements: rounds, agreement, an arbiter, the user.

use super::sending::{sending_with, signal};
use crate::bus::event::{ConflictMoved, ConflictResolved, Envelope};
use crate::bus::rules::tests::*;
use crate::domain::limits;
use crate::domain::member::{Label, Traits};
use crate::domain::messaging::{Author, ConflictEnd, ConflictStep};

/// A team in which ann has proposed something to bob; returns the proposal, the first message of their thread.
pub(super) fn dispute() -> (World, SessionId, SessionId, MessageId) {
    let mut world = World::new();
    let (ann, bob) = (world.peer("ann"), world.peer("bob"));
    let about = Envelope { reference: Some("storage".into()), ..signal("propose_approach") };
    let proposal = world.send_with(ann, "bob", about);
    (world, ann, bob, proposal)
}

pub(super) fn argue(
    world: &mut World,
    by: SessionId,
    to: &str,
    side: &str,
    reply_to: &MessageId,
) -> MessageId {
    let events = world.ask(by, sending_with(to, signal(side), Some(reply_to)));
    sent(&events).id.clone()
}

/// Joins a member that can do something.
pub(super) fn able(world: &mut World, called: &str, capability: &str) -> SessionId {
    let mut new = world.joining(NameChoice::Chosen(name(called)), MemberKind::Peer, &[]);
    new.description.traits =
        Traits { capabilities: vec![Label::parse(capability).unwrap()], ..Traits::default() };
    let session = new.session;
    world.ask(None, Operation::Join(Box::new(new)));
    session
}

pub(super) fn step(world: &World, thread: &MessageId) -> ConflictStep {
    world.state.conflict(thread).unwrap().step.clone()
}

fn moves(events: &[Event]) -> Vec<ConflictStep> {
    let moved = events.iter().filter_map(|event| match event {
        Event::ConflictMoved(ConflictMoved { to, .. }) => Some(to.clone()),
        _ => None,
    });
    moved.collect()
}

pub(super) fn resolved(events: &[Event]) -> Option<(ConflictEnd, Author)> {
    events.iter().find_map(|event| match event {
        Event::ConflictResolved(ConflictResolved { how, by, .. }) => Some((*how, by.clone())),
        _ => None,
    })
}

#[test]
fn two_who_disagree_have_three_rounds_and_one_may_agree_at_any_time() {
    let (mut world, ann, bob, thread) = dispute();
    let against = argue(&mut world, bob, "ann", "disagree_with", &thread);
    assert_eq!(step(&world, &thread), ConflictStep::Round(1));
    let told = format!(
        "bob disagrees with ann in the thread of {thread}. Argue there; agree_with, in reply to the \
         other's message, ends it. After 3 rounds, or 10 minutes of silence, somebody else decides"
    );
    let unread = world.unread("ann");
    assert_eq!(unread.len(), 2, "the disagreement, and a notice: {told}");
    let back = argue(&mut world, ann, "bob", "challenge_approach", &against);
    assert_eq!(step(&world, &thread), ConflictStep::Round(2), "both have spoken");
    // A party may speak without a signal, and more than once.
    world.reply_with(bob, "ann", Envelope::default(), &back);
    world.reply_with(bob, "ann", Envelope::default(), &back);
    assert_eq!(step(&world, &thread), ConflictStep::Round(2));
    let events = world.ask(ann, sending_with("bob", signal("agree_with"), Some(&against)));
    assert_eq!(resolved(&events), Some((ConflictEnd::Agreed, Author::Member(name("ann")))));
    let end = world.state.conflict(&thread).unwrap().end.clone().unwrap();
    assert_eq!(end.message, Some(against.clone()), "the position of bob holds");
    let told =
        format!("ann agrees with {against}: the disagreement in the thread of {thread} is over");
    assert_eq!(
        (notices(&events, "ann"), notices(&events, "bob")),
        (vec![told.clone()], vec![told])
    );
    assert_eq!(world.due(), []);
    assert_eq!(world.state.earliest_due_ms(world.now), None);
    // After the end a side that is taken changes nothing, and says so.
    let events = world.ask(bob, sending_with("ann", signal("disagree_with"), Some(&back)));
    let late = &sent(&events).id;
    let told = format!(
        "your message {late} changes nothing: the disagreement in the thread of {thread} is over, \
         ann agreed with {against}. A new one begins with a new message"
    );
    assert_eq!(notices(&events, "bob"), [told]);
}

#[test]
fn after_three_rounds_who_knows_what_it_is_about_decides_and_is_shown_the_thread() {
    let (mut world, ann, bob, thread) = dispute();
    let (carl, dora) = (able(&mut world, "carl", "storage"), able(&mut world, "dora", "architect"));
    for _ in 0..limits::CONFLICT_ROUNDS {
        assert_eq!(world.unread("carl"), []);
        argue(&mut world, bob, "ann", "disagree_with", &thread);
        let of_bob = world.state.conflict(&thread).unwrap().parties[0].position.clone();
        argue(&mut world, ann, "bob", "disagree_with", &of_bob);
    }
    assert_eq!(step(&world, &thread), ConflictStep::Arbiter(name("carl")));
    assert_eq!(world.unread("dora"), []);
    // The proposal, six arguments, and the question.
    assert_eq!(world.unread("carl").len(), 8);
    let decide = |to: &str| sending_with(to, signal("announce_decision"), Some(&thread));
    assert_eq!(
        world.refuse(ann, decide("bob")).to_string(),
        format!(
            "carl is asked to decide what is in dispute in the thread of {thread}: leave `signal` out \
             to say what you think of it"
        )
    );
    let refused = world.refuse(dora, decide("bob"));
    assert!(matches!(refused, Refusal::UnknownMessage { .. }), "{refused}");
    let events = world.ask(carl, decide("bob"));
    assert_eq!(resolved(&events), Some((ConflictEnd::Decided, Author::Member(name("carl")))));
    let decision = sent(&events);
    assert_eq!(decision.to.named(), [name("bob"), name("ann")], "both get it");
    let told = format!(
        "carl has decided the disagreement in the thread of {thread} with {}, which binds you",
        decision.id
    );
    assert_eq!(notices(&events, "ann"), [told]);
}

#[test]
fn silence_goes_to_an_architect_and_then_to_the_user_who_decides() {
    let (mut world, ann, bob, thread) = dispute();
    let lead = world.lead();
    able(&mut world, "dora", "architect");
    argue(&mut world, bob, "ann", "disagree_with", &thread);
    world.pass(599_999);
    assert_eq!(world.due(), []);
    world.pass(1);
    assert_eq!(moves(&world.due()), [ConflictStep::Arbiter(name("dora"))]);
    world.pass(600_000);
    let events = world.due();
    assert_eq!(moves(&events), [ConflictStep::Human]);
    let asked_ms = world.state.user_asked_to_decide_ms(&thread, world.now).unwrap();
    assert!(asked_ms.abs_diff(world.now.wall_ms) <= 1_000, "not since it began");
    assert_eq!(notices(&events, "orchestrator").len(), 1);
    let decide = sending_with("bob", signal("announce_decision"), Some(&thread));
    assert!(matches!(world.refuse(ann, decide.clone()), Refusal::NotAskedToDecide { .. }));
    let events = world.ask(lead, decide);
    assert_eq!(
        resolved(&events),
        Some((ConflictEnd::Decided, Author::Member(name("orchestrator"))))
    );
}

#[test]
fn a_word_of_the_user_decides_at_any_step_and_reaches_both() {
    let (mut world, _ann, bob, thread) = dispute();
    argue(&mut world, bob, "ann", "disagree_with", &thread);
    let wish = crate::bus::rules::HumanWish::Send {
        to: "ann".into(),
        body: text("do as bob says"),
        priority: None,
        signal: None,
        reply_to: Some(thread.clone()),
    };
    let events = world.ask(None, Operation::ByHuman(wish));
    assert_eq!(sent(&events).to.named(), [name("ann"), name("bob")]);
    assert_eq!(resolved(&events), Some((ConflictEnd::Decided, Author::Human)));
}

#[test]
fn an_arbiter_that_leaves_decides_nothing_and_without_anybody_it_lapses_in_a_month() {
    let (mut world, _ann, bob, thread) = dispute();
    let carl = able(&mut world, "carl", "storage");
    argue(&mut world, bob, "ann", "disagree_with", &thread);
    world.pass(600_000);
    world.due();
    assert_eq!(step(&world, &thread), ConflictStep::Arbiter(name("carl")));
    let events = world.leave(carl);
    assert_eq!(step(&world, &thread), ConflictStep::Human);
    // It has been asked, and reads that first when it comes back.
    let told = notices(&events, "carl");
    assert!(told[0].ends_with("and no longer you"), "{told:?}");
    world.pass(crate::domain::wait_times::HUMAN_DECISION_MS);
    let mut events = world.due();
    events.extend(world.due());
    assert_eq!(resolved(&events), Some((ConflictEnd::Lapsed, Author::Bridge)));
}

#[test]
fn nobody_disagrees_with_itself_and_a_third_is_no_party() {
    let (mut world, ann, bob, thread) = dispute();
    let agree = sending_with("bob", signal("agree_with"), Some(&thread));
    assert_eq!(
        world.refuse(ann, agree).to_string(),
        format!(
            "`agree_with` takes a side on what somebody else has said, and {thread} is your own \
             message: give the id of theirs as reply_to"
        )
    );
    let against = argue(&mut world, bob, "ann", "disagree_with", &thread);
    let third = world.peer("eve");
    let asked = sending_with("eve", Envelope::default(), Some(&against));
    let told = sent(&world.ask(ann, asked)).id.clone();
    let events = world.ask(third, sending_with("ann", signal("disagree_with"), Some(&told)));
    assert_eq!(notices(&events, "eve").len(), 1);
    assert_eq!(world.state.conflict(&thread).unwrap().parties.len(), 2);
}

#[test]
fn one_member_begins_a_limited_number_of_disagreements() {
    let mut world = World::new();
    let (ann, bob) = (world.peer("ann"), world.peer("bob"));
    for number in 0..=limits::OPEN_CONFLICTS_OF_ONE {
        let id = world.send_with(ann, "bob", signal("propose_approach"));
        let disagree = sending_with("ann", signal("disagree_with"), Some(&id));
        if number < limits::OPEN_CONFLICTS_OF_ONE {
            world.ask(bob, disagree);
        } else {
            let limit = limits::OPEN_CONFLICTS_OF_ONE;
            assert_eq!(world.refuse(bob, disagree), Refusal::TooManyConflicts { limit, own: true });
        }
    }
    // Once nobody is left to whom it matters, it is over at its next deadline.
    world.leave(ann);
    world.leave(bob);
    for _ in 0..4 {
        world.pass(crate::domain::wait_times::HUMAN_DECISION_MS);
        while !world.due().is_empty() {}
    }
    assert_eq!(world.state.open_conflicts().count(), 0);
}

#[test]
fn whoever_decides_is_shown_what_the_parties_wrote_to_each_other_and_nothing_else() {
    let (mut world, ann, bob, thread) = dispute();
    let carl = world.peer("carl");
    let private = argue(&mut world, ann, "carl", "msg", &thread);
    let taken = argue(&mut world, ann, "bob", "msg", &thread);
    let instead = Envelope { supersedes: Some(taken.clone()), ..signal("msg") };
    world.reply_with(ann, "bob", instead, &thread);
    argue(&mut world, bob, "ann", "disagree_with", &thread);
    // What a party writes to others stays between them, and is no word in it.
    let aside = argue(&mut world, ann, "carl", "msg", &thread);
    assert_eq!(step(&world, &thread), ConflictStep::Round(1));
    assert!(!world.unread("bob").contains(&aside));
    able(&mut world, "dora", "architect");
    world.pass(600_000);
    world.due();
    let shown = world.unread("dora");
    assert!(shown.contains(&thread));
    assert!(![private, taken, aside].iter().any(|id| shown.contains(id)), "{shown:?}");
    world.leave(carl);
}

#[test]
fn an_arbiter_says_so_when_it_joins_and_cannot_put_it_off_by_talking() {
    let (mut world, _ann, bob, thread) = dispute();
    let eve = world.peer("eve");
    world.ask(eve, Operation::ClaimLane(Label::parse("architect").unwrap()));
    let dora = able(&mut world, "dora", "architect");
    argue(&mut world, bob, "ann", "disagree_with", &thread);
    world.pass(600_000);
    world.due();
    assert_eq!(step(&world, &thread), ConflictStep::Arbiter(name("dora")), "a lane is no proof");
    world.pass(599_999);
    argue(&mut world, dora, "ann", "msg", &thread);
    world.pass(1);
    assert_eq!(moves(&world.due()), [ConflictStep::Human]);
    // Who comes later is given it, too, and an orchestrator does not decide its own.
    let lead = world.lead();
    assert!(world.unread("orchestrator").contains(&thread));
    let decide = sending_with("bob", signal("announce_decision"), Some(&thread));
    world.ask(lead, decide);
    assert!(!world.state.conflict(&thread).unwrap().is_open());
}

#[test]
fn an_orchestrator_does_not_decide_for_its_user_what_it_disagrees_about_itself() {
    let mut world = World::new();
    let (lead, bob) = (world.lead(), world.peer("bob"));
    let thread = world.send_with(lead, "bob", signal("propose_approach"));
    argue(&mut world, bob, "orchestrator", "disagree_with", &thread);
    world.pass(600_000);
    world.due();
    assert_eq!(step(&world, &thread), ConflictStep::Human);
    let against = world.state.conflict(&thread).unwrap().parties[0].position.clone();
    let decide = sending_with("bob", signal("announce_decision"), Some(&against));
    assert!(matches!(world.refuse(lead, decide), Refusal::NotAskedToDecide { .. }));
}

#[test]
fn what_it_rests_on_stays_and_its_end_is_never_forgotten() {
    let (mut world, ann, bob, thread) = dispute();
    let fleeting = Envelope { ttl_seconds: Some(60), ..signal("disagree_with") };
    let refused = world.refuse(bob, sending_with("ann", fleeting, Some(&thread)));
    assert_eq!(refused, Refusal::LastsForGood);
    let against = argue(&mut world, bob, "ann", "disagree_with", &thread);
    let instead = Envelope { supersedes: Some(against.clone()), ..Envelope::default() };
    let refused = world.refuse(bob, sending_with("ann", instead, None));
    assert_eq!(refused, Refusal::LastsForGood);
    let fleeting = Envelope { ttl_seconds: Some(1), ..signal("agree_with") };
    assert_eq!(
        world.refuse(ann, sending_with("bob", fleeting, Some(&against))),
        Refusal::LastsForGood
    );
    argue(&mut world, ann, "bob", "agree_with", &against);
    // Many others end, until the state knows this one no more.
    for _ in 0..=limits::KEPT_CONFLICTS {
        let id = world.send_with(ann, "bob", signal("propose_approach"));
        let other = argue(&mut world, bob, "ann", "disagree_with", &id);
        argue(&mut world, ann, "bob", "agree_with", &other);
        for session in [ann, bob] {
            let (call, _) = world.take(session);
            world.settle(session, call, true);
        }
    }
    assert_eq!(world.state.conflict(&thread), None);
    let instead = Envelope { supersedes: Some(against.clone()), ..Envelope::default() };
    assert_eq!(world.refuse(bob, sending_with("ann", instead, None)), Refusal::LastsForGood);
    let again = sending_with("ann", signal("disagree_with"), Some(&thread));
    let events = world.ask(bob, again);
    assert!(notices(&events, "bob")[0].contains("changes nothing"));
    assert_eq!(world.state.conflict(&thread), None);
}
