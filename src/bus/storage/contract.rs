//! The contract of every log: one test suite for all engines.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use uuid::Uuid;

use super::{Appended, Log, LogError, LogPosition, Presence, Proposal, Replica, Standing, Verdict};
use crate::bus::event::{Event, Joined, MessageSent};
use crate::domain::ids::{CommandId, MessageId, SessionId, TaskId};
use crate::domain::member::MemberKind;
use crate::domain::messaging::Audience;
use crate::domain::name::Name;

/// The deadline of a wait in a test. A working log ends it much earlier.
pub(crate) const GENEROUS: Duration = Duration::from_secs(20);

pub(crate) fn session(number: u128) -> SessionId {
    SessionId(Uuid::from_u128(number))
}

pub(crate) fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

pub(crate) fn joined(number: u128) -> Event {
    Event::MemberJoined(Joined {
        session: session(number),
        name: name(&format!("member-{number}")),
        chosen: true,
        kind: MemberKind::Peer,
        model: None,
        roles: Vec::new(),
        pid: 1,
        client: None,
    })
}

pub(crate) fn sent(number: u64, text: &str) -> Event {
    let (from, to) = (name("member-1"), name("member-2"));
    Event::MessageSent(MessageSent {
        to: vec![to.clone()].into(),
        ..MessageSent::plain(MessageId::from_bits(number), from, Audience::One(to), text)
    })
}

/// Says whether a replica has the message that [`sent`] makes of this number.
pub(crate) fn knows(replica: &Replica, number: u64) -> bool {
    replica.state.message(&MessageId::from_bits(number)).is_some()
}

pub(crate) fn proposal(events: Vec<Event>) -> Proposal {
    Proposal { id: CommandId(Uuid::new_v4()), by: Some(session(1)), events }
}

/// Appends events unconditionally.
pub(crate) fn append(
    log: &mut dyn Log,
    replica: &mut Replica,
    events: Vec<Event>,
) -> Result<u64, LogError> {
    let proposal = proposal(events);
    loop {
        match log.append(replica, &mut |_, _| Verdict::Append(proposal.clone()))? {
            Appended::Written(entry) => return Ok(entry.seq),
            Appended::Contended => log.turn().wait()?,
            other => panic!("{other:?}"),
        }
    }
}

/// Runs the whole suite. `make` opens the same log anew at each call, as another process would.
pub(crate) fn contract(make: &dyn Fn() -> Box<dyn Log>) {
    an_empty_log_opens_empty(make);
    each_process_reads_the_entries_of_the_other(make);
    a_refusal_and_nothing_write_nothing(make);
    a_decision_is_repeated_after_a_lost_race(make);
    an_append_is_whole_and_seqs_continue(make);
    entries_and_events_are_read_again(make);
    an_entry_too_long_is_refused(make);
    a_text_is_kept(make);
    a_transcript_is_kept(make);
    a_presence_is_held_until_it_is_dropped(make);
    a_heartbeat_moves_with_each_beat_and_ends_with_the_presence(make);
    clearing_leaves_held_and_fresh_presences(make);
    a_wakeup_reaches_only_the_sessions_concerned(make);
    a_reopened_log_has_the_same_state(make);
}

fn an_empty_log_opens_empty(make: &dyn Fn() -> Box<dyn Log>) {
    let mut log = make();
    let replica = log.open().unwrap();
    assert_eq!(replica.state, crate::bus::state::State::default());
    assert_eq!(log.oldest().unwrap(), LogPosition::default());
    let (entries, _) = log.read_after(LogPosition::default(), 10).unwrap();
    assert!(entries.is_empty());
}

fn each_process_reads_the_entries_of_the_other(make: &dyn Fn() -> Box<dyn Log>) {
    let (mut one, mut other) = (make(), make());
    let (mut mine, mut theirs) = (one.open().unwrap(), other.open().unwrap());
    append(&mut *one, &mut mine, vec![joined(1)]).unwrap();
    append(&mut *other, &mut theirs, vec![joined(2)]).unwrap();
    append(&mut *one, &mut mine, vec![sent(1, "hello")]).unwrap();
    one.durability().sync().unwrap();
    other.durability().sync().unwrap();
    other.catch_up(&mut theirs).unwrap();
    one.catch_up(&mut mine).unwrap();
    assert_eq!(mine.state, theirs.state);
    assert_eq!(mine.place, theirs.place);
    assert_eq!(mine.next_seq, theirs.next_seq);
    assert!(mine.state.message(&MessageId::from_bits(1)).is_some());
}

