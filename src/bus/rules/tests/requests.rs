//! Requests: offered to all, claimed by one, reopened when the owner dies.

use std::slice::from_ref;

use super::*;
use crate::domain::limits;
use crate::domain::messaging::RequestStatus;

#[track_caller]
fn check_status(world: &World, id: &RequestId, expected: RequestStatus) {
    assert_eq!(world.state.request(id).unwrap().status, expected);
}

#[test]
fn a_request_is_shown_to_every_other_live_member_and_to_members_that_join_later() {
    let mut world = World::new();
    let (a, _b, absent) = (world.peer("a"), world.peer("b"), world.peer("absent"));
    world.leave(absent);
    let id = world.open(a);
    let shown = world.shown(&id);
    assert_eq!(world.unread("b"), from_ref(&shown));
    assert!(world.unread("a").is_empty());
    assert!(world.unread("absent").is_empty());
    world.peer("late");
    world.peer("absent");
    assert_eq!(world.unread("late"), from_ref(&shown));
    assert_eq!(world.unread("absent"), from_ref(&shown));
    let lead = world.lead();
    world.agent(lead, "codex");
    assert_eq!(world.unread("codex"), [shown]);
}

#[test]
fn a_claimed_request_is_not_shown_to_members_that_join_later() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.open(a);
    world.ask(b, Operation::Claim(id, CALL));
    world.peer("late");
    assert!(world.unread("late").is_empty());
}

#[test]
fn a_claim_notifies_the_requester_in_the_same_append() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.open(a);
    let events = world.ask(b, Operation::Claim(id.clone(), CALL));
    assert!(matches!(&events[0], Event::RequestClaimed { session, .. } if *session == b));
    let sent = sent(&events);
    assert_eq!(sent.kind, MessageKind::Response);
    assert_eq!((said(sent).as_str(), sent.to.named()), ("claimed by b", [name("a")].as_slice()));
    assert_eq!((sent.claimed_by.clone(), sent.request.clone()), (Some(name("b")), Some(id)));
}

#[test]
fn a_request_has_one_owner() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let id = world.open(a);
    assert_eq!(
        world.refuse(a, Operation::Claim(id.clone(), CALL)),
        Refusal::OwnRequest { id: id.clone() }
    );
    world.ask(b, Operation::Claim(id.clone(), CALL));
    assert!(world.ask(b, Operation::Claim(id.clone(), CALL)).is_empty(), "again by its owner");
    let lost = world.refuse(c, Operation::Claim(id.clone(), CALL));
    assert_eq!(
        lost,
        Refusal::ClaimLost { id, status: RequestStatus::Claimed, by: Some(name("b")) }
    );
    let unknown = RequestId::from_bits(77);
    assert_eq!(
        world.refuse(c, Operation::Claim(unknown.clone(), CALL)),
        Refusal::UnknownRequest { id: unknown }
    );
}

#[test]
fn a_claim_withdraws_the_request_where_it_is_unread() {
    let mut world = World::new();
    let (a, b, c, _d) = (world.peer("a"), world.peer("b"), world.peer("c"), world.peer("d"));
    let id = world.open(a);
    let shown = world.shown(&id);
    let (call, _) = world.take(c);
    world.ask(b, Operation::Claim(id, CALL));
    assert!(matches!(world.delivery(&shown, "c"), Some(Delivery::InFlight { .. })));
    assert_eq!(world.delivery(&shown, "d"), Some(Delivery::Superseded));
    world.settle(c, call, false);
    assert!(
        world.unread("c").is_empty(),
        "a requeued request is withdrawn while another member has claimed it"
    );
}

#[test]
fn a_claimed_request_in_flight_to_a_dead_session_does_not_wait_for_its_return() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let id = world.open(a);
    world.take(c);
    world.ask(b, Operation::Claim(id, CALL));
    world.reap(&[c]);
    assert!(world.unread("c").is_empty());
}

#[test]
fn only_the_owners_answer_to_the_requester_completes_a_request() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let id = world.open(a);
    let shown = world.shown(&id);
    world.ask(b, Operation::Claim(id.clone(), CALL));
    let aside = world.reply(c, "a", &id.to_string());
    assert_eq!((aside.kind, aside.request), (MessageKind::Message, None));
    world.reply(b, "c", &id.to_string());
    check_status(&world, &id, RequestStatus::Claimed);
    let answer = world.reply(b, "a", &shown.to_string());
    assert_eq!(answer.kind, MessageKind::Response, "its message stands for it");
    assert_eq!((answer.request, answer.thread), (Some(id.clone()), Some(shown)));
    check_status(&world, &id, RequestStatus::Completed);
    assert!(matches!(
        world.refuse(c, Operation::Claim(id.clone(), CALL)),
        Refusal::ClaimLost { status: RequestStatus::Completed, .. }
    ));
    assert!(
        matches!(world.refuse(b, Operation::Claim(id, CALL)), Refusal::ClaimLost { .. }),
        "closed for its owner too"
    );
}

