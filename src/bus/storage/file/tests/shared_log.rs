//! The log as several processes use it, across segments and snapshots.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use super::log_fixture::{Project, assert_same, replay, tree};
use crate::bus::rules::{Description, NameChoice};
use crate::bus::storage::contract::{self, append, joined, sent};
use crate::bus::storage::file::{FileLog, Follower, Listening, Options, Origin};
use crate::bus::storage::{Log, LogError, LogPosition, OnWakeup};
use crate::bus::{Bus, BusError, Joining, Membership};
use crate::domain::member::MemberKind;
use crate::domain::name::Name;
use crate::sys::fs::disk::RealDisk;

#[test]
fn the_file_log_keeps_the_contract() {
    let project = Project::new();
    contract::contract(&|| Box::new(project.try_open().unwrap()));
}

#[test]
fn the_file_log_keeps_the_contract_without_notifications_and_with_small_segments() {
    let project = Project::new();
    contract::contract(&|| {
        let options = Options {
            listening: Listening::Polled,
            segment_bytes: 1_000,
            snapshot_events: 16,
            snapshot_percent: 0,
            ..Options::default()
        };
        let log = FileLog::open(&project.bus, Arc::new(RealDisk), options);
        Box::new(log.unwrap())
    });
}

#[test]
fn no_seq_is_used_twice_by_many_writers() {
    const WRITERS: u64 = 4;
    const APPENDS: u64 = 60;
    let project = Project::new();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let project = &project;
            scope.spawn(move || {
                let (mut log, mut replica) = project.open_short();
                for number in 0..APPENDS {
                    let event = sent(writer * APPENDS + number, "hello");
                    append(&mut log, &mut replica, vec![event]).unwrap();
                    if number % 10 == 9 {
                        log.durability().sync().unwrap();
                    }
                }
            });
        }
    });
    let (mut log, replica) = project.open_short();
    let (entries, _) = log.read_after(LogPosition::default(), usize::MAX).unwrap();
    let seqs: Vec<u64> = entries.iter().map(|(_, entry)| entry.seq).collect();
    assert_eq!(seqs, (1..=WRITERS * APPENDS).collect::<Vec<_>>());
    assert_same(&replay(&mut log), &replica);
}

#[test]
fn a_reader_follows_across_segments() {
    let project = Project::new();
    let (mut log, mut replica) = project.open_short();
    let (mut reader, mut read) = project.open_short();
    append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
    for number in 0..40 {
        append(&mut log, &mut replica, vec![sent(number, "hello")]).unwrap();
        if number % 9 == 0 {
            reader.catch_up(&mut read).unwrap();
            assert_same(&read, &replica);
        }
    }
    assert!(project.names("log").len() > 5);
    reader.catch_up(&mut read).unwrap();
    assert_same(&read, &replica);
    let (entries, place) = reader.read_after(LogPosition::default(), usize::MAX).unwrap();
    assert_eq!(entries.len(), 41);
    assert_eq!(place, replica.place);
}

#[test]
fn a_new_segment_is_seen_by_a_reader_that_no_longer_lists() {
    let project = Project::new();
    let (mut log, mut replica) = project.open_short();
    let (mut reader, mut read) = project.open_short();
    append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
    let directory = fs::File::open(project.bus.join("log")).unwrap();
    let long_ago = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    directory.set_modified(long_ago).unwrap();
    reader.catch_up(&mut read).unwrap();
    assert!(reader.segments.is_settled());
    let segment = replica.place.segment;
    while replica.place.segment == segment {
        append(&mut log, &mut replica, vec![sent(1, "hello")]).unwrap();
    }
    reader.catch_up(&mut read).unwrap();
    assert_same(&read, &replica);
}

#[test]
fn a_roll_hidden_by_the_time_of_the_directory_is_seen_under_the_lock() {
    let project = Project::new();
    let (mut log, mut replica) = project.open_short();
    let (mut other, mut theirs) = project.open_short();
    append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
    let directory = fs::File::open(project.bus.join("log")).unwrap();
    let long_ago = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    directory.set_modified(long_ago).unwrap();
    other.catch_up(&mut theirs).unwrap();
    assert!(other.segments.is_settled());
    let segment = replica.place.segment;
    while replica.place.segment == segment {
        append(&mut log, &mut replica, vec![sent(1, "hello")]).unwrap();
    }
    // The clock of the machine that keeps the files may be behind ours.
    directory.set_modified(long_ago).unwrap();
    let seq = append(&mut other, &mut theirs, vec![sent(2, "theirs")]).unwrap();
    assert_eq!((seq, theirs.place.segment), (replica.next_seq, replica.place.segment));
    log.catch_up(&mut replica).unwrap();
    assert_same(&replica, &theirs);
    assert_same(&replay(&mut log), &replica);
}

