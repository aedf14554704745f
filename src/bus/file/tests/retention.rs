//! What goes of an old log, what stays, and that a power cut at any moment takes nothing that somebody needs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use uuid::Uuid;

use crate::bus::contract::{append, joined, name, sent};
use crate::bus::event::{Body, Event};
use crate::bus::file::simulated::SimulatedDisk;
use crate::bus::file::{FileLog, Options};
use crate::bus::log::{Log, LogError, Place};
use crate::domain::id::MessageId;
use crate::domain::limits::TeamLimits;
use crate::sys::clock;
use crate::sys::disk::{Disk, RealDisk};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The message that nobody has read, and so stays whatever its age.
const KEPT: u64 = 14;

const APPENDS: u64 = 22;

fn open(
    directory: &Path,
    disk: &SimulatedDisk,
    days: &Arc<AtomicI64>,
) -> Result<FileLog, LogError> {
    open_on(directory, Arc::new(disk.clone()), days)
}

fn open_on(
    directory: &Path,
    disk: Arc<dyn Disk>,
    days: &Arc<AtomicI64>,
) -> Result<FileLog, LogError> {
    let days = Arc::clone(days);
    let options = Options {
        segment_bytes: 1_200,
        snapshot_events: 5,
        snapshot_percent: 0,
        clock: Arc::new(move || {
            let mut now = clock::now();
            now.wall_ms = days.load(Ordering::Relaxed) * DAY_MS;
            now
        }),
        ..Options::default()
    };
    FileLog::open(directory, disk, options)
}

fn blob(number: u64) -> Uuid {
    Uuid::from_u128(u128::from(number))
}

/// A message with a long text, which nobody will read but for one.
fn message(number: u64) -> Vec<Event> {
    let mut events = vec![sent(number, "")];
    if let Event::MessageSent(sent) = &mut events[0] {
        sent.body = Body::Blob {
            id: blob(number),
            bytes: 11,
        };
    }
    if number != KEPT {
        events.push(Event::MessageExpired {
            id: MessageId::from_bits(number),
            member: name("member-2"),
        });
    }
    events
}

/// An append every ten days, each with a text; returns how many were acknowledged.
fn work(directory: &Path, disk: &SimulatedDisk, done: &mut u64) -> Result<(), LogError> {
    let days = Arc::new(AtomicI64::new(20_000));
    let mut log = open(directory, disk, &days)?;
    let mut replica = Log::open(&mut log)?;
    append(&mut log, &mut replica, vec![joined(1), joined(2)])?;
    for number in 0..APPENDS {
        days.fetch_add(10, Ordering::Relaxed);
        log.durability().put_blob(blob(number), "a long text")?;
        append(&mut log, &mut replica, message(number))?;
        log.durability().sync()?;
        *done = number + 1;
        // The thread ends before anything else happens, so that every run has the same operations.
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
fn old_segments_go_with_their_texts_up_to_the_oldest_that_is_needed() {
    let (_project, directory) = bus();
    let disk = SimulatedDisk::default();
    work(&directory, &disk, &mut 0).unwrap();
    let days = Arc::new(AtomicI64::new(30_000));
    let mut log = open(&directory, &disk, &days).unwrap();
    let replica = Log::open(&mut log).unwrap();
    let kept = replica.state.message(&MessageId::from_bits(KEPT)).unwrap();
    let oldest = log.oldest().unwrap();
    assert!(oldest.segment > 1, "what nobody needs is gone");
    assert!(oldest.segment <= kept.body.place.segment);
    assert_eq!(log.get_blob(blob(KEPT)).unwrap(), "a long text");
    assert!(matches!(log.get_blob(blob(0)), Err(LogError::Gone)));
    // Every text that is left is named in what is left of the log.
    let (entries, _) = log.read_after(Place::default(), usize::MAX).unwrap();
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
    let days = Arc::new(AtomicI64::new(20_000));
    let mut log = open(&directory, &disk, &days).unwrap();
    let mut replica = Log::open(&mut log).unwrap();
    let limits = TeamLimits {
        retention_days: 3_650,
        ..TeamLimits::default()
    };
    append(
        &mut log,
        &mut replica,
        vec![Event::LimitsSet(limits), joined(1), joined(2)],
    )
    .unwrap();
    for number in 100..140 {
        days.fetch_add(10, Ordering::Relaxed);
        append(&mut log, &mut replica, message(number)).unwrap();
        log.snapshots.finish();
    }
    assert_eq!(log.oldest().unwrap().segment, 1, "the team keeps ten years");
}

#[test]
fn a_power_cut_while_old_segments_go_takes_nothing_that_is_needed() {
    let (_project, directory) = bus();
    let whole = SimulatedDisk::default();
    work(&directory, &whole, &mut 0).unwrap();
    // Nothing goes in the first third, and what a cut does there is tried elsewhere.
    for cut in whole.operations() / 3..whole.operations() {
        let disk = SimulatedDisk::default();
        disk.cut_power_at(cut);
        let mut done = 0;
        // A cut in the last removal fails nothing: what is removed is no part of any append.
        drop(work(&directory, &disk, &mut done));
        let after = disk.after_power_cut(cut as u64 ^ 0x5eed);
        let days = Arc::new(AtomicI64::new(30_000));
        let mut log = open(&directory, &after, &days).unwrap();
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
        let mut again = open(&directory, &after, &days).unwrap();
        assert_eq!(
            Log::open(&mut again).unwrap().state,
            replica.state,
            "cut at {cut}"
        );
    }
}

#[test]
fn a_reader_of_a_segment_that_goes_loads_a_snapshot_and_goes_on() {
    let (_project, directory) = bus();
    let disk = SimulatedDisk::default();
    let days = Arc::new(AtomicI64::new(20_000));
    let (mut log, mut reader) = (
        open(&directory, &disk, &days).unwrap(),
        open(&directory, &disk, &days).unwrap(),
    );
    let mut replica = Log::open(&mut log).unwrap();
    append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
    let mut read = Log::open(&mut reader).unwrap();
    for number in 100..140 {
        days.fetch_add(10, Ordering::Relaxed);
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

/// The first line tells how old a segment is; where it cannot be read, the next one does, and where none can, the file itself.
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
        let days = Arc::new(AtomicI64::new(20_000));
        let mut log = open_on(&directory, Arc::new(RealDisk), &days).unwrap();
        let mut replica = Log::open(&mut log).unwrap();
        append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
        let mut next = 100;
        let mut grow = |log: &mut FileLog, replica: &mut _, most: u64| {
            for _ in 0..most {
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
        days.fetch_add(10_000, Ordering::Relaxed);
        grow(&mut log, &mut replica, 20);
        let left = listed(&RealDisk, &directory.join("log"));
        assert!(!left.contains(&segments[1]), "damage {number}: {left:?}");
    }
}