#[test]
fn an_answer_without_a_claim_changes_no_state() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.open(a);
    world.reply(b, "a", &id.to_string());
    check_status(&world, &id, RequestStatus::Open);
}

#[test]
fn an_unclaimed_request_is_nudged_once_and_stays_open() {
    let mut world = World::new();
    let (a, _b) = (world.peer("a"), world.peer("b"));
    let id = world.open(a);
    world.pass(29_999);
    assert!(world.due().is_empty());
    world.pass(1);
    let events = world.due();
    let nudge = sent(&events);
    assert_eq!((nudge.kind, nudge.to.named()), (MessageKind::Nudge, [name("b")].as_slice()));
    assert_eq!(notices(&events, "a").len(), 1);
    check_status(&world, &id, RequestStatus::Open);
    world.pass(30_000);
    assert!(world.due().is_empty());
}

#[test]
fn an_unclaimed_request_expires_and_the_requester_is_notified() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.open(a);
    world.pass(900_000);
    let events = world.due();
    check_status(&world, &id, RequestStatus::Expired);
    assert!(notices(&events, "a").iter().any(|text| text.contains("expired")));
    assert_eq!(world.delivery(&world.shown(&id), "b"), Some(Delivery::Superseded));
    assert!(matches!(world.refuse(b, Operation::Claim(id, CALL)), Refusal::ClaimLost { .. }));
}

#[test]
fn overdue_work_is_decided_before_the_operation() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.open(a);
    world.pass(900_000);
    let refusal = world.refuse(b, Operation::Claim(id, CALL));
    assert!(matches!(refusal, Refusal::ClaimLost { status: RequestStatus::Expired, by: None, .. }));
}

#[test]
fn only_open_time_counts() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.open(a);
    world.pass(20_000);
    world.ask(b, Operation::Claim(id.clone(), CALL));
    world.pass(10_000_000);
    assert!(world.due().is_empty(), "a claimed request has no deadline");
    world.reap(&[b]);
    check_status(&world, &id, RequestStatus::Open);
    world.pass(9_999);
    assert!(world.due().is_empty());
    world.pass(1);
    assert!(matches!(world.due()[0], Event::RequestNudged { .. }));
    world.pass(869_999);
    assert!(world.due().is_empty());
    world.pass(1);
    assert!(matches!(world.due()[0], Event::RequestExpired { .. }));
}

#[test]
fn the_owners_death_reopens_the_request_where_it_was_withdrawn() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let id = world.open(a);
    let shown = world.shown(&id);
    world.ask(b, Operation::Claim(id.clone(), CALL));
    let fence = world.state.request(&id).unwrap().owner.clone().unwrap().fence;
    let events = world.reap(&[b]);
    check_status(&world, &id, RequestStatus::Open);
    assert!(world.unread("c").contains(&shown));
    assert_eq!(notices(&events, "a").len(), 1);
    assert!(world.kinds("c").contains(&MessageKind::Nudge));
    world.ask(c, Operation::Claim(id.clone(), CALL));
    let owner = world.state.request(&id).unwrap().owner.clone().unwrap();
    assert_eq!((owner.by, owner.fence > fence), (name("c"), true));
}

#[test]
fn a_reopened_request_is_delivered_to_a_wait() {
    let mut world = World::new();
    let (a, b, c) = (world.peer("a"), world.peer("b"), world.peer("c"));
    let id = world.open(a);
    world.ask(b, Operation::Claim(id.clone(), CALL));
    let call = world.wait_for(c, None, Some(&id));
    world.reap(&[b]);
    assert_eq!(world.held(c, call), [world.shown(&id)]);
}

#[test]
fn the_return_of_an_owner_does_not_bring_its_claim_back() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.open(a);
    world.ask(b, Operation::Claim(id.clone(), CALL));
    let new = world.joining(NameChoice::Chosen(name("b")), MemberKind::Peer, &[b]);
    world.ask(None, Operation::Join(Box::new(new)));
    check_status(&world, &id, RequestStatus::Open);
    assert!(world.unread("b").contains(&world.shown(&id)), "it may claim again");
}

