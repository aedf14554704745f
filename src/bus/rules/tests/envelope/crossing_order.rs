//! What couriers that are late, or have another configuration, cannot do to messages from project to project.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::crossings::{arriving, carry, carry_receipts, join_with, label, mark, project};
use super::signal;
use crate::bus::event::{ProjectsListed, Proposal, Skip};
use crate::bus::rules::tests::kept::held;
use crate::bus::rules::tests::*;
use crate::bus::rules::{Crossing, Description, NotRelayed};
use crate::bus::state::Message;
use crate::domain::limits;
use crate::domain::member::Label;
use crate::domain::messaging::{Arbiter, ListedProjects, ReceiptElsewhere, StateElsewhere};
use crate::domain::wait_times;

#[test]
fn a_late_courier_brings_nothing_twice_however_many_have_come_meanwhile() {
    let (mut po, mut web) = (project("po"), project("web"));
    let writer = po.peer("writer");
    web.peer("alice");
    po.send(writer, "web:alice", "first");
    // It has the message in its hands, and is stopped.
    let held = arriving(&po, "po", po.state.outbox()[0]);
    carry(&mut po, "po", &mut web, 2);
    for number in 0..2 * limits::KEPT_ARRIVED {
        po.pass(5_000);
        po.send(writer, "web:alice", &number.to_string());
        carry(&mut po, "po", &mut web, 2);
    }
    let before = web.unread("alice").len();
    let refused = web.try_ask(None, Operation::Crossing(held)).unwrap_err();
    assert_eq!(refused, Refusal::ArrivedLate);
    assert_eq!(web.unread("alice").len(), before);
}

#[test]
fn what_may_come_again_is_remembered_so_later_messages_wait_for_it() {
    let (mut po, mut web) = (project("po"), project("web"));
    // As many wait of each sender as may.
    let writers: Vec<_> = (0..4).map(|number| po.peer(&format!("writer-{number}"))).collect();
    web.peer("alice");
    for number in 0..limits::KEPT_ARRIVED + 2 {
        po.pass(5_000);
        po.send(writers[number % writers.len()], "web:alice", &number.to_string());
    }
    // All but the first, whose courier is slow.
    let all: Vec<_> = po.state.outbox().into_iter().cloned().collect();
    let arrive = |world: &mut World, message: &Message| {
        world.try_ask(None, Operation::Crossing(arriving(&po, "po", message))).map(drop)
    };
    for message in &all[1..=limits::KEPT_ARRIVED] {
        arrive(&mut web, message).unwrap();
    }
    let last = all.last().unwrap();
    assert_eq!(arrive(&mut web, last), Err(Refusal::ArrivedEarly));
    arrive(&mut web, &all[0]).unwrap();
    for message in &all[..=limits::KEPT_ARRIVED] {
        assert!(matches!(arrive(&mut web, message), Err(Refusal::Arrived { .. })));
    }
}

#[test]
fn a_bus_that_was_made_anew_counts_anew() {
    let (mut po, mut web) = (project("po"), project("web"));
    let writer = po.peer("writer");
    web.peer("alice");
    for number in 0..10 {
        po.send(writer, "web:alice", &number.to_string());
        po.pass(5_000);
        carry(&mut po, "po", &mut web, 2);
    }
    let mut anew = World::new();
    let listed = ListedProjects {
        own: Some(label("po")),
        tags: [(label("web"), mark("web"))].into(),
        ..ListedProjects::default()
    };
    join_with(&mut anew, "courier", listed);
    let writer = anew.peer("writer");
    anew.send(writer, "web:alice", "x");
    assert!(carry(&mut anew, "po", &mut web, 2).is_some());
}

