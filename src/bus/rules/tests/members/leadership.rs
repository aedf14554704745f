//! Which orchestrator leads, who is told so, and what passes to the next lead.

use super::super::*;
use crate::bus::event::Envelope;
use crate::bus::rules::Description;
use crate::bus::rules::tests::envelope::sending_with;
use crate::bus::rules::tests::workflows::new_workflow;
use crate::bus::state::Message;
use crate::domain::member::PLAN_ROLE;
use crate::domain::messaging::Signal;

/// An orchestrator with a chosen name, by what it says of itself.
fn orchestrator(world: &mut World, called: &str, takes_lead: bool) -> (SessionId, Vec<Event>) {
    let choice = NameChoice::Chosen(name(called));
    let mut new = world.joining(choice, MemberKind::Orchestrator, &[]);
    new.description = Description { takes_lead, ..Description::default() };
    let session = new.session;
    (session, world.ask(None, Operation::Join(Box::new(new))))
}

fn joins(world: &mut World, called: &str) -> SessionId {
    orchestrator(world, called, false).0
}

fn runs_a_plan(world: &mut World) -> SessionId {
    let choice = NameChoice::Like(name("run"));
    let mut new = world.joining(choice, MemberKind::Orchestrator, &[]);
    new.roles = vec![PLAN_ROLE.to_owned()];
    let session = new.session;
    world.ask(None, Operation::Join(Box::new(new)));
    session
}

#[track_caller]
fn check_leads(world: &World, expected: Option<SessionId>) {
    assert_eq!(world.state.lead().map(|lead| lead.id), expected);
}

/// The events by which the lead has moved.
fn taken(events: &[Event]) -> Vec<(SessionId, Option<SessionId>)> {
    let taken = events.iter().filter_map(|event| match event {
        Event::LeadTaken(taken) => Some((taken.session, taken.preempted)),
        _ => None,
    });
    taken.collect()
}

/// The unread notice of a member that another leads in its place.
fn preemption<'a>(world: &'a World, of: &str) -> Option<&'a Message> {
    let is_it = |message: &&Message| message.signal() == Some(&Signal::MASTER_PREEMPTED);
    world.state.unread(&name(of)).find(is_it)
}

fn hang(world: &mut World, sessions: &[SessionId]) -> Vec<Event> {
    world.ask(None, Operation::Hung(sessions.to_vec(), 30_000))
}

#[test]
fn the_first_orchestrator_leads_from_the_append_of_its_joining() {
    let mut world = World::new();
    world.peer("ann");
    check_leads(&world, None);
    let (first, events) = orchestrator(&mut world, "first", false);
    assert_eq!(taken(&events), [(first, None)]);
    let (_, events) = orchestrator(&mut world, "second", false);
    assert_eq!(taken(&events), []);
    check_leads(&world, Some(first));
}

#[test]
fn after_the_lead_the_one_leads_that_is_here_longest_and_responds() {
    for end in ["leave", "reap", "hang"] {
        let mut world = World::new();
        let [first, second, third, fourth] =
            ["a", "b", "c", "d"].map(|called| joins(&mut world, called));
        hang(&mut world, &[second]);
        let events = match end {
            "leave" => world.leave(first),
            "reap" => world.reap(&[first]),
            _ => hang(&mut world, &[first]),
        };
        let before = (end == "hang").then_some(first);
        assert_eq!(taken(&events), [(third, before)], "{end}");
        assert_eq!(preemption(&world, "a").is_some(), end == "hang");
        // Whoever has come to lead goes on, though others are here longer.
        world.ask(None, Operation::Back(vec![first, second]));
        check_leads(&world, Some(third));
        world.reap(&[first, second, third]);
        check_leads(&world, Some(fourth));
        world.leave(fourth);
        check_leads(&world, None);
    }
}

#[test]
fn a_lead_that_does_not_respond_leads_until_somebody_responds() {
    let mut world = World::new();
    let first = joins(&mut world, "a");
    assert_eq!(taken(&hang(&mut world, &[first])), []);
    check_leads(&world, Some(first));
    world.ask(None, Operation::Back(vec![first]));
    check_leads(&world, Some(first));
    hang(&mut world, &[first]);
    let second = joins(&mut world, "b");
    check_leads(&world, Some(second));
    hang(&mut world, &[second]);
    check_leads(&world, Some(second));
    assert_eq!(taken(&world.ask(None, Operation::Back(vec![first]))), [(first, Some(second))]);
}