fn a_refusal_and_nothing_write_nothing(make: &dyn Fn() -> Box<dyn Log>) {
    let mut log = make();
    let mut replica = log.open().unwrap();
    let before = (replica.place, replica.next_seq);
    let refused = log.append(&mut replica, &mut |_, _| Verdict::Refused);
    assert!(matches!(refused, Ok(Appended::Refused)));
    let nothing = log.append(&mut replica, &mut |_, _| Verdict::Nothing);
    assert!(matches!(nothing, Ok(Appended::Nothing)));
    let mut other = make();
    let theirs = other.open().unwrap();
    assert_eq!((theirs.place, theirs.next_seq), before);
}

/// Another process appends between the decision and the lock. The loser decides again, on the new state.
fn a_decision_is_repeated_after_a_lost_race(make: &dyn Fn() -> Box<dyn Log>) {
    let (mut one, mut other) = (make(), make());
    let (mut mine, mut theirs) = (one.open().unwrap(), other.open().unwrap());
    let mut decisions = 0;
    let outcome = one
        .append(&mut mine, &mut |replica, _| {
            decisions += 1;
            if replica.state.session(session(3)).is_some() {
                return Verdict::Refused;
            }
            append(&mut *other, &mut theirs, vec![joined(3)]).unwrap();
            Verdict::Append(proposal(vec![joined(3)]))
        })
        .unwrap();
    assert!(matches!(outcome, Appended::Refused));
    assert_eq!(decisions, 2);
    assert_eq!(mine.place, theirs.place);
}

fn an_append_is_whole_and_seqs_continue(make: &dyn Fn() -> Box<dyn Log>) {
    let (mut one, mut other) = (make(), make());
    let (mut mine, mut theirs) = (one.open().unwrap(), other.open().unwrap());
    let mut expected = mine.next_seq.max(1);
    for round in 0..20 {
        let events = vec![sent(100 + 2 * round, "a"), sent(101 + 2 * round, "b")];
        let seq = if round % 3 == 0 {
            append(&mut *one, &mut mine, events)
        } else {
            append(&mut *other, &mut theirs, events)
        };
        assert_eq!(seq.unwrap(), expected);
        expected += 2;
    }
}

fn entries_and_events_are_read_again(make: &dyn Fn() -> Box<dyn Log>) {
    let mut log = make();
    let mut replica = log.open().unwrap();
    let before = replica.place;
    append(&mut *log, &mut replica, vec![sent(200, "first"), sent(201, "second")]).unwrap();
    append(&mut *log, &mut replica, vec![sent(202, "third")]).unwrap();
    let (entries, next) = log.read_after(before, 1).unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].1.events[0], sent(200, "first"));
    let place = entries[0].0;
    assert_eq!(log.event_at(place, 1).unwrap(), sent(201, "second"));
    assert!(matches!(log.event_at(place, 2), Err(LogError::Gone)));
    let (entries, next) = log.read_after(next, 10).unwrap();
    assert_eq!(entries[0].1.events, [sent(202, "third")]);
    assert_eq!(next, replica.place);
    let header = replica.state.message(&MessageId::from_bits(202)).unwrap();
    let body = log.event_at(header.body.place, header.body.index).unwrap();
    assert_eq!(body, sent(202, "third"));
    let all = log.read_after(LogPosition::default(), usize::MAX).unwrap().0;
    let oldest = log.oldest().unwrap();
    assert_eq!(all[0].0, oldest);
    assert!(all.windows(2).all(|two| two[0].1.next_seq() <= two[1].1.seq));
}

fn an_entry_too_long_is_refused(make: &dyn Fn() -> Box<dyn Log>) {
    let mut log = make();
    let mut replica = log.open().unwrap();
    let before = replica.place;
    let text = "x".repeat(super::file::line_format::MAX_LINE_BYTES);
    let outcome = append(&mut *log, &mut replica, vec![sent(300, &text)]);
    assert!(matches!(outcome, Err(LogError::TooLong { .. })));
    assert_eq!(replica.place, before);
    append(&mut *log, &mut replica, vec![sent(301, "short")]).unwrap();
}

fn a_text_is_kept(make: &dyn Fn() -> Box<dyn Log>) {
    let id = Uuid::new_v4();
    let mut log = make();
    assert!(matches!(log.get_blob(id), Err(LogError::Gone)));
    log.durability().put_blob(id, "a long text\n").unwrap();
    log.durability().put_blob(id, "a long text\n").unwrap();
    assert_eq!(make().get_blob(id).unwrap(), "a long text\n");
    log.put_view("[]").unwrap();
    log.put_view("[1]").unwrap();
}

