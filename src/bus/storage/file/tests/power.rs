//! Power cuts, failing syncs and full disks, on a simulated disk.

use std::path::Path;
use std::sync::Arc;

use uuid::Uuid;

use crate::bus::storage::contract::{append, joined, proposal, sent};
use crate::bus::storage::file::simulated_disk::{Fault, SimulatedDisk};
use crate::bus::storage::file::{FileLog, Options};
use crate::bus::storage::{Log, LogError, LogPosition, Replica, Verdict};
use crate::domain::ids::MessageId;
use crate::sys::fs::disk::Disk as _;

/// The number of seeds for each operation at which the power is cut.
const SEEDS: u64 = 6;

/// The length of three or four lines of these tests, so that segments change often.
const SEGMENT_BYTES: u64 = 1_200;

/// Snapshots are about as frequent as segments, but not in step with them.
const SNAPSHOT_EVENTS: u64 = 5;

fn open(directory: &Path, disk: &SimulatedDisk) -> Result<FileLog, LogError> {
    let options = Options {
        segment_bytes: SEGMENT_BYTES,
        snapshot_events: SNAPSHOT_EVENTS,
        snapshot_percent: 0,
        ..Options::default()
    };
    FileLog::open(directory, Arc::new(disk.clone()), options)
}

/// The messages and texts that were acknowledged as durable.
#[derive(Default)]
struct Acknowledged {
    messages: Vec<u64>,
    texts: Vec<Uuid>,
}

/// Two processes append in turns, with a sync after every third append, and a text now and then.
fn work(
    directory: &Path,
    disk: &SimulatedDisk,
    acknowledged: &mut Acknowledged,
) -> Result<(), LogError> {
    let (mut one, mut other) = (open(directory, disk)?, open(directory, disk)?);
    let (mut mine, mut theirs) = (Log::open(&mut one)?, Log::open(&mut other)?);
    append(&mut one, &mut mine, vec![joined(1), joined(2)])?;
    let mut written: [Vec<u64>; 2] = Default::default();
    for number in 0..24 {
        let turn = usize::from(number % 5 == 3);
        let (log, replica) =
            if turn == 0 { (&mut one, &mut mine) } else { (&mut other, &mut theirs) };
        if number % 7 == 0 {
            let id = Uuid::from_u128(u128::from(number));
            log.durability().put_blob(id, "a long text")?;
            acknowledged.texts.push(id);
        }
        append(log, replica, vec![sent(number, &"x".repeat(100))])?;
        written[turn].push(number);
        if number % 3 == 2 {
            log.durability().sync()?;
            acknowledged.messages.append(&mut written[turn]);
        }
        // Wait for the thread, so that every run has the same operations.
        log.snapshots.finish();
    }
    Ok(())
}

fn check(directory: &Path, disk: &SimulatedDisk, acknowledged: &Acknowledged) {
    let mut log = open(directory, disk).unwrap();
    let mut replica = Log::open(&mut log).unwrap();
    let (entries, _) = log.read_after(LogPosition::default(), usize::MAX).unwrap();
    assert!(entries.windows(2).all(|two| two[0].1.next_seq() <= two[1].1.seq));
    let present = |number: u64| {
        let expected = sent(number, &"x".repeat(100));
        entries.iter().any(|(_, entry)| entry.events.contains(&expected))
    };
    // An earlier entry may be the cause of an acknowledged one, so it must be there too, whichever process wrote it.
    let last = acknowledged.messages.iter().max();
    for number in last.map_or(0..0, |last| 0..last + 1) {
        assert!(present(number), "message {number} is lost");
        let id = MessageId::from_bits(number);
        assert!(replica.state.message(&id).is_some());
    }
    for id in &acknowledged.texts {
        assert_eq!(log.get_blob(*id).unwrap(), "a long text");
    }
    let seq = append(&mut log, &mut replica, vec![joined(9)]).unwrap();
    assert!(entries.iter().all(|(_, entry)| entry.next_seq() <= seq));
    log.durability().sync().unwrap();
    log.snapshots.finish();

    let mut reopened = open(directory, disk).unwrap();
    let from_snapshot = Log::open(&mut reopened).unwrap();
    assert_eq!(from_snapshot.state, replica.state);
    let mut from_the_beginning = Replica::default();
    reopened.catch_up(&mut from_the_beginning).unwrap();
    assert_eq!(from_the_beginning.place, replica.place);
    assert_eq!(from_the_beginning.state, replica.state);
}