/// The bus of `po` is put back as it was when these messages waited, of which the first was taken, and others after it.
#[test]
fn what_a_bus_that_was_put_back_from_a_backup_sends_is_taken_at_once_and_nothing_twice() {
    let (mut po, mut web) = (project("po"), project("web"));
    let writer = po.peer("writer");
    let alice = web.peer("alice");
    let read = |web: &mut World| {
        let (call, _) = web.take(alice);
        web.settle(alice, call, true);
    };
    po.send(writer, "web:alice", "in the backup");
    let (state, next_seq) = (po.state.clone(), po.next_seq);
    carry(&mut po, "po", &mut web, 2);
    for number in 0..2 * limits::KEPT_ARRIVED {
        po.pass(5_000);
        po.send(writer, "web:alice", &number.to_string());
        carry(&mut po, "po", &mut web, 2);
        read(&mut web);
    }
    (po.state, po.next_seq) = (state, next_seq);
    po.pass(5_000);
    let old = po.state.outbox()[0].clone();
    let refused = web.try_ask(None, Operation::Crossing(arriving(&po, "po", &old))).unwrap_err();
    assert_eq!(refused, Refusal::ArrivedLate, "it has been there");
    let over = Crossing::Failed { id: old.id.clone(), why: NotRelayed::Undone };
    let lead = po.state.live(&name("courier")).unwrap().id;
    let told = format!(
        "your message {} to web:alice was not delivered: it was on its way before this bus was put \
         back from a backup, and is over",
        old.id
    );
    assert_eq!(notices(&po.ask(lead, Operation::Crossing(over)), "writer"), [told]);
    // What it sends from then on is new, several at once, and once.
    for round in 0..limits::KEPT_ARRIVED + 2 {
        for number in 0..2 {
            po.pass(5_000);
            po.send(writer, "web:alice", &format!("{round}, {number}"));
        }
        let new: Vec<_> = po.state.outbox().into_iter().cloned().collect();
        let held: Vec<_> = new.iter().map(|one| arriving(&po, "po", one)).collect();
        web.try_ask(None, Operation::Crossing(held[1].clone())).unwrap();
        for _ in 0..2 {
            carry(&mut po, "po", &mut web, 2).unwrap();
        }
        read(&mut web);
        for late in held {
            let again = web.try_ask(None, Operation::Crossing(late)).unwrap_err();
            assert!(matches!(again, Refusal::Arrived { .. } | Refusal::ArrivedLate), "{again}");
        }
    }
    assert!(web.state.other_projects().len() <= 2 * limits::KEPT_ARRIVED);
}

#[test]
fn a_report_of_progress_takes_the_place_of_the_unread_one_before_it_in_another_project() {
    let (mut po, mut web) = (project("po"), project("web"));
    let writer = po.peer("writer");
    let alice = web.peer("alice");
    let start = po.send(writer, "web:alice", "I begin");
    let begins = carry(&mut po, "po", &mut web, 2).unwrap();
    let mut report = |web: &mut World| {
        po.pass(5_000);
        po.reply_with(writer, "web:alice", signal("pulse"), &start);
        carry(&mut po, "po", web, 2).unwrap()
    };
    let first = report(&mut web);
    assert_eq!(web.unread("alice"), [begins.clone(), first.clone()]);
    let second = report(&mut web);
    assert_eq!(web.unread("alice"), [begins, second.clone()]);
    assert_eq!(web.delivery(&first, "alice"), Some(Delivery::Superseded));
    // What has been read stays.
    let (call, _) = web.take(alice);
    web.settle(alice, call, true);
    let third = report(&mut web);
    assert_eq!(web.unread("alice"), [third]);
    assert_eq!(web.delivery(&second, "alice"), Some(Delivery::Seen));
}

#[test]
fn a_note_from_another_project_is_no_longer_than_one_from_here_may_be() {
    let (mut po, mut web) = (project("po"), project("web"));
    let writer = po.peer("writer");
    web.peer("alice");
    let id = po.send(writer, "web:alice", "x");
    let there = carry(&mut po, "po", &mut web, 2).unwrap();
    let most = limits::ACKNOWLEDGEMENT_NOTE_BYTES;
    let lengths = [most, most + 1].into_iter().chain([most; 9]);
    let receipts = lengths.enumerate().map(|(number, length)| ReceiptElsewhere {
        note: Some("x".repeat(length)),
        ..ReceiptElsewhere::of(name(&format!("a{number}")), StateElsewhere::Acked)
    });
    let told = Crossing::Receipts { from: label("web"), id, there, receipts: receipts.collect() };
    let events = po.ask(None, Operation::Crossing(told.clone()));
    let [Event::MessageRelayed(relayed)] = &events[..] else { panic!("{events:?}") };
    let kept: Vec<_> = relayed.receipts.iter().map(|one| one.note.is_some()).collect();
    let expected = [true, false].into_iter().chain([true; 7]).chain([false; 2]);
    assert_eq!(kept, expected.collect::<Vec<_>>());
    assert!(po.ask(None, Operation::Crossing(told)).is_empty(), "it is told once");
}

