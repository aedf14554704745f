//! A member's calls on a bus in memory: waits, texts, and notices of tasks that ended while it was away.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::join_all;

use super::*;
use crate::bus::api::test_members::start;
use crate::bus::event::{Envelope, TaskReport};
use crate::bus::rules::{Description, Ending, NameChoice, NewTask};
use crate::bus::storage::in_memory::Store;
use crate::bus::{Bus, Joining};
use crate::domain::limits::{self, TeamLimits};
use crate::domain::member::{Departure, Label, MemberKind};
use crate::domain::messaging::Priority;
use crate::domain::task::TaskStatus;
use crate::domain::wait_times;
use crate::sys::clock;

#[tokio::test]
async fn a_broadcast_reaches_each_of_very_many_waiting_members() {
    let store = Store::new(Arc::new(clock::now));
    let bus = Bus::open(Box::new(store.log())).unwrap();
    let mut memberships = Vec::new();
    for number in 0..=limits::DELIVERED_AT_ONCE + 20 {
        memberships.push(bus.join_peer(&format!("m{number}")).await);
    }
    let lead = memberships.pop().unwrap();
    let waiting = |membership: &Membership| {
        let mut call = membership.call();
        async move { call.wait(WaitFor::default(), Duration::from_mins(2)).await }
    };
    let sending = async {
        let mut changes = bus.changes();
        let all_wait = || {
            bus.look(|state| {
                let waiting = |membership: &Membership| {
                    let session = state.session(membership.session());
                    session.is_some_and(|session| !session.waits.is_empty())
                };
                memberships.iter().all(waiting)
            })
        };
        while !all_wait() {
            changes.changed().await.unwrap();
        }
        lead.call().broadcast("all of you".into()).await.unwrap();
    };
    let (answers, ()) = tokio::join!(join_all(memberships.iter().map(waiting)), sending);
    let has_message = |answer: &Result<Waited, BusError>| matches!(answer, Ok(Waited::Message(_)));
    assert!(answers.iter().all(has_message));
    bus.close().await;
}

#[tokio::test]
async fn a_repeated_broadcast_is_the_first_one_and_reaches_who_has_joined_since() {
    let store = Store::new(Arc::new(clock::now));
    let bus = Bus::open(Box::new(store.log())).unwrap();
    let choice = NameChoice::Chosen(Name::parse("boss").unwrap());
    let (kind, roles, description) = (MemberKind::Orchestrator, Vec::new(), Description::default());
    let lead = Membership::join(&bus, Joining { choice, kind, roles, description }).await.unwrap();
    let _bob = bus.join_peer("bob").await;
    let limits = TeamLimits { messages_per_minute: 60, ..TeamLimits::default() };
    lead.ask(Operation::Limit(limits)).await.unwrap();
    let first = lead.call().broadcast("hello".into()).await.unwrap().unwrap();
    assert!(!first.is_double);
    let cay = bus.join_peer("cay").await;
    let again = lead.call().broadcast("hello".into()).await.unwrap().unwrap();
    let recipients: Vec<_> = again.recipients.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((again.id, again.is_double, &recipients[..]), (first.id, true, &["bob", "cay"][..]));
    assert_eq!(bus.look(|state| state.unread(cay.name()).count()), 1);
    let third = lead.call().broadcast("hello".into()).await.unwrap().unwrap();
    assert!(third.is_double && third.recipients.len() == 2);
    bus.close().await;
}

#[tokio::test]
async fn a_message_requeued_at_its_deadline_was_in_no_turn() {
    let late = Arc::new(AtomicU64::new(0));
    let added = Arc::clone(&late);
    let store = Store::new(Arc::new(move || {
        let mut now = clock::now();
        now.tick.ms += added.load(Ordering::Relaxed);
        now
    }));
    let bus = Bus::open(Box::new(store.log())).unwrap();
    let (ann, bob) = (bus.join_peer("ann").await, bus.join_peer("bob").await);
    let mut send = ann.call();
    send.send("bob".into(), "hello".into(), None).await.unwrap();
    let (mut unproven, no_time) = (bob.call(), Duration::ZERO);
    let received = unproven.wait(WaitFor::default(), no_time).await.unwrap();
    assert!(matches!(received, Waited::Message(_)));
    late.store(wait_times::HANDED_MS, Ordering::Relaxed);
    let again = bob.call().wait(WaitFor::default(), no_time).await.unwrap();
    assert!(matches!(again, Waited::Message(_)), "{again:?}");
    bus.close().await;
}

