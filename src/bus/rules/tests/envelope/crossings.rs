//! Messages from project to project: two worlds, and a courier between them that may die after every append.

use std::path::Path;
use std::slice::from_ref;

use super::sending::{sending_with, signal};
use crate::bus::event::Envelope;
use crate::bus::rules::tests::*;
use crate::bus::rules::{Arriving, Crossing, Description, HumanWish, NotRelayed, id_there};
use crate::bus::state::Message;
use crate::domain::limits::{self, TeamLimits};
use crate::domain::member::Label;
use crate::domain::messaging::{
    Attached, AttachedFile, Attachment, DirectoryMark, HeldWhy, ListedProjects, MessageOrigin,
    OriginPlace, ReceiptElsewhere, StateElsewhere,
};
use crate::domain::wait_times;

pub(super) fn label(text: &str) -> Label {
    Label::parse(text).unwrap()
}

pub(super) fn mark(directory: &str) -> DirectoryMark {
    DirectoryMark::of(Path::new(directory))
}

/// A world that knows the tags `po` and `web`, one of which is its own.
pub(super) fn project(own: &str) -> World {
    let mut world = World::new();
    let tags = ["po", "web", "wiki"].into_iter().filter(|tag| *tag != own);
    let tags = tags.map(|tag| (label(tag), mark(tag))).collect();
    let listed = ListedProjects { own: Some(label(own)), tags, ..ListedProjects::default() };
    join_with(&mut world, "courier", listed);
    world
}

pub(super) fn join_with(
    world: &mut World,
    called: &str,
    listed: ListedProjects,
) -> (SessionId, Vec<Event>) {
    let mut new = world.joining(NameChoice::Chosen(name(called)), MemberKind::Orchestrator, &[]);
    new.description = Description { projects: Some(listed), ..Description::default() };
    let session = new.session;
    (session, world.ask(None, Operation::Join(Box::new(new))))
}

fn courier(world: &World) -> SessionId {
    world.state.live(&name("courier")).unwrap().id
}

/// What a courier would write into the other project.
pub(super) fn arriving(from: &World, own: &str, message: &Message) -> Crossing {
    let to = message.audience.elsewhere().unwrap();
    let reply_to = message.reply_to.as_ref();
    let more = message.more.as_ref().map(|header| {
        Box::new(Envelope {
            signal: header.signal.clone(),
            response_seconds: header.response_seconds,
            ..Envelope::default()
        })
    });
    Crossing::Arrive(Box::new(Arriving {
        from: message.from.member().unwrap().clone(),
        origin: MessageOrigin {
            tag: label(own),
            id: message.id.clone(),
            sent_ms: message.sent_ms,
            place: Some(OriginPlace {
                bus: from.state.other_projects().bus.unwrap(),
                seq: message.seq,
                oldest: from.state.outbox().first().map_or(message.seq, |oldest| oldest.seq),
            }),
        },
        to: to.name.clone(),
        body: text("crossed"),
        priority: message.priority,
        more,
        reply_to: reply_to.and_then(|id| id_there(&from.state, id, &to.tag)),
    }))
}

/// Takes the first message of the outbox across, as far as a courier comes with so many appends.
pub(super) fn carry(
    from: &mut World,
    own: &str,
    to: &mut World,
    appends: usize,
) -> Option<MessageId> {
    let message = from.state.outbox().first().copied()?.clone();
    if appends == 0 {
        return None;
    }
    let there = match to.try_ask(None, Operation::Crossing(arriving(from, own, &message))) {
        Ok(events) => sent(&events).id.clone(),
        Err(Refusal::Arrived { id }) => id,
        Err(other) => panic!("{other}"),
    };
    if appends > 1 {
        let receipts = to.state.receipts_here(to.state.message(&there).unwrap());
        let (id, there) = (message.id, there.clone());
        from.ask(courier(from), Operation::Crossing(Crossing::Relayed { id, there, receipts }));
    }
    Some(there)
}

