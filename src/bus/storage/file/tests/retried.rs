//! Commands that are retried after a failed sync: once acknowledged, they are on disk like all others.

use std::path::Path;
use std::sync::Arc;

use super::log_fixture::Project;
use crate::bus::event::Event;
use crate::bus::storage::contract::{append, joined, knows, proposal, sent};
use crate::bus::storage::file::simulated_disk::{Fault, SimulatedDisk};
use crate::bus::storage::file::{FileLog, Options};
use crate::bus::storage::{Appended, Log, LogError, LogPosition, Replica, Verdict};
use crate::domain::ids::MessageId;
use crate::sys::fs::disk::Disk as _;

/// Opens the log with segments of a few lines and many snapshots.
fn try_open(directory: &Path, disk: &SimulatedDisk) -> Result<(FileLog, Replica), LogError> {
    let options = Options {
        segment_bytes: 1_500,
        snapshot_events: 5,
        snapshot_percent: 0,
        ..Options::default()
    };
    let mut log = FileLog::open(directory, Arc::new(disk.clone()), options)?;
    let replica = Log::open(&mut log)?;
    Ok((log, replica))
}

fn open(directory: &Path, disk: &SimulatedDisk) -> (FileLog, Replica) {
    try_open(directory, disk).unwrap()
}

/// Sends a message, unless it is already on the bus. Returns when it is on disk.
fn send_once(log: &mut FileLog, replica: &mut Replica, number: u64) -> Result<(), LogError> {
    let id = MessageId::from_bits(number);
    let text = "x".repeat(100);
    let appended = log.append(replica, &mut |replica, _| match replica.state.message(&id) {
        Some(_) => Verdict::Nothing,
        None => Verdict::Append(proposal(vec![sent(number, &text)])),
    })?;
    assert!(matches!(appended, Appended::Written(_) | Appended::Nothing));
    log.snapshots.finish();
    log.durability().sync()
}

/// One message is on disk, and the sync of the next one fails.
fn with_a_failed_sync(directory: &Path, disk: &SimulatedDisk) -> (FileLog, Replica) {
    let (mut log, mut replica) = open(directory, disk);
    append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
    send_once(&mut log, &mut replica, 1).unwrap();
    disk.fail_next(Fault::Sync);
    let outcome = send_once(&mut log, &mut replica, 2);
    assert!(matches!(outcome, Err(LogError::OutcomeUnknown { .. })));
    (log, replica)
}

#[test]
fn a_retry_is_acknowledged_only_when_its_line_is_on_disk() {
    for seed in 0..20 {
        let project = Project::new();
        let disk = SimulatedDisk::default();
        let (mut log, mut replica) = with_a_failed_sync(&project.bus, &disk);
        send_once(&mut log, &mut replica, 2).unwrap();
        let (_, found) = open(&project.bus, &disk.after_power_cut(seed));
        assert!(knows(&found, 1) && knows(&found, 2), "seed {seed}");
    }
}

#[test]
fn another_process_too_acknowledges_a_retry_only_when_its_line_is_on_disk() {
    for seed in 0..20 {
        let project = Project::new();
        let disk = SimulatedDisk::default();
        let (log, _) = with_a_failed_sync(&project.bus, &disk);
        drop(log);
        let (mut other, mut theirs) = open(&project.bus, &disk);
        assert!(knows(&theirs, 2));
        send_once(&mut other, &mut theirs, 2).unwrap();
        let (_, found) = open(&project.bus, &disk.after_power_cut(seed));
        assert!(knows(&found, 1) && knows(&found, 2), "seed {seed}");
    }
}

#[test]
fn unsynced_lines_are_on_disk_with_the_next_append() {
    let project = Project::new();
    let disk = SimulatedDisk::default();
    let (mut log, mut replica) = with_a_failed_sync(&project.bus, &disk);
    let (mut other, mut theirs) = open(&project.bus, &disk);
    let failed = theirs.place.segment;
    send_once(&mut other, &mut theirs, 3).unwrap();
    assert!(theirs.place.segment > failed);
    // Readers of the old segment continue in the new one, and so do readers of the history.
    log.catch_up(&mut replica).unwrap();
    assert_eq!((replica.place, replica.next_seq), (theirs.place, theirs.next_seq));
    assert_eq!(replica.state, theirs.state);
    assert_eq!((replica.damaged_lines, theirs.damaged_lines), (0, 0));
    let (entries, _) = log.read_after(LogPosition::default(), usize::MAX).unwrap();
    assert!(entries.windows(2).all(|two| two[0].1.next_seq() <= two[1].1.seq));
    let notice = [Event::SegmentFailed { segment: failed }];
    let count =
        |events: &[Event]| entries.iter().filter(|(_, entry)| entry.events == events).count();
    assert_eq!(count(&notice), 1);
    assert_eq!(count(&[sent(2, &"x".repeat(100))]), 1);
    for (place, entry) in &entries {
        assert_eq!(log.event_at(*place, 0).unwrap(), entry.events[0]);
    }
    // All of it is certainly on disk again, so snapshots are written.
    send_once(&mut log, &mut replica, 4).unwrap();
    assert!(log.syncer.sync_all());
    for seed in 0..20 {
        let (_, found) = open(&project.bus, &disk.after_power_cut(seed));
        assert_eq!(found.state, replica.state, "seed {seed}");
    }
}

