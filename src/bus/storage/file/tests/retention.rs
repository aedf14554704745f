//! Which parts of an old log are removed and which stay, and that a power cut at any moment loses no needed part.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use uuid::Uuid;

use super::log_fixture::{Clock, DAY_MS};
use crate::bus::event::{Body, Event};
use crate::bus::storage::contract::{append, joined, name, sent};
use crate::bus::storage::file::simulated_disk::SimulatedDisk;
use crate::bus::storage::file::{FileLog, Options};
use crate::bus::storage::{Log, LogError, LogPosition};
use crate::domain::ids::{MessageId, TaskId};
use crate::domain::limits::TeamLimits;
use crate::sys::fs::disk::{Disk, RealDisk};

/// The unread message, which stays at any age.
const KEPT: u64 = 14;

const APPENDS: u64 = 22;

fn open(directory: &Path, disk: &SimulatedDisk, clock: &Clock) -> Result<FileLog, LogError> {
    open_on(directory, Arc::new(disk.clone()), clock)
}

fn open_on(directory: &Path, disk: Arc<dyn Disk>, clock: &Clock) -> Result<FileLog, LogError> {
    let options = Options {
        segment_bytes: 1_200,
        snapshot_events: 5,
        snapshot_percent: 0,
        clock: clock.as_option(),
        ..Options::default()
    };
    FileLog::open(directory, disk, options)
}

fn blob(number: u64) -> Uuid {
    Uuid::from_u128(u128::from(number))
}

/// Returns a message with a long text. All of them expire unread, except one.
fn message(number: u64) -> Vec<Event> {
    let mut events = vec![sent(number, "")];
    if let Event::MessageSent(sent) = &mut events[0] {
        sent.body = Body::Blob { id: blob(number), bytes: 11, sha256: None };
    }
    if number != KEPT {
        events.push(Event::MessageExpired {
            id: MessageId::from_bits(number),
            member: name("member-2"),
        });
    }
    events
}

/// Appends a message with a text every ten days, and counts the acknowledged ones in `done`.
fn work(directory: &Path, disk: &SimulatedDisk, done: &mut u64) -> Result<(), LogError> {
    let clock = Clock::new();
    let mut log = open(directory, disk, &clock)?;
    let mut replica = Log::open(&mut log)?;
    append(&mut log, &mut replica, vec![joined(1), joined(2)])?;
    for number in 0..APPENDS {
        clock.pass_days(10);
        log.durability().put_blob(blob(number), "a long text")?;
        append(&mut log, &mut replica, message(number))?;
        log.durability().sync()?;
        *done = number + 1;
        // Wait for the thread, so that every run has the same operations.
        log.snapshots.finish();
    }
    Ok(())
}

fn bus() -> (tempfile::TempDir, PathBuf) {
    let project = tempfile::tempdir().unwrap();
    let directory = project.path().join(".claude").join("bridge");
    (project, directory)
}

fn listed(disk: &dyn Disk, directory: &Path) -> Vec<String> {
    let mut names = disk.list(directory).unwrap();
    names.sort();
    names
}

#[test]
fn old_segments_are_removed_with_their_texts_up_to_the_oldest_needed_one() {
    let (_project, directory) = bus();
    let disk = SimulatedDisk::default();
    work(&directory, &disk, &mut 0).unwrap();
    let clock = Clock::new();
    clock.pass_days(10_000);
    let mut log = open(&directory, &disk, &clock).unwrap();
    let replica = Log::open(&mut log).unwrap();
    let kept = replica.state.message(&MessageId::from_bits(KEPT)).unwrap();
    let oldest = log.oldest().unwrap();
    assert!(oldest.segment > 1, "unneeded segments are gone");
    assert!(oldest.segment <= kept.body.place.segment);
    assert_eq!(log.get_blob(blob(KEPT)).unwrap(), "a long text");
    assert!(matches!(log.get_blob(blob(0)), Err(LogError::Gone)));
    // The rest of the log names every remaining text.
    let (entries, _) = log.read_after(LogPosition::default(), usize::MAX).unwrap();
    let named = entries.iter().flat_map(|(_, entry)| &entry.events);
    let named = named.filter_map(|event| match event {
        Event::MessageSent(sent) => match &sent.body {
            Body::Blob { id, .. } => Some(id.to_string()),
            Body::Text(_) => None,
        },
        _ => None,
    });
    let mut named: Vec<_> = named.collect();
    named.sort();
    assert_eq!(listed(&disk, &directory.join("blobs")), named);
}