/// Takes the first receipts back that have changed.
pub(super) fn carry_receipts(from: &mut World, own: &str, to: &mut World) {
    let (arrived, receipts) = from.state.receipts_to_tell().next().unwrap();
    let (local, id) = (arrived.id.clone(), arrived.origin.id.clone());
    let (from_tag, there, told) = (label(own), local.clone(), receipts.clone());
    let told = Crossing::Receipts { from: from_tag, id, there, receipts: told };
    to.ask(None, Operation::Crossing(told.clone()));
    assert!(to.ask(None, Operation::Crossing(told)).is_empty(), "it is told once");
    let told = Crossing::Told { id: local, receipts };
    from.ask(courier(from), Operation::Crossing(told));
    assert_eq!(from.state.receipts_to_tell().count(), 0);
}

fn question() -> Envelope {
    signal("question")
}

#[test]
fn a_message_waits_in_the_outbox_arrives_once_and_its_answer_comes_back() {
    let (mut po, mut web) = (project("po"), project("web"));
    let (writer, alice) = (po.peer("writer"), web.peer("alice"));
    let asked = po.send_with(writer, "WEB:alice", question());
    assert!(po.state.is_queued(&asked));
    assert_eq!(po.state.message(&asked).unwrap().audience.to_string(), "WEB:alice");
    assert_eq!(po.state.awaited_answer(&asked), None, "nobody has it yet");
    let (call, waiting) = po.wait_for_answer(&asked);
    po.ask(writer, waiting);

    let there = carry(&mut po, "po", &mut web, 2).unwrap();
    assert_eq!(po.state.outbox().len(), 0);
    assert!(po.state.is_relayed(&asked));
    assert_eq!(web.unread("alice"), from_ref(&there));
    let shown = web.state.message(&there).unwrap();
    assert_eq!(shown.from.to_string(), "po:writer");
    assert!(!shown.quiet);
    assert!(po.state.awaited_answer(&asked).is_some());

    // She reads it, and her receipt goes back.
    let (read, _) = web.take(alice);
    web.settle(alice, read, true);
    carry_receipts(&mut web, "web", &mut po);
    let receipts = &po.state.crossed(&asked).unwrap().receipts;
    assert_eq!((receipts.len(), receipts[0].state), (1, StateElsewhere::Seen));

    let answer = web.reply(alice, "po:writer", &there.to_string());
    assert_eq!(answer.reply_to, Some(there));
    let back = carry(&mut web, "web", &mut po, 2).unwrap();
    let arrived = po.state.message(&back).unwrap().clone();
    assert_eq!(arrived.from.to_string(), "web:alice");
    assert_eq!((arrived.reply_to, arrived.thread), (Some(asked.clone()), asked.clone()));
    assert_eq!(po.held(writer, call), from_ref(&back), "it ends the wait");
    assert_eq!(po.state.awaited_answer(&asked), None);

    // And on: what answers that has the answer's id over there.
    po.ask(writer, sending("web:alice", "thanks", Some(&back.to_string())));
    carry(&mut po, "po", &mut web, 2).unwrap();
    let thanks = web.state.unread(&name("alice")).next().unwrap();
    assert_eq!(thanks.reply_to, Some(answer.id));
}

#[test]
fn answers_and_receipts_that_are_faster_than_the_note_are_not_lost() {
    let (mut po, mut web) = (project("po"), project("web"));
    let (writer, alice) = (po.peer("writer"), web.peer("alice"));
    let asked = po.send_with(writer, "web:alice", question());
    // It is there, and not noted yet.
    let there = carry(&mut po, "po", &mut web, 1).unwrap();
    let (read, _) = web.take(alice);
    web.settle(alice, read, true);
    web.reply(alice, "po:writer", &there.to_string());
    carry(&mut web, "web", &mut po, 2).unwrap();
    carry_receipts(&mut web, "web", &mut po);
    let seen = |po: &World| po.state.crossed(&asked).unwrap().receipts[0].state;
    assert_eq!((seen(&po), po.state.outbox().len()), (StateElsewhere::Seen, 0));
    assert_eq!(po.state.awaited_answer(&asked), None, "it is answered");
    // The late note changes nothing.
    let receipts = vec![ReceiptElsewhere::of(name("alice"), StateElsewhere::Unread)];
    let late = Crossing::Relayed { id: asked.clone(), there, receipts };
    assert!(po.ask(courier(&po), Operation::Crossing(late)).is_empty());
    assert_eq!(seen(&po), StateElsewhere::Seen);
}