#[test]
fn an_unfinished_next_segment_is_skipped() {
    for bytes in ["", "{\"seq\":"] {
        let project = Project::new();
        let disk = SimulatedDisk::default();
        let (log, replica) = with_a_failed_sync(&project.bus, &disk);
        let failed = replica.place.segment;
        // An older version leaves such a file when it dies after creating it.
        let left = disk.create_new(&log.segments.path(replica.next_seq)).unwrap();
        left.append_all(bytes.as_bytes()).unwrap();
        disk.sync_directory(&project.bus.join("log")).unwrap();
        drop(log);
        let (mut next, mut theirs) = open(&project.bus, &disk);
        send_once(&mut next, &mut theirs, 2).unwrap();
        send_once(&mut next, &mut theirs, 3).unwrap();
        let (entries, _) = next.read_after(LogPosition::default(), usize::MAX).unwrap();
        let notice = [Event::SegmentFailed { segment: failed }];
        assert!(entries.iter().any(|(_, entry)| entry.events == notice));
        for seed in 0..20 {
            let (_, found) = open(&project.bus, &disk.after_power_cut(seed));
            assert!((1..=3).all(|number| knows(&found, number)), "seed {seed}");
            assert_eq!(found.state, theirs.state);
        }
    }
}

/// Two processes send messages in turns. Syncs fail now and then, and uncertain messages are sent again.
fn work(
    directory: &Path,
    disk: &SimulatedDisk,
    acknowledged: &mut Vec<u64>,
) -> Result<(), LogError> {
    let mut both = [try_open(directory, disk)?, try_open(directory, disk)?];
    let (log, replica) = &mut both[0];
    append(log, replica, vec![joined(1), joined(2)])?;
    for number in 0..14 {
        let turn = usize::from(number % 3 == 1);
        if number % 4 == 2 {
            disk.fail_next(Fault::Sync);
        }
        if number == 9 {
            disk.fail_next(Fault::ShortWrite(300));
        }
        for attempt in 0.. {
            // Now and then the other process or a new one makes the next attempt.
            match (number + attempt) % 5 {
                4 => both[turn] = try_open(directory, disk)?,
                3 => both.swap(0, 1),
                _ => {}
            }
            let (log, replica) = &mut both[turn];
            match send_once(log, replica, number) {
                Ok(()) => break,
                Err(error) if attempt > 5 => return Err(error),
                Err(_) => {}
            }
        }
        acknowledged.push(number);
    }
    Ok(())
}

#[test]
fn nothing_acknowledged_after_failed_syncs_is_lost_wherever_the_power_is_cut() {
    let project = Project::new();
    let whole = SimulatedDisk::default();
    let mut acknowledged = Vec::new();
    work(&project.bus, &whole, &mut acknowledged).unwrap();
    assert_eq!(acknowledged.len(), 14);
    for cut in 0..=whole.operations() {
        let disk = SimulatedDisk::default();
        disk.cut_power_at(cut);
        let mut acknowledged = Vec::new();
        drop(work(&project.bus, &disk, &mut acknowledged));
        for seed in 0..3 {
            println!("power cut at operation {cut}, seed {seed}");
            let after = disk.after_power_cut(seed ^ (cut as u64).wrapping_mul(0x1000_0001));
            let (mut log, mut replica) = open(&project.bus, &after);
            for number in &acknowledged {
                assert!(knows(&replica, *number), "message {number} is lost");
            }
            send_once(&mut log, &mut replica, 99).unwrap();
            let (mut again, found) = open(&project.bus, &after);
            assert_eq!(found.state, replica.state);
            let (entries, _) = again.read_after(LogPosition::default(), usize::MAX).unwrap();
            let sends = |number: u64| {
                let event = sent(number, &"x".repeat(100));
                entries.iter().filter(|(_, entry)| entry.events.contains(&event)).count()
            };
            assert!((0..14).all(|number| sends(number) <= 1));
        }
    }
}