#[test]
fn nothing_acknowledged_is_lost_wherever_the_power_is_cut() {
    let project = tempfile::tempdir().unwrap();
    let directory = project.path().join(".claude").join("bridge");
    let whole = SimulatedDisk::default();
    let mut acknowledged = Acknowledged::default();
    work(&directory, &whole, &mut acknowledged).unwrap();
    assert_eq!(acknowledged.texts.len(), 4);
    for cut in 0..whole.operations() {
        let disk = SimulatedDisk::default();
        disk.cut_power_at(cut);
        let mut acknowledged = Acknowledged::default();
        work(&directory, &disk, &mut acknowledged).unwrap_err();
        for seed in 0..SEEDS {
            println!("power cut at operation {cut}, seed {seed}");
            let seed = seed.wrapping_mul(0x1000_0001) ^ cut as u64;
            check(&directory, &disk.after_power_cut(seed), &acknowledged);
        }
    }
}

#[test]
fn a_snapshot_is_whole_after_a_power_cut() {
    let project = tempfile::tempdir().unwrap();
    let directory = project.path().join(".claude").join("bridge");
    let disk = SimulatedDisk::default();
    work(&directory, &disk, &mut Acknowledged::default()).unwrap();
    let newest = |disk: &SimulatedDisk| {
        let log = open(&directory, disk).unwrap();
        log.snapshots.newest().replica.unwrap().next_seq
    };
    for seed in 0..20 {
        assert_eq!(newest(&disk.after_power_cut(seed)), newest(&disk));
    }
}

#[test]
fn a_line_in_an_empty_segment_of_a_dead_process_is_kept() {
    for seed in 0..20 {
        let disk = SimulatedDisk::default();
        let (project, mut log, mut replica) = started(&disk);
        let left = log.segments.path(replica.next_seq);
        disk.create_new(&left).unwrap();
        append(&mut log, &mut replica, vec![sent(1, "kept")]).unwrap();
        assert_eq!(replica.place.segment, 3);
        log.durability().sync().unwrap();
        let directory = project.path().join(".claude").join("bridge");
        let mut reopened = open(&directory, &disk.after_power_cut(seed)).unwrap();
        let replica = Log::open(&mut reopened).unwrap();
        assert!(replica.state.message(&MessageId::from_bits(1)).is_some());
    }
}

#[test]
fn a_reader_misses_no_line_written_just_before_a_roll() {
    let disk = SimulatedDisk::default();
    let (project, mut log, mut replica) = started(&disk);
    let directory = project.path().join(".claude").join("bridge");
    let mut reader = open(&directory, &disk).unwrap();
    let mut read = Log::open(&mut reader).unwrap();
    let segment = replica.place.segment;
    let (to_test, written) = std::sync::mpsc::channel();
    disk.before_next_look(move || {
        while replica.place.segment == segment {
            append(&mut log, &mut replica, vec![sent(1, &"x".repeat(100))]).unwrap();
        }
        to_test.send(replica).unwrap();
    });
    reader.catch_up(&mut read).unwrap();
    let replica = written.recv().unwrap();
    assert!(replica.next_seq > 5);
    assert_eq!(read.state, replica.state);
    assert_eq!((read.place, read.damaged_lines), (replica.place, 0));
}

#[test]
fn a_segment_filled_by_other_processes_is_on_disk_before_the_next_is_created() {
    let disk = SimulatedDisk::default();
    let (project, mut log, mut replica) = started(&disk);
    let directory = project.path().join(".claude").join("bridge");
    let mut other = open(&directory, &disk).unwrap();
    let mut theirs = Log::open(&mut other).unwrap();
    let segment = replica.place.segment;
    let mut number = 0;
    log.append(&mut replica, &mut |_, _| {
        while theirs.place.offset < SEGMENT_BYTES {
            number += 1;
            append(&mut other, &mut theirs, vec![sent(number, "before")]).unwrap();
        }
        Verdict::Append(proposal(vec![sent(100, "behind")]))
    })
    .unwrap();
    assert!(replica.place.segment > segment);
    log.durability().sync().unwrap();
    for seed in 0..20 {
        let mut reopened = open(&directory, &disk.after_power_cut(seed)).unwrap();
        let found = Log::open(&mut reopened).unwrap();
        assert_eq!(found.state, replica.state);
    }
}