#[test]
fn the_open_requests_of_a_generated_name_end_with_it() {
    let mut world = World::new();
    let (lead, b) = (world.lead(), world.peer("b"));
    let agent = world.agent(lead, "codex");
    let (open, claimed) = (world.open(agent), world.open(agent));
    world.ask(b, Operation::Claim(claimed.clone(), CALL));
    let events = world.leave(agent);
    check_status(&world, &open, RequestStatus::Expired);
    check_status(&world, &claimed, RequestStatus::Expired);
    assert_eq!(notices(&events, "b").len(), 1, "the owner need not continue");
    assert!(world.unread("b").is_empty() || world.kinds("b") == [MessageKind::Notice]);
}

#[test]
fn a_request_of_a_chosen_name_outlives_its_session() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.open(a);
    world.leave(a);
    world.ask(b, Operation::Claim(id.clone(), CALL));
    world.reply(b, "a", &id.to_string());
    check_status(&world, &id, RequestStatus::Completed);
    assert_eq!(world.kinds("a"), [MessageKind::Response, MessageKind::Response]);
}

#[test]
fn the_message_of_an_open_request_stays_however_many_others_end() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.open(a);
    let (call, _) = world.take(b);
    world.settle(b, call, true);
    for _ in 0..=limits::KEPT_ENDED {
        world.send(a, "b", "x");
        let (call, _) = world.take(b);
        world.settle(b, call, true);
    }
    world.peer("late");
    assert_eq!(world.unread("late"), [world.shown(&id)]);
}

#[test]
fn the_death_of_an_owner_of_very_many_claims_fits_into_a_line() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    for number in 0..15 {
        world.peer(&format!("member-of-a-team-{number}"));
    }
    for _ in 0..1_000 {
        let id = world.open(a);
        world.ask(b, Operation::Claim(id, CALL));
    }
    let events = world.reap(&[b]);
    let line = crate::bus::storage::file::line_format::encode(&Entry {
        seq: 1,
        ts: 0,
        tick: world.now.tick,
        id: CommandId(Uuid::nil()),
        by: None,
        events,
    });
    assert!(line.len() < crate::bus::storage::file::line_format::MAX_LINE_BYTES, "{}", line.len());
}

#[test]
fn a_reopened_request_is_shown_to_members_that_joined_while_it_was_claimed() {
    let mut world = World::new();
    let (a, b) = (world.peer("a"), world.peer("b"));
    let id = world.open(a);
    world.ask(b, Operation::Claim(id.clone(), CALL));
    world.peer("late");
    world.reap(&[b]);
    assert!(world.unread("late").contains(&world.shown(&id)));
}

#[test]
fn only_the_owner_of_a_request_answers_it() {
    let mut world = World::new();
    let (asker, owner, shown) = (world.peer("asker"), world.peer("owner"), world.peer("shown"));
    let request = world.open(asker);
    world.ask(owner, Operation::Claim(request.clone(), CALL));
    // It joins later, and knows the id from the list of members.
    let stranger = world.peer("stranger");
    let (call, _) = world.take(asker);
    world.settle(asker, call, true);
    let waits = world.wait_for(asker, None, Some(&request));

    let reply = sending("asker", "done", Some(&request.to_string()));
    let unknown = Refusal::UnknownRequest { id: request.clone() };
    assert_eq!(world.refuse(stranger, reply), unknown);
    let said = world.reply(shown, "asker", &request.to_string());
    assert_eq!((said.kind, said.request, said.thread), {
        let message = world.shown(&request);
        (MessageKind::Message, None, Some(message))
    });
    let message = world.shown(&request).to_string();
    let said = world.reply(shown, "asker", &message);
    assert_eq!((said.kind, said.request), (MessageKind::Message, None));
    assert!(world.held(asker, waits).is_empty(), "it waits on");

    let answer = world.reply(owner, "asker", &request.to_string());
    assert_eq!((answer.kind, answer.request), (MessageKind::Response, Some(request)));
    assert_eq!(world.held(asker, waits), [answer.id]);
}

#[test]
fn who_may_claim_a_request_may_write_about_it_and_its_requester_writes_to_its_owner() {
    let mut world = World::new();
    let asker = world.peer("asker");
    let request = world.open(asker);
    let newcomer = world.peer("newcomer");
    let said = world.reply(newcomer, "asker", &request.to_string());
    assert_eq!((said.kind, said.request), (MessageKind::Message, None));
    world.ask(newcomer, Operation::Claim(request.clone(), CALL));
    let told = world.reply(asker, "newcomer", &request.to_string());
    assert_eq!((told.kind, told.request), (MessageKind::Response, Some(request)));
}