#[test]
fn a_preempted_lead_is_told_at_once() {
    let mut world = World::new();
    let first = joins(&mut world, "first");
    let call = world.wait(first);
    let (second, events) = orchestrator(&mut world, "second", true);
    assert_eq!(taken(&events), [(second, Some(first))]);
    let told = all_sent(&events).find(|sent| sent.priority == Priority::High).unwrap();
    assert_eq!(told.to.named(), [name("first")]);
    let more = told.more.as_ref().unwrap();
    assert_eq!(more.signal, Some(Signal::MASTER_PREEMPTED));
    let number = world.state.session(second).unwrap().number.unwrap().to_string();
    let payload = serde_json::json!({ "preempted_by": "second", "new_master_session": number });
    assert_eq!(serde_json::Value::from(more.payload.clone().unwrap()), payload);
    assert_eq!(world.held(first, call), std::slice::from_ref(&told.id));
    world.leave(second);
    check_leads(&world, Some(first));
}

#[test]
fn taking_the_lead_twice_is_taking_it_once() {
    let mut world = World::new();
    joins(&mut world, "first");
    let choice = NameChoice::Chosen(name("second"));
    let mut new = world.joining(choice, MemberKind::Orchestrator, &[]);
    new.description.takes_lead = true;
    let join = |new| Operation::Join(Box::new(new));
    assert_eq!(taken(&world.ask(None, join(new.clone()))).len(), 1);
    assert_eq!(world.ask(None, join(new)), []);
    // Nor does the first one that leads anyway preempt anybody.
    let mut world = World::new();
    let (only, events) = orchestrator(&mut world, "only", true);
    assert_eq!(taken(&events), [(only, None)]);
    assert!(notices(&events, "only").is_empty());
}

#[test]
fn a_peer_does_not_take_the_lead() {
    let mut world = World::new();
    let first = joins(&mut world, "first");
    let mut new = world.joining(NameChoice::Chosen(name("ann")), MemberKind::Peer, &[]);
    new.description.takes_lead = true;
    world.ask(None, Operation::Join(Box::new(new)));
    check_leads(&world, Some(first));
}

#[test]
fn one_that_runs_a_plan_leads_only_where_nobody_else_can() {
    let mut world = World::new();
    let run = runs_a_plan(&mut world);
    check_leads(&world, Some(run));
    let (first, events) = orchestrator(&mut world, "first", false);
    assert_eq!(taken(&events), [(first, Some(run))]);
    // Nobody reads there.
    assert_eq!(all_sent(&events).count(), 0);
    hang(&mut world, &[first]);
    check_leads(&world, Some(first));
    world.leave(first);
    check_leads(&world, Some(run));
}

#[test]
fn on_an_old_bus_the_one_that_is_here_longest_leads_from_the_first_look_on() {
    let mut world = World::new();
    let first = joins(&mut world, "first");
    joins(&mut world, "second");
    world.state.lead = None;
    assert!(world.state.lacks_lead());
    assert_eq!(world.state.earliest_due_ms(world.now), Some(0));
    assert_eq!(taken(&world.due()), [(first, None)]);
    assert_eq!(world.due(), []);
}

#[test]
fn the_address_of_the_lead_is_whoever_leads() {
    let mut world = World::new();
    let ann = world.peer("ann");
    let refused = world.refuse(ann, sending("@lead", "hello", None));
    assert!(matches!(refused, Refusal::NobodyFits(_)), "{refused:?}");
    let first = joins(&mut world, "first");
    let second = joins(&mut world, "second");
    let to = |world: &mut World, by: SessionId| {
        let events = world.ask(by, sending("@Lead", "hello", None));
        sent(&events).to.named().to_vec()
    };
    assert_eq!(to(&mut world, ann), [name("first")]);
    assert_eq!(to(&mut world, second), [name("first")]);
    assert!(matches!(
        world.refuse(first, sending("@lead", "hello", None)),
        Refusal::ToYourself { .. }
    ));
    world.leave(first);
    assert_eq!(to(&mut world, ann), [name("second")]);
}

/// The messages under `@lead` that a member has not seen, by their texts in the events.
fn for_lead(world: &World, of: &str) -> usize {
    world.state.unread(&name(of)).filter(|message| message.is_for_lead()).count()
}