#[test]
fn young_segments_stay() {
    let (_project, directory) = bus();
    let disk = SimulatedDisk::default();
    let clock = Clock::new();
    let mut log = open(&directory, &disk, &clock).unwrap();
    let mut replica = Log::open(&mut log).unwrap();
    let limits = TeamLimits { retention_days: 3_650, ..TeamLimits::default() };
    append(&mut log, &mut replica, vec![Event::LimitsSet(limits), joined(1), joined(2)]).unwrap();
    for number in 100..140 {
        clock.pass_days(10);
        append(&mut log, &mut replica, message(number)).unwrap();
        log.snapshots.finish();
    }
    assert_eq!(log.oldest().unwrap().segment, 1, "the team keeps ten years");
}

#[test]
fn a_power_cut_while_old_segments_are_removed_loses_no_needed_one() {
    let (_project, directory) = bus();
    let whole = SimulatedDisk::default();
    work(&directory, &whole, &mut 0).unwrap();
    // Nothing is removed in the first third. Other tests cut the power there.
    for cut in whole.operations() / 3..whole.operations() {
        let disk = SimulatedDisk::default();
        disk.cut_power_at(cut);
        let mut done = 0;
        // A cut in the last removal fails no append.
        drop(work(&directory, &disk, &mut done));
        let after = disk.after_power_cut(cut as u64 ^ 0x5eed);
        let clock = Clock::new();
        clock.pass_days(10_000);
        let mut log = open(&directory, &after, &clock).unwrap();
        let mut replica = Log::open(&mut log).unwrap();
        if done > 0 {
            assert_eq!(replica.state.live_sessions().len(), 2, "cut at {cut}");
        }
        if done > KEPT {
            let kept = replica.state.message(&MessageId::from_bits(KEPT)).unwrap();
            let place = kept.body;
            assert!(kept.delivery(&name("member-2")).is_some());
            log.event_at(place.place, place.index).unwrap();
            assert_eq!(log.get_blob(blob(KEPT)).unwrap(), "a long text");
        }
        append(&mut log, &mut replica, message(1_000)).unwrap();
        log.durability().sync().unwrap();
        log.snapshots.finish();
        let mut again = open(&directory, &after, &clock).unwrap();
        assert_eq!(Log::open(&mut again).unwrap().state, replica.state, "cut at {cut}");
    }
}

#[test]
fn a_reader_of_a_removed_segment_loads_a_snapshot_and_continues() {
    let (_project, directory) = bus();
    let disk = SimulatedDisk::default();
    let clock = Clock::new();
    let (mut log, mut reader) =
        (open(&directory, &disk, &clock).unwrap(), open(&directory, &disk, &clock).unwrap());
    let mut replica = Log::open(&mut log).unwrap();
    append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
    let mut read = Log::open(&mut reader).unwrap();
    for number in 100..140 {
        clock.pass_days(10);
        append(&mut log, &mut replica, message(number)).unwrap();
        log.snapshots.finish();
    }
    assert!(log.oldest().unwrap().segment > 1);
    reader.catch_up(&mut read).unwrap();
    assert_eq!(read.state, replica.state);
    append(&mut reader, &mut read, message(200)).unwrap();
    log.catch_up(&mut replica).unwrap();
    assert_eq!(read.state, replica.state);
}

/// The first readable line gives the age of a segment, and without one the file itself.
#[test]
fn a_damaged_line_does_not_end_retention() {
    type Damage = fn(&mut Vec<u8>);
    let damages: [Damage; 2] = [
        |segment| segment[40] ^= 1,
        |segment| {
            for byte in segment.iter_mut().filter(|byte| **byte == b'{') {
                *byte = b'x';
            }
        },
    ];
    for (number, damage) in damages.into_iter().enumerate() {
        let (_project, directory) = bus();
        let clock = Clock::new();
        let mut log = open_on(&directory, Arc::new(RealDisk), &clock).unwrap();
        let mut replica = Log::open(&mut log).unwrap();
        append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
        let mut next = 100;
        let mut grow = |log: &mut FileLog, replica: &mut _, count: u64| {
            for _ in 0..count {
                append(log, replica, message(next)).unwrap();
                next += 1;
                log.snapshots.finish();
            }
        };
        grow(&mut log, &mut replica, 20);
        let segments = listed(&RealDisk, &directory.join("log"));
        assert!(segments.len() > 3, "{segments:?}");
        let second = directory.join("log").join(&segments[1]);
        let mut bytes = std::fs::read(&second).unwrap();
        damage(&mut bytes);
        std::fs::write(&second, bytes).unwrap();
        clock.pass_days(10_000);
        grow(&mut log, &mut replica, 20);
        let left = listed(&RealDisk, &directory.join("log"));
        assert!(!left.contains(&segments[1]), "damage {number}: {left:?}");
    }
}