fn started(disk: &SimulatedDisk) -> (tempfile::TempDir, FileLog, Replica) {
    let project = tempfile::tempdir().unwrap();
    let mut log = open(&project.path().join(".claude").join("bridge"), disk).unwrap();
    let mut replica = Log::open(&mut log).unwrap();
    append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
    log.durability().sync().unwrap();
    (project, log, replica)
}

#[test]
fn a_failed_sync_is_never_acknowledged_and_the_next_append_is_in_a_new_segment() {
    let disk = SimulatedDisk::default();
    let (project, mut log, mut replica) = started(&disk);
    let failed_segment = replica.place.segment;
    append(&mut log, &mut replica, vec![sent(1, "unknown")]).unwrap();
    disk.fail_next(Fault::Sync);
    let durability = log.durability();
    for _ in 0..2 {
        let outcome = durability.sync();
        assert!(matches!(outcome, Err(LogError::OutcomeUnknown { .. })));
    }
    append(&mut log, &mut replica, vec![sent(2, "kept")]).unwrap();
    assert!(replica.place.segment > failed_segment);
    durability.sync().unwrap();

    let (entries, _) = log.read_after(LogPosition::default(), usize::MAX).unwrap();
    let notice = crate::bus::event::Event::SegmentFailed { segment: failed_segment };
    assert!(entries.iter().any(|(_, entry)| entry.events == [notice.clone()]));
    let directory = project.path().join(".claude").join("bridge");
    let mut reopened = open(&directory, &disk.after_power_cut(1)).unwrap();
    let replica = Log::open(&mut reopened).unwrap();
    assert!(replica.state.message(&MessageId::from_bits(2)).is_some());
    // It was copied before the next message was written.
    assert!(replica.state.message(&MessageId::from_bits(1)).is_some());
}

#[test]
fn lines_that_a_roll_failed_to_sync_are_on_disk_after_it() {
    let disk = SimulatedDisk::default();
    let (_project, mut log, mut replica) = started(&disk);
    let segment = replica.place.segment;
    let mut number = 0;
    while replica.place.offset < SEGMENT_BYTES {
        number += 1;
        append(&mut log, &mut replica, vec![sent(number, &"x".repeat(100))]).unwrap();
        log.snapshots.finish();
    }
    log.durability().sync().unwrap();
    let mut other = open(&log.directory.clone(), &disk).unwrap();
    let mut theirs = Log::open(&mut other).unwrap();
    // Pretend that the last append still waits for its sync.
    log.syncer.appended(
        (segment, replica.place.offset),
        &log.segments.file(segment).unwrap().unwrap(),
        log.segments.path(segment),
    );
    disk.fail_next(Fault::Sync);
    append(&mut log, &mut replica, vec![sent(100, "behind")]).unwrap();
    log.durability().sync().unwrap();
    for seed in 0..20 {
        let mut reopened = open(&log.directory, &disk.after_power_cut(seed)).unwrap();
        assert_eq!(Log::open(&mut reopened).unwrap().state, replica.state);
    }
    append(&mut other, &mut theirs, vec![sent(101, "theirs")]).unwrap();
    other.durability().sync().unwrap();
}

#[test]
fn a_write_that_fails_leaves_no_trace() {
    for fault in
        [Fault::NoSpace, Fault::ShortWrite(0), Fault::ShortWrite(1), Fault::ShortWrite(200)]
    {
        let disk = SimulatedDisk::default();
        let (_project, mut log, mut replica) = started(&disk);
        let before = (replica.place, replica.next_seq);
        disk.fail_next(fault);
        let outcome = append(&mut log, &mut replica, vec![sent(1, "lost")]);
        assert!(matches!(outcome, Err(LogError::Io { .. })), "{fault:?}");
        assert_eq!((replica.place, replica.next_seq), before);
        append(&mut log, &mut replica, vec![sent(2, "kept")]).unwrap();
        log.durability().sync().unwrap();
        let mut fresh = Replica::default();
        log.catch_up(&mut fresh).unwrap();
        assert_eq!(fresh.state, replica.state);
        assert_eq!(fresh.damaged_lines, 0);
    }
}