#[test]
fn a_courier_that_dies_after_any_append_leaves_one_message_there() {
    for dies_after in 0..=2 {
        let (mut po, mut web) = (project("po"), project("web"));
        let writer = po.peer("writer");
        web.peer("alice");
        po.send(writer, "web:alice", "x");
        carry(&mut po, "po", &mut web, dies_after);
        // The next one, and one more that comes too late.
        carry(&mut po, "po", &mut web, 2);
        carry(&mut po, "po", &mut web, 2);
        assert_eq!(web.unread("alice").len(), 1, "dies after {dies_after}");
        assert!(po.state.outbox().is_empty());
    }
}

#[test]
fn a_message_is_known_by_its_id_and_its_time_whatever_the_tag_of_its_project_is() {
    let (mut po, mut web) = (project("po"), project("web"));
    let writer = po.peer("writer");
    web.peer("alice");
    po.send(writer, "web:alice", "x");
    carry(&mut po, "po", &mut web, 1);
    carry(&mut po, "wiki", &mut web, 2);
    assert_eq!(web.unread("alice").len(), 1);
}

#[test]
fn an_unknown_tag_is_refused_with_those_there_are() {
    let mut po = project("po");
    let writer = po.peer("writer");
    let said = |po: &mut World, to: &str| po.refuse(writer, sending(to, "x", None)).to_string();
    assert_eq!(said(&mut po, "wik:ann"), "no project has the tag `wik`: there are `wiki:`, `web:`");
    assert!(said(&mut po, "web:two words").contains("it is `TAG:NAME`"));
    let mut alone = World::new();
    let writer = alone.peer("writer");
    let refused = alone.refuse(writer, sending("web:ann", "x", None)).to_string();
    assert!(refused.contains("none is listed"), "{refused}");
    let listed = ListedProjects {
        own: None,
        tags: [(label("web"), mark("web"))].into(),
        ..ListedProjects::default()
    };
    join_with(&mut alone, "chief", listed);
    let refused = alone.refuse(writer, sending("web:ann", "x", None));
    assert_eq!(refused, Refusal::NoOwnTag);
}

#[test]
fn the_own_tag_means_this_project() {
    let mut po = project("po");
    let writer = po.peer("writer");
    po.peer("ann");
    let id = po.send(writer, "po:ann", "x");
    assert_eq!(po.unread("ann"), [id]);
    let to_all = po.ask(writer, sending("PO:*", "y", None));
    assert_eq!(sent(&to_all).audience.to_string(), "all");
}

#[test]
fn what_no_other_project_knows_does_not_cross() {
    let mut po = project("po");
    let writer = po.peer("writer");
    let file = Attachment {
        name: "a".into(),
        kind: None,
        mime_type: None,
        holds: Attached::File(AttachedFile { path: "a".into(), bytes: 1, sha256: String::new() }),
    };
    for more in [
        signal("handoff"),
        signal("TaskAssigned"),
        signal("announce_decision"),
        Envelope { ttl_seconds: Some(60), ..Envelope::default() },
        Envelope { queue: true, ..Envelope::default() },
        Envelope { mentions: vec![name("ann")], ..Envelope::default() },
        Envelope { attachments: vec![file], ..Envelope::default() },
    ] {
        let shown = format!("{more:?}");
        let refused = po.refuse(writer, sending_with("web:x", more, None));
        let is_right = matches!(refused, Refusal::DoesNotCross { .. } | Refusal::Shape(_));
        assert!(is_right, "{shown}: {refused}");
    }
    let ann = po.peer("ann");
    let request = po.open(ann);
    let refused = po.refuse(writer, sending("web:x", "done", Some(&request.to_string())));
    assert!(matches!(refused, Refusal::DoesNotCross { .. }), "{refused}");
    let shown = po.shown(&request);
    let refused = po.refuse(ann, sending("web:x", "done", Some(&shown.to_string())));
    assert!(matches!(refused, Refusal::DoesNotCross { .. }), "{refused}");
    let open = Operation::Open {
        description: text("x"),
        context: None,
        to: Some("web:x".into()),
        nudge_ms: 30_000,
        ttl_ms: 900_000,
        lease_ms: None,
        urgency: None,
    };
    assert!(matches!(po.refuse(writer, open), Refusal::OtherProject { .. }));
}