#[tokio::test]
async fn a_text_of_spaces_is_empty_at_any_length() {
    let store = Store::new(Arc::new(clock::now));
    let bus = Bus::open(Box::new(store.log())).unwrap();
    let (ann, _bob) = (bus.join_peer("ann").await, bus.join_peer("bob").await);
    let spaces = || " ".repeat(limits::INLINE_BYTES + 1);
    let mut call = ann.call();
    let is_empty = |error: BusError| matches!(error, BusError::Refused(Refusal::Empty { .. }));
    let sent = call.send("bob".into(), spaces(), None).await;
    assert!(is_empty(sent.unwrap_err()));
    let sent = call.broadcast(spaces()).await;
    assert!(is_empty(sent.unwrap_err()));
    let (nudge, ttl) = (Duration::from_secs(1), Duration::from_secs(2));
    let opened = call.open_request(spaces(), None, nudge, ttl).await;
    assert!(is_empty(opened.unwrap_err()));
    let why = Some(spaces());
    let opened = call.open_request("do it".into(), why, nudge, ttl).await;
    assert!(is_empty(opened.unwrap_err()));
    bus.close().await;
}

#[tokio::test]
async fn an_orchestrator_gets_one_summary_of_very_many_tasks_that_ended_while_it_was_away() {
    let store = Store::new(Arc::new(clock::now));
    let bus = Bus::open(Box::new(store.log())).unwrap();
    let lead = || async {
        let choice = NameChoice::Chosen(Name::parse("boss").unwrap());
        let (kind, roles) = (MemberKind::Orchestrator, Vec::new());
        let joined = Membership::join(
            &bus,
            Joining { choice, kind, roles, description: Description::default() },
        )
        .await;
        joined.unwrap()
    };
    let first = lead().await;
    let agent = start(&first, "secret").await;
    for _ in 0..limits::EVENTS_AT_ONCE + 50 {
        let task = NewTask::of(Bus::body("work".into()));
        let assign = Operation::Assign { session: agent, task };
        let assigned = first.ask(assign).await.unwrap();
        let task = assigned.events.iter().find_map(|event| match event {
            Event::TaskAssigned(assigned) => Some(assigned.id.clone()),
            _ => None,
        });
        let task = task.unwrap();
        first.ask(Operation::StartTask(task.clone())).await.unwrap();
        let done = Ending {
            status: TaskStatus::Done,
            output: Bus::body("fine".into()),
            stop_reason: None,
            error: None,
            report: TaskReport::default(),
        };
        let finish = Operation::FinishTask(task, Box::new(done));
        first.ask(finish).await.unwrap();
    }
    first.leave(Departure::Closed).await.unwrap();
    let next = lead().await;
    let notices = bus.look(|state| state.unread(next.name()).count());
    assert_eq!(notices, 1, "the last append merges the notices of those before it");
    bus.close().await;
}