fn a_transcript_is_kept(make: &dyn Fn() -> Box<dyn Log>) {
    let task = TaskId::from_bits(1);
    let mut log = make();
    let read = make().durability();
    assert!(matches!(read.read_transcript(&task), Err(LogError::Gone)));
    log.transcript(&task, "{\"said\":1}").unwrap();
    make().transcript(&task, "{\"said\":2}\n").unwrap();
    assert_eq!(read.read_transcript(&task).unwrap(), "{\"said\":1}\n{\"said\":2}\n");
}

fn a_presence_is_held_until_it_is_dropped(make: &dyn Fn() -> Box<dyn Log>) {
    let (mut one, mut other) = (make(), make());
    assert_eq!(other.held(session(10)), Presence::Free);
    let hold = one.hold(session(10)).unwrap();
    assert!(one.hold(session(10)).is_err());
    hold.beat();
    assert_eq!(other.held(session(10)), Presence::Held);
    assert_eq!(one.held(session(10)), Presence::Held);
    drop(hold);
    assert_eq!(other.held(session(10)), Presence::Free);
    let hold = one.hold(session(11)).unwrap();
    hold.remove();
    assert_eq!(other.held(session(11)), Presence::Free);
}

fn a_heartbeat_moves_with_each_beat_and_ends_with_the_presence(make: &dyn Fn() -> Box<dyn Log>) {
    let (mut one, mut other) = (make(), make());
    assert_eq!(other.heartbeat(session(12)), None);
    let hold = one.hold(session(12)).unwrap();
    let mut before = other.heartbeat(session(12)).unwrap();
    assert_eq!(other.heartbeat(session(12)), Some(before), "it stands still");
    for _ in 0..3 {
        // File times advance in steps of some milliseconds, so several beats may share one.
        let began = std::time::Instant::now();
        let moved = loop {
            hold.beat();
            let now = other.heartbeat(session(12)).unwrap();
            if now != before {
                break now;
            }
            assert!(began.elapsed() < GENEROUS);
            std::thread::yield_now();
        };
        before = moved;
    }
    hold.remove();
    assert_eq!(other.heartbeat(session(12)), None);
    assert_eq!(other.last_alive_ms(session(12), None), None);
}

fn clearing_leaves_held_and_fresh_presences(make: &dyn Fn() -> Box<dyn Log>) {
    let (mut one, mut other) = (make(), make());
    let hold = one.hold(session(13)).unwrap();
    for standing in [Standing::Live, Standing::Left, Standing::Unknown] {
        other.clear_presences(&|_| standing).unwrap();
    }
    assert_eq!(other.held(session(13)), Presence::Held);
    hold.remove();
}

fn a_wakeup_reaches_only_the_sessions_concerned(make: &dyn Fn() -> Box<dyn Log>) {
    let (mut waker, mut one, mut other) = (make(), make(), make());
    let (to_one, one_rang) = mpsc::channel();
    let (to_other, other_rang) = mpsc::channel();
    one.listen(
        &BTreeSet::from([session(20)]),
        Arc::new(move || to_one.send(()).unwrap_or_default()),
    )
    .unwrap();
    other
        .listen(
            &BTreeSet::from([session(21)]),
            Arc::new(move || to_other.send(()).unwrap_or_default()),
        )
        .unwrap();
    waker.wake(&BTreeSet::from([session(20), session(29)]));
    one_rang.recv_timeout(GENEROUS).unwrap();
    assert!(other_rang.try_recv().is_err());
    waker.wake(&BTreeSet::from([session(21)]));
    other_rang.recv_timeout(GENEROUS).unwrap();

    // A larger set still includes the sessions from before.
    let (to_one, one_rang) = mpsc::channel();
    one.listen(
        &BTreeSet::from([session(20), session(22)]),
        Arc::new(move || to_one.send(()).unwrap_or_default()),
    )
    .unwrap();
    for woken in [20, 22] {
        while one_rang.try_recv().is_ok() {}
        waker.wake(&BTreeSet::from([session(woken)]));
        one_rang.recv_timeout(GENEROUS).unwrap();
    }
}

fn a_reopened_log_has_the_same_state(make: &dyn Fn() -> Box<dyn Log>) {
    let mut log = make();
    let mut replica = log.open().unwrap();
    append(&mut *log, &mut replica, vec![sent(400, "last")]).unwrap();
    log.durability().sync().unwrap();
    let reopened = make().open().unwrap();
    assert_eq!(reopened.state, replica.state);
    assert_eq!(reopened.place, replica.place);
    assert_eq!(reopened.next_seq, replica.next_seq);
    assert_eq!(reopened.damaged_lines, 0);
}