#[test]
fn a_large_state_is_not_written_again_after_a_little_growth_of_the_log() {
    let project = Project::new();
    let options = Options { snapshot_events: 8, ..Options::default() };
    let mut log = FileLog::open(&project.bus, Arc::new(RealDisk), options).unwrap();
    let mut replica = Log::open(&mut log).unwrap();
    append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
    let (mut written, mut last) = (0, None);
    for number in 0..400 {
        append(&mut log, &mut replica, vec![sent(number, "hello")]).unwrap();
        log.snapshots.finish();
        let newest = project.names("snapshot").pop();
        if newest != last {
            written += fs::metadata(newest.as_ref().unwrap()).unwrap().len();
            last = newest;
        }
    }
    let logged: u64 =
        project.names("log").iter().map(|path| fs::metadata(path).unwrap().len()).sum();
    assert!(written < 4 * logged, "{written} bytes for a log of {logged}");
    let newest = log.snapshots.newest().replica.unwrap();
    let behind = replica.place.offset - newest.place.offset;
    assert!(behind < logged / 2, "a process that opens the bus reads {behind} of {logged} bytes");
}

#[test]
fn an_empty_newest_segment_is_used() {
    let project = Project::new();
    let (mut log, mut replica) = project.open();
    append(&mut log, &mut replica, vec![joined(1)]).unwrap();
    let empty = log.segments.path(7);
    crate::sys::fs::disk::create_private(&empty, crate::sys::fs::disk::Writes::AtTheEnd).unwrap();
    let seq = append(&mut log, &mut replica, vec![joined(2)]).unwrap();
    assert_eq!((seq, replica.place.segment), (7, 7));
    assert_same(&project.open().1, &replica);
}

#[test]
fn a_snapshot_and_the_rest_give_the_same_as_the_whole_log() {
    let project = Project::new();
    let (mut log, mut replica) = project.open_short();
    append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
    for number in 0..30 {
        append(&mut log, &mut replica, vec![sent(number, "hello")]).unwrap();
        log.snapshots.finish();
    }
    assert_eq!(project.names("snapshot").len(), 2);
    let from_snapshot = log.snapshots.newest().replica.unwrap();
    assert!(from_snapshot.next_seq > 24);
    let (mut reopened, opened) = project.open_short();
    assert_same(&opened, &replica);
    assert_same(&replay(&mut reopened), &replica);
}

#[test]
fn a_reader_whose_segment_is_gone_begins_with_the_newest_snapshot() {
    let project = Project::new();
    let (mut log, mut replica) = project.open_short();
    let (mut reader, mut read) = project.open_short();
    append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
    reader.catch_up(&mut read).unwrap();
    for number in 0..30 {
        append(&mut log, &mut replica, vec![sent(number, "hello")]).unwrap();
        log.snapshots.finish();
    }
    for path in &project.names("log")[..3] {
        fs::remove_file(path).unwrap();
    }
    let oldest = LogPosition { segment: read.place.segment, offset: 0 };
    reader.catch_up(&mut read).unwrap();
    assert_same(&read, &replica);
    assert!(matches!(reader.read_after(oldest, 1), Err(LogError::Gone)));
    assert!(matches!(reader.event_at(oldest, 0), Err(LogError::Gone)));
    append(&mut reader, &mut read, vec![sent(100, "hello")]).unwrap();
    assert_same(&project.open_short().1, &read);
}

#[tokio::test(start_paused = true)]
async fn a_held_lock_makes_the_bus_busy_and_names_the_holder() {
    let project = Project::new();
    let (other, _) = project.open();
    let bus = Bus::open(Box::new(project.try_open().unwrap())).unwrap();
    let joining = Joining {
        choice: NameChoice::Chosen(Name::parse("one").unwrap()),
        kind: MemberKind::Peer,
        roles: Vec::new(),
        description: Description::default(),
    };
    let guard = other.try_lock().unwrap().unwrap();
    let outcome = Membership::join(&bus, joining.clone()).await;
    let Err(BusError::Log(LogError::Busy { holder })) = outcome.map(drop) else {
        panic!("it is held")
    };
    if cfg!(target_os = "linux") {
        let named = format!("process {} ", std::process::id());
        assert!(holder.starts_with(&named), "{holder}");
    }
    drop(guard);
    tokio::time::resume();
    let membership = Membership::join(&bus, joining).await.unwrap();
    assert_eq!(bus.look(|state| state.live_sessions().len()), 1);
    assert_eq!(membership.name().as_str(), "one");
}

#[test]
fn a_follower_sees_new_entries_and_writes_nothing() {
    let project = Project::new();
    let (notify, notified) = std::sync::mpsc::channel();
    let on_change: OnWakeup = {
        let notify = std::sync::Mutex::new(notify);
        Arc::new(move || notify.lock().unwrap().send(()).unwrap_or_default())
    };
    let open = || Follower::open(&project.bus, Origin::Believed, Arc::clone(&on_change)).unwrap();
    assert!(open().is_none());
    assert!(!project.bus.exists(), "it creates no bus");

    let (mut log, mut replica) = project.open();
    append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
    let before = tree(&project.bus);
    let mut follower = open().unwrap();
    assert_eq!(follower.state(), &replica.state);
    append(&mut log, &mut replica, vec![sent(1, "hello")]).unwrap();
    notified.recv_timeout(Duration::from_mins(1)).unwrap();
    follower.look().unwrap();
    assert_eq!(follower.state(), &replica.state);
    let message = follower.state().messages().next().unwrap().clone();
    assert_eq!(follower.text(message.body).unwrap(), "hello");
    assert_eq!(tree(&project.bus), before);

    fs::remove_dir_all(&project.bus).unwrap();
    assert!(matches!(follower.look(), Err(LogError::Removed)));
}