#[test]
fn receipts_that_a_courier_found_replace_those_it_knew_and_no_newer_ones() {
    let (mut po, mut web) = (project("po"), project("web"));
    let (writer, alice) = (po.peer("writer"), web.peer("alice"));
    let id = po.send(writer, "web:alice", "hello");
    carry(&mut po, "po", &mut web, 2).unwrap();
    let lead = po.state.live(&name("courier")).unwrap().id;
    let states = |po: &World| -> Vec<_> {
        po.state.crossed(&id).unwrap().receipts.iter().map(|one| one.state).collect()
    };
    let receipts = |state| vec![ReceiptElsewhere::of(name("alice"), state)];
    let found = |before, now| {
        let (id, before) = (id.clone(), receipts(before));
        Operation::Crossing(Crossing::Found { id, before, receipts: receipts(now) })
    };
    let late = found(StateElsewhere::Unread, StateElsewhere::Unread);
    assert!(po.ask(lead, late).is_empty(), "nothing new");
    let late = found(StateElsewhere::Unread, StateElsewhere::Acked);
    let (call, _) = web.take(alice);
    web.settle(alice, call, true);
    carry_receipts(&mut web, "web", &mut po);
    assert_eq!(states(&po), [StateElsewhere::Seen]);
    assert!(po.ask(lead, late).is_empty(), "the other courier was later there");
    po.ask(lead, found(StateElsewhere::Seen, StateElsewhere::Acked));
    assert_eq!(states(&po), [StateElsewhere::Acked]);
}

#[test]
fn who_joins_later_does_not_change_what_the_team_goes_by() {
    let mut po = project("po");
    let mut new = po.joining(NameChoice::Chosen(name("mal")), MemberKind::Peer, &[]);
    let other = ListedProjects {
        own: Some(label("po")),
        tags: [(label("web"), mark("evil"))].into(),
        ..ListedProjects::default()
    };
    new.description = Description {
        projects: Some(other.clone()),
        arbiter: Some(Arbiter::parse("mal").unwrap()),
        ..Description::default()
    };
    let events = po.ask(None, Operation::Join(Box::new(new)));
    let changes =
        |event: &&Event| matches!(event, Event::ProjectsListed(_) | Event::ArbiterSet { .. });
    assert_eq!(events.iter().find(changes), None);
    assert_eq!(po.state.other_projects().known[&label("web")].mark, mark("web"));

    // Who leads from now on decides, and what was meant for the other directory does not go there.
    let mut new = po.joining(NameChoice::Chosen(name("next")), MemberKind::Orchestrator, &[]);
    new.description =
        Description { projects: Some(other), takes_lead: true, ..Description::default() };
    po.ask(None, Operation::Join(Box::new(new)));
    let known = po.state.other_projects().known[&label("web")];
    assert_eq!(known.mark, mark("evil"));
    assert!(known.since > 0);
}

#[test]
fn other_projects_fill_a_part_of_an_inbox_alone() {
    let (mut po, mut web) = (project("po"), project("web"));
    let writer = po.peer("writer");
    let bob = web.peer("bob");
    web.peer("alice");
    for number in 0..limits::UNREAD_FROM_ELSEWHERE {
        po.pass(5_000);
        po.send(writer, "web:alice", &number.to_string());
        carry(&mut po, "po", &mut web, 2);
    }
    po.pass(5_000);
    po.send(writer, "web:alice", "one more");
    let more = arriving(&po, "po", po.state.outbox()[0]);
    let refused = web.try_ask(None, Operation::Crossing(more)).unwrap_err();
    assert!(matches!(refused, Refusal::InboxFull { .. }), "{refused}");
    web.send(bob, "alice", "from here");
}