#[test]
fn who_is_not_there_ends_the_message_and_its_sender_is_told_who_is() {
    let mut po = project("po");
    let writer = po.peer("writer");
    let id = po.send(writer, "web:alise", "x");
    let (call, waiting) = po.wait_for_answer(&id);
    po.ask(writer, waiting);
    let why = NotRelayed::UnknownMember { there: vec![name("alice"), name("bob")] };
    let failed = Operation::Crossing(Crossing::Failed { id: id.clone(), why });
    let events = po.ask(courier(&po), failed.clone());
    assert_eq!(
        notices(&events, "writer"),
        [format!(
            "your message {id} to web:alise was not delivered: no member there has that name; there are alice, bob"
        )]
    );
    assert!(!po.state.waits(writer, call));
    assert!(po.state.outbox().is_empty());
    assert!(po.ask(courier(&po), failed).is_empty());
}

#[test]
fn a_message_that_cannot_be_delivered_yet_is_kept_and_its_sender_told_once_for_each_reason() {
    let mut po = project("po");
    let writer = po.peer("writer");
    let id = po.send(writer, "web:alice", "x");
    let held = |why| Operation::Crossing(Crossing::Held { id: id.clone(), why });
    let events = po.ask(courier(&po), held(HeldWhy::NoBus));
    assert_eq!(
        notices(&events, "writer"),
        [format!(
            "your message {id} to web:alice is kept, for 30 days at most, and delivered when it can be: there is no team in that project yet"
        )]
    );
    assert!(po.ask(courier(&po), held(HeldWhy::NoBus)).is_empty());
    assert_eq!(po.ask(courier(&po), held(HeldWhy::Newer)).len(), 2);
    assert_eq!(po.state.outbox().len(), 1);
    po.pass(wait_times::ABSENT_MAIL_MS);
    let events = po.due();
    assert_eq!(
        notices(&events, "writer"),
        [format!(
            "your message {id} to web:alice expired: for 30 days it could not be delivered there"
        )]
    );
    assert!(po.state.outbox().is_empty());
    assert_eq!(po.state.crossed(&id), None);
}

#[test]
fn the_outbox_of_one_sender_is_bounded() {
    let mut po = project("po");
    let writer = po.peer("writer");
    for number in 0..limits::QUEUED_OF_ONE {
        po.pass(5_000);
        po.send(writer, "web:alice", &number.to_string());
    }
    po.pass(5_000);
    let refused = po.refuse(writer, sending("web:alice", "one more", None));
    assert_eq!(
        refused.to_string(),
        "20 messages already wait for the way to another project or for somebody who fits, the limit of one \
         member: write again when some of them have arrived"
    );
}

#[test]
fn what_was_sent_a_moment_ago_is_not_sent_twice_even_if_it_is_there_already() {
    let (mut po, mut web) = (project("po"), project("web"));
    let writer = po.peer("writer");
    web.peer("alice");
    let limits = TeamLimits { messages_per_minute: 60, message_burst: 9, ..TeamLimits::default() };
    po.ask(courier(&po), Operation::Limit(limits));
    let id = po.send(writer, "web:alice", "x");
    let again = || sending("web:alice", "x", None);
    assert_eq!(po.refuse(writer, again()), Refusal::Double { id: id.clone() });
    carry(&mut po, "po", &mut web, 2);
    assert_eq!(po.refuse(writer, again()), Refusal::Double { id });
}