#[tokio::test]
async fn a_call_that_writes_nothing_counts_as_activity_at_most_every_half_minute() {
    let late = Arc::new(AtomicU64::new(0));
    let added = Arc::clone(&late);
    let store = Store::new(Arc::new(move || {
        let mut now = clock::now();
        let late_ms = added.load(Ordering::Relaxed);
        now.tick.ms += late_ms;
        now.wall_ms += i64::try_from(late_ms).unwrap();
        now
    }));
    let bus = Bus::open(Box::new(store.log())).unwrap();
    let ann = bus.join_peer("ann").await;
    let last_ms = || bus.look(|state| state.session(ann.session()).unwrap().last_ms);
    let changes = || *bus.changes().borrow();

    let (joined_ms, before) = (last_ms(), changes());
    ann.call().answered().await;
    assert_eq!((last_ms(), changes()), (joined_ms, before), "it has just joined");
    late.store(31_000, Ordering::Relaxed);
    ann.call().answered().await;
    let stirred_ms = last_ms();
    assert!(stirred_ms >= joined_ms + 31_000);
    let before = changes();
    ann.call().answered().await;
    assert_eq!((last_ms(), changes()), (stirred_ms, before), "once is enough for a while");

    let ben = bus.join_peer("ben").await;
    let (hour, lease) = (Duration::from_hours(1), Duration::from_secs(12));
    let mut asks = ben.call();
    let texts = ("do it".into(), None);
    let id = asks.open_request_to(None, texts, (hour, hour, Some(lease)), None).await.unwrap().id;
    asks.answered().await;
    let mut claims = ann.call();
    claims.claim(id).await.unwrap();
    claims.answered().await;
    let claimed_ms = last_ms();
    late.fetch_add(4_000, Ordering::Relaxed);
    ann.call().answered().await;
    assert!(last_ms() > claimed_ms, "a third of the lease of its claim is over");
    bus.close().await;
}

#[tokio::test]
async fn a_circle_with_a_member_whose_process_was_killed_is_none() {
    let store = Store::new(Arc::new(clock::now));
    let (bus, other) =
        (Bus::open(Box::new(store.log())).unwrap(), Bus::open(Box::new(store.log())).unwrap());
    let (ann, bob) = (bus.join_peer("ann").await, other.join_peer("bob").await);
    let wait = Operation::Wait {
        call: random_ids::call(),
        from: Some(Name::parse("ann").unwrap()),
        request: None,
        reply_to: None,
        timeout_ms: 600_000,
    };
    bob.ask(wait).await.unwrap();
    let from_bob = || WaitFor { from: Some(bob.name().clone()), ..WaitFor::default() };
    let moment = Duration::from_millis(1);
    let circle = ann.call().wait(from_bob(), moment).await.unwrap_err();
    assert!(matches!(circle, BusError::Refused(Refusal::Circle { .. })), "{circle}");
    // Its process is gone, and nobody has noticed.
    other.release(bob.session());
    let waited = ann.call().wait(from_bob(), moment).await.unwrap();
    assert_eq!(waited, Waited::TimedOut);
    assert!(bus.look(|state| state.session(bob.session()).is_none()), "its death is on record");
    bus.close().await;
    other.close().await;
}

/// From the queue to one who fits, to another one, and back to the first.
#[tokio::test]
async fn what_comes_back_after_another_member_had_it_is_marked_again() {
    for by_wait in [false, true] {
        let store = Store::new(Arc::new(clock::now));
        let bus = Bus::open(Box::new(store.log())).unwrap();
        let ann = bus.join_peer("ann").await;
        let more = Envelope { queue: true, ..Envelope::default() };
        let message = Outgoing {
            to: "@storage".to_owned(),
            content: "Is it full?".to_owned(),
            reply_to: None,
            priority: Priority::Normal,
            more: Some(Box::new(more)),
        };
        ann.call().send_out(message).await.unwrap();
        for (name, expected) in [("bob", false), ("cay", false), ("bob", true), ("cay", true)] {
            let member = bus.join_peer(name).await;
            member.call().claim_lane(Label::parse("storage").unwrap()).await.unwrap();
            bus.submit(None, Vec::new(), Operation::Due).await.unwrap();
            let mut call = member.call();
            let got = if by_wait {
                let waited = call.wait(WaitFor::default(), wait_times::ERRAND).await.unwrap();
                let Waited::Message(got) = waited else { panic!("{waited:?}") };
                *got
            } else {
                let pick = Pick::any(1, usize::MAX, usize::MAX);
                call.receive(DeliveryMethod::Pull, pick).await.unwrap().remove(0)
            };
            assert_eq!((got.text.as_str(), got.is_again), ("Is it full?", expected), "{name}");
            member.leave(Departure::Closed).await.unwrap();
        }
        bus.close().await;
    }
}