/// A log of `messages` in several segments, written within a day.
fn young(directory: &Path, clock: &Clock) -> (FileLog, crate::bus::storage::Replica) {
    let mut log = open_on(directory, Arc::new(RealDisk), clock).unwrap();
    let mut replica = Log::open(&mut log).unwrap();
    append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
    for number in 100..120 {
        log.durability().put_blob(blob(number), "a long text").unwrap();
        append(&mut log, &mut replica, message(number)).unwrap();
        log.snapshots.finish();
    }
    assert!(listed(&RealDisk, &directory.join("log")).len() > 3);
    (log, replica)
}

#[test]
fn a_process_whose_clock_is_far_ahead_removes_nothing_young() {
    let (_project, directory) = bus();
    let clock = Clock::new();
    let (mut log, mut replica) = young(&directory, &clock);
    let task = TaskId::from_bits(1);
    log.transcript(&task, "a line").unwrap();
    let unnamed = Uuid::now_v7();
    log.durability().put_blob(unnamed, "a long text").unwrap();
    let [segments, texts] = ["log", "blobs"].map(|part| listed(&RealDisk, &directory.join(part)));
    let far = 20_000 * i64::try_from(DAY_MS).unwrap();
    let options = Options { clock: clock.ahead(far), ..log.options.clone() };
    let mut ahead = FileLog::open(&directory, Arc::new(RealDisk), options).unwrap();
    let mut read = Log::open(&mut ahead).unwrap();
    for number in 200..230 {
        clock.pass(60_000);
        append(&mut ahead, &mut read, message(number)).unwrap();
        ahead.snapshots.finish();
    }
    // The other process has the right time, and finds lines from the future.
    log.catch_up(&mut replica).unwrap();
    for number in 300..330 {
        clock.pass(60_000);
        append(&mut log, &mut replica, message(number)).unwrap();
        log.snapshots.finish();
    }
    let is_left = |part: &str, names: &[String]| {
        let left = listed(&RealDisk, &directory.join(part));
        names.iter().all(|name| left.contains(name))
    };
    assert!(is_left("log", &segments) && is_left("blobs", &texts));
    assert!(is_left("tasks", &[format!("{task}.jsonl")]));
    // In the end all lines are old for every process, including those from the future.
    let all = listed(&RealDisk, &directory.join("log"));
    clock.pass_days(10_000);
    for number in 400..430 {
        append(&mut log, &mut replica, message(number)).unwrap();
        log.snapshots.finish();
    }
    let left = listed(&RealDisk, &directory.join("log"));
    assert!(left[0] > all[all.len() - 2], "{left:?}");
}

#[test]
fn a_line_written_while_the_clock_was_far_behind_makes_nothing_old() {
    let (_project, directory) = bus();
    let clock = Clock::new();
    let mut log = open_on(&directory, Arc::new(RealDisk), &clock).unwrap();
    let mut replica = Log::open(&mut log).unwrap();
    append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
    let mut number = 100;
    let mut one_more = |log: &mut FileLog, replica: &mut _| {
        append(log, replica, message(number)).unwrap();
        number += 1;
        log.snapshots.finish();
    };
    while replica.place.offset < log.options.segment_bytes {
        one_more(&mut log, &mut replica);
    }
    let back = 19_000 * i64::try_from(DAY_MS).unwrap();
    clock.jump(-back);
    one_more(&mut log, &mut replica);
    assert!(replica.place.segment > 1, "another segment has begun");
    clock.jump(back);
    for _ in 0..20 {
        one_more(&mut log, &mut replica);
    }
    assert_eq!(log.oldest().unwrap().segment, 1);
}

/// After a long absence, the log's time catches up with the machine's by a day in each hour.
#[test]
fn segments_that_are_old_after_a_long_absence_are_removed_while_the_bus_is_used() {
    let (_project, directory) = bus();
    let clock = Clock::new();
    let (log, _) = young(&directory, &clock);
    drop(log);
    clock.boot_after(60 * DAY_MS);
    let mut log = open_on(&directory, Arc::new(RealDisk), &clock).unwrap();
    let mut replica = Log::open(&mut log).unwrap();
    let mut hours = 0;
    while log.oldest().unwrap().segment == 1 {
        assert!(hours < 70, "it is never removed");
        append(&mut log, &mut replica, message(1_000 + hours)).unwrap();
        log.snapshots.finish();
        clock.pass(60 * 60 * 1_000);
        hours += 1;
    }
    assert!(hours > 24, "a day in each hour: {hours}");
}