#[test]
fn a_message_to_all_there_reaches_the_live_ones_and_wakes_nobody() {
    let (mut po, mut web) = (project("po"), project("web"));
    let writer = po.peer("writer");
    let bob = web.peer("bob");
    web.peer("alice");
    web.leave(bob);
    let id = po.send(writer, "web:*", "x");
    assert_eq!(po.state.message(&id).unwrap().audience.to_string(), "web:*");
    let there = carry(&mut po, "po", &mut web, 2).unwrap();
    let shown = web.state.message(&there).unwrap();
    assert!(shown.quiet);
    assert_eq!(web.unread("alice"), from_ref(&there));
    assert_eq!(web.unread("courier"), [there]);
    assert_eq!(web.unread("bob"), []);
    // Any of them may answer.
    let alice = web.state.live(&name("alice")).unwrap().id;
    let first = web.unread("alice")[0].to_string();
    web.ask(alice, sending("po:writer", "here", Some(&first)));
    let back = carry(&mut web, "web", &mut po, 2).unwrap();
    let answer = po.state.message(&back).unwrap();
    assert!(po.state.is_answer(answer, &id));
}

#[test]
fn nobody_speaks_for_another_project_in_this_one() {
    let (mut po, mut web) = (project("po"), project("web"));
    let writer = po.peer("writer");
    let lead = courier(&web);
    let alice = web.peer("alice");
    let own = web.send(alice, "courier", "a secret thread");
    po.send(writer, "web:alice", "x");
    let message = po.state.outbox()[0].clone();
    let Crossing::Arrive(arriving) = arriving(&po, "po", &message) else { unreachable!() };
    // A member cannot let anything arrive.
    for by in [lead, alice] {
        let arrives = Operation::Crossing(Crossing::Arrive(arriving.clone()));
        assert_eq!(web.refuse(by, arrives), Refusal::NotYours);
    }
    // What it claims to answer must have gone there or come from there.
    let forged = Arriving { reply_to: Some(own), ..(*arriving).clone() };
    let events = web.ask(None, Operation::Crossing(Crossing::Arrive(Box::new(forged))));
    assert_eq!((&sent(&events).reply_to, &sent(&events).thread), (&None, &None));
    // Nor does it get receipts of a message that never went there.
    let (id, there) = (message.id.clone(), message.id);
    let receipts = Crossing::Receipts { from: label("po"), id, there, receipts: Vec::new() };
    assert!(web.try_ask(None, Operation::Crossing(receipts)).is_err());
    // An agent takes nothing across: it has no configuration of the user.
    let agent = po.agent(courier(&po), "codex");
    let id = po.state.outbox()[0].id.clone();
    let held = Operation::Crossing(Crossing::Held { id, why: HeldWhy::NoBus });
    assert_eq!(po.refuse(agent, held), Refusal::NotYours);
    let unknown = po.refuse(writer, sending("web:alice", "y", Some("msg-aaaaaaab")));
    assert!(matches!(unknown, Refusal::UnknownMessage { .. }), "{unknown}");
}

#[test]
fn what_is_remembered_of_other_projects_is_bounded() {
    let (mut po, mut web) = (project("po"), project("web"));
    let writer = po.peer("writer");
    let alice = web.peer("alice");
    for number in 0..limits::KEPT_CROSSED + 10 {
        po.pass(5_000);
        po.send(writer, "web:alice", &number.to_string());
        carry(&mut po, "po", &mut web, 2);
        let (call, _) = web.take(alice);
        web.settle(alice, call, true);
    }
    assert_eq!(po.state.other_projects().crossed.len(), limits::KEPT_CROSSED);
    assert_eq!(web.state.other_projects().arrived.len(), limits::KEPT_ARRIVED);
}

#[test]
fn the_person_at_the_command_line_is_shown_the_way() {
    let mut po = project("po");
    let send = HumanWish::Send {
        to: "web:alice".into(),
        body: text("x"),
        priority: None,
        reply_to: None,
        signal: None,
    };
    let refused = po.try_ask(None, Operation::ByHuman(send)).unwrap_err();
    assert!(matches!(refused, Refusal::PersonElsewhere { .. }), "{refused}");
}