/// A bus of the first version with other projects: its tags have no directories, and its messages no places.
#[test]
fn what_the_first_version_with_other_projects_left_goes_on() {
    let (mut po, mut web) = (project("po"), project("web"));
    let writer = po.peer("writer");
    web.peer("alice");
    let old = ProjectsListed {
        by: None,
        own: Some(label("po")),
        tags: vec![label("web")],
        marks: BTreeMap::new(),
        skip: Skip,
    };
    let id = CommandId(Uuid::from_u128(1));
    po.append(Proposal { id, by: None, events: vec![Event::ProjectsListed(old)] });
    po.send(writer, "web:alice", "first");
    let first = po.state.outbox()[0].clone();
    assert!(po.state.other_projects().known.is_empty(), "nobody takes it");
    // Its couriers brought messages without places, and may still.
    let mut of_old = |world: &World, number: usize| {
        let Crossing::Arrive(mut one) = arriving(world, "po", &first) else { unreachable!() };
        one.origin.place = None;
        one.origin.sent_ms += i64::try_from(number).unwrap();
        web.pass(5_000);
        let arrived = web.try_ask(None, Operation::Crossing(Crossing::Arrive(one.clone())));
        arrived.unwrap();
        let again = web.try_ask(None, Operation::Crossing(Crossing::Arrive(one)));
        assert!(matches!(again, Err(Refusal::Arrived { .. })));
    };
    for number in 1..=limits::KEPT_ARRIVED + 1 {
        of_old(&po, number);
    }
    assert_eq!(web.state.other_projects().len(), limits::KEPT_ARRIVED);
    // Who leads next says which directory it is.
    let listed = ListedProjects {
        own: Some(label("po")),
        tags: [(label("web"), mark("web"))].into(),
        ..ListedProjects::default()
    };
    let description = Description { projects: Some(listed), ..Description::default() };
    let mut new = po.joining(NameChoice::Chosen(name("next")), MemberKind::Orchestrator, &[]);
    new.description = Description { takes_lead: true, ..description };
    po.ask(None, Operation::Join(Box::new(new)));
    let known = po.state.other_projects().known[&label("web")];
    assert_eq!((known.mark, known.since), (mark("web"), 0));
    carry(&mut po, "po", &mut web, 2);
    assert_eq!(po.state.outbox().len(), 0);
}

/// One asks in the other project, is answered, and both read.
fn ask_across(po: &mut World, web: &mut World) {
    let (writer, alice) = (session_of(po, "writer"), session_of(web, "alice"));
    let asked = po.send_with(writer, "web:alice", signal("question"));
    let there = carry(po, "po", web, 2).unwrap();
    let (read, _) = web.take(alice);
    web.settle(alice, read, true);
    carry_receipts(web, "web", po);
    web.reply_with(alice, "po:writer", signal("answer"), &there);
    carry(web, "web", po, 2).unwrap();
    let (read, _) = po.take(writer);
    po.settle(writer, read, true);
    carry_receipts(po, "po", web);
    assert_eq!(po.state.awaited_answer(&asked), None);
}

fn session_of(world: &World, called: &str) -> SessionId {
    world.state.live(&name(called)).unwrap().id
}

#[test]
fn what_goes_between_two_projects_leaves_states_of_bounded_size() {
    let (mut po, mut web) = (project("po"), project("web"));
    po.peer("writer");
    web.peer("alice");
    let mut go_on = |rounds: usize| {
        for _ in 0..rounds {
            ask_across(&mut po, &mut web);
            // Both are shown the same all the time, so nothing is a double.
            po.pass(wait_times::DOUBLE_MS);
            web.pass(wait_times::DOUBLE_MS);
        }
        (held(&po.state), held(&web.state))
    };
    // Enough to fill every bounded list, also that of commands.
    let full = go_on(limits::KEPT_COMMANDS / 4);
    assert_eq!(go_on(50), full);
}

#[test]
fn a_directory_that_has_not_answered_keeps_what_its_tag_meant() {
    let mut po = project("po");
    let writer = po.peer("writer");
    let since = |po: &World| po.state.other_projects().known[&label("web")].since;
    let before = since(&po);
    po.send(writer, "web:alice", "x");
    let lead = po.state.live(&name("courier")).unwrap().id;
    let list = |unseen: &[Label]| {
        let listed = ListedProjects {
            own: Some(label("po")),
            tags: ["web", "wiki"].map(|tag| (label(tag), mark("as written"))).into(),
            unseen: unseen.iter().cloned().collect(),
        };
        Operation::Crossing(Crossing::Listed(listed))
    };
    assert!(po.ask(lead, list(&[label("web"), label("wiki")])).is_empty());
    assert_eq!(
        (since(&po), po.state.other_projects().known[&label("web")].mark),
        (before, mark("web"))
    );
    po.ask(lead, list(&[]));
    assert!(since(&po) > before);
}