#[test]
fn what_the_lead_has_not_read_passes_to_the_next_one_in_the_append_that_makes_it_lead() {
    for end in ["leave", "reap", "hang", "take"] {
        let mut world = World::new();
        let ann = world.peer("ann");
        let first = joins(&mut world, "first");
        let second = joins(&mut world, "second");
        let mut ask = |text: &str| sent(&world.ask(ann, sending("@lead", text, None))).id.clone();
        let (read, in_flight, unread) = (ask("read"), ask("in flight"), ask("unread"));
        let own = world.send(ann, "first", "yours");
        let take = |world: &mut World| {
            let (call, _) = world.take_with(first, Pick::any(1, usize::MAX, usize::MAX));
            call
        };
        let call = take(&mut world);
        world.settle(first, call, true);
        take(&mut world);
        let heir = match end {
            "leave" => world.leave(first),
            "reap" => world.reap(&[first]),
            "hang" => hang(&mut world, &[first]),
            _ => orchestrator(&mut world, "third", true).1,
        };
        let to = if end == "take" { "third" } else { "second" };
        assert_eq!(taken(&heir).len(), 1, "{end}");
        let is_unread =
            |id: &MessageId| matches!(world.delivery(id, to), Some(Delivery::Unread { .. }));
        assert!(is_unread(&unread), "{end}");
        // One that responds still reads what it has been given.
        assert_eq!(is_unread(&in_flight), end != "take", "{end}");
        assert_eq!(world.delivery(&read, to), None, "{end}");
        assert_eq!(world.delivery(&own, to), None, "{end}");
        assert_eq!(for_lead(&world, "first"), 0, "{end}");
        let _ = second;
    }
}

#[test]
fn a_question_that_passes_to_the_next_lead_takes_its_reminders_along() {
    for end in ["reap", "take"] {
        let mut world = World::new();
        let ann = world.peer("ann");
        let first = joins(&mut world, "first");
        let question = Envelope { response_seconds: Some(1), ..Envelope::default() };
        let events = world.ask(ann, sending_with("@lead", question, None));
        let id = sent(&events).id.clone();
        world.pass(1_000);
        world.due();
        assert_eq!(world.unread("first").len(), 2, "the question and a reminder of it");
        match end {
            "reap" => {
                world.reap(&[first]);
                orchestrator(&mut world, "next", false);
            }
            _ => drop(orchestrator(&mut world, "next", true)),
        }
        let awaited = world.state.awaited_answer(&id).unwrap();
        assert_eq!((&awaited.to[..], awaited.reminders), (&[name("next")][..], 0), "{end}");
        let left = world.state.unread(&name("first")).map(|message| message.kind);
        assert!(!left.into_iter().any(|kind| kind == MessageKind::Nudge), "{end}");
    }
}

/// Nobody is there to take it over, and the name of the dead lead never comes back.
#[test]
fn what_a_lead_without_successor_has_not_read_waits_for_the_next_lead() {
    let mut world = World::new();
    let ann = world.peer("ann");
    let first = joins(&mut world, "first");
    let id = sent(&world.ask(ann, sending("@lead", "hello", None))).id.clone();
    world.reap(&[first]);
    joins(&mut world, "other");
    assert!(matches!(world.delivery(&id, "other"), Some(Delivery::Unread { .. })));
    assert_eq!(world.delivery(&id, "first"), Some(Delivery::Superseded));
}

#[test]
fn the_lead_alone_is_told_what_concerns_the_team_and_a_dead_one_loses_none_of_it() {
    let mut world = World::new();
    joins(&mut world, "first");
    let owner = joins(&mut world, "owner");
    joins(&mut world, "third");
    let agent = world.agent(owner, "codex");
    let ann = world.peer("ann");
    let events = hang(&mut world, &[ann]);
    let stopped = |events: &[Event], to: &str| {
        let to_them = notices(events, to);
        to_them.iter().filter(|text| text.contains("ann stopped responding")).count()
    };
    assert_eq!(["first", "owner", "third"].map(|to| stopped(&events, to)), [1, 0, 0]);
    // The agent ends with its bridge.
    world.reap(&[owner, agent]);
    assert_eq!(for_lead(&world, "first"), 2);
    assert_eq!(for_lead(&world, "third"), 0);
    let first = world.state.lead().unwrap().id;
    world.reap(&[first]);
    assert_eq!(for_lead(&world, "third"), 2);
}

#[test]
fn the_next_lead_of_a_name_is_told_once_of_workflows_that_the_last_one_has_not_read_about() {
    let mut world = World::new();
    let (boss, _) = orchestrator(&mut world, "boss", true);
    let other = joins(&mut world, "other");
    for _ in 0..12 {
        world.ask(other, new_workflow());
    }
    let told = |events: &[Event]| {
        notices(events, "boss").into_iter().filter(|text| text.contains("interrupted")).count()
    };
    assert_eq!(told(&world.reap(&[other])), 11, "ten, and one that counts the others");
    // All are in its hands, and nothing proves that it has read them.
    world.take(boss);
    world.leave(boss);
    let (boss, events) = orchestrator(&mut world, "boss", true);
    assert_eq!(told(&events), 11);
    let about =
        |message: &&Message| message.more.as_ref().is_some_and(|more| more.reference.is_some());
    let unread = || world.state.unread(&name("boss"));
    assert_eq!(unread().filter(about).count(), 11, "and none of the last one beside them");
    assert!(world.state.is_lead(boss));
}
