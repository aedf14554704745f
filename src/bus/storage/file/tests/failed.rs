//! A write or a sync fails in one process, and other processes see the consequences.

use std::path::Path;
use std::sync::Arc;

use super::log_fixture::Project;
use crate::bus::event::Event;
use crate::bus::storage::contract::{append, joined, knows, sent};
use crate::bus::storage::file::simulated_disk::{Fault, SimulatedDisk};
use crate::bus::storage::file::{FileLog, Options};
use crate::bus::storage::{Log, LogError, LogPosition, Replica, Verdict};
use crate::sys::fs::disk::Disk as _;

fn try_open(directory: &Path, disk: &SimulatedDisk) -> Result<(FileLog, Replica), LogError> {
    let mut log = FileLog::open(directory, Arc::new(disk.clone()), Options::default())?;
    let replica = Log::open(&mut log)?;
    Ok((log, replica))
}

fn open(directory: &Path, disk: &SimulatedDisk) -> (FileLog, Replica) {
    try_open(directory, disk).unwrap()
}

/// Two members are on disk, and the sync of the first message fails.
fn with_a_failed_sync(directory: &Path, disk: &SimulatedDisk) -> (FileLog, Replica) {
    let (mut log, mut replica) = open(directory, disk);
    append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
    log.durability().sync().unwrap();
    append(&mut log, &mut replica, vec![sent(1, "unknown")]).unwrap();
    disk.fail_next(Fault::Sync);
    log.durability().sync().unwrap_err();
    (log, replica)
}

#[test]
fn a_failed_replacement_of_a_segment_leaves_nothing_that_other_processes_read() {
    let project = Project::new();
    let disk = SimulatedDisk::default();
    let (mut log, mut replica) = with_a_failed_sync(&project.bus, &disk);
    let failed = replica.place.segment;
    for fault in [Fault::NoSpace, Fault::Sync] {
        disk.fail_next(fault);
        append(&mut log, &mut replica, vec![sent(2, "lost")]).unwrap_err();
        let (_, read) = open(&project.bus, &disk);
        assert_eq!((read.place, &read.state), (replica.place, &replica.state));
        assert_eq!(read.place.segment, failed);
        // A command is not acknowledged before its events are on disk.
        disk.fail_next(fault);
        let nothing = log.append(&mut replica, &mut |_, _| Verdict::Nothing);
        assert!(matches!(nothing, Err(LogError::OutcomeUnknown { .. })));
    }
    let (mut other, mut theirs) = open(&project.bus, &disk);
    append(&mut other, &mut theirs, vec![sent(3, "kept")]).unwrap();
    append(&mut log, &mut replica, vec![sent(4, "kept")]).unwrap();
    assert!([1, 3, 4].iter().all(|number| knows(&replica, *number)));
    assert!(!knows(&replica, 2));
    assert_eq!(replica.damaged_lines, 0);
}

#[test]
fn no_process_writes_to_a_segment_that_another_could_not_sync() {
    let project = Project::new();
    let disk = SimulatedDisk::default();
    let (log, replica) = with_a_failed_sync(&project.bus, &disk);
    let failed = replica.place.segment;
    // The process dies before it can report that on the bus.
    drop(log);
    let (mut next, mut theirs) = open(&project.bus, &disk);
    append(&mut next, &mut theirs, vec![sent(2, "kept")]).unwrap();
    next.durability().sync().unwrap();
    assert!(theirs.place.segment > failed);
    let (entries, _) = next.read_after(LogPosition::default(), usize::MAX).unwrap();
    let notice = [Event::SegmentFailed { segment: failed }];
    assert!(entries.iter().any(|(_, entry)| entry.events == notice));
    let (_, found) = open(&project.bus, &disk.after_power_cut(1));
    assert!(knows(&found, 2) && knows(&found, 1));
}

/// One process cannot sync its second append and ends, and further processes continue.
fn work(
    directory: &Path,
    disk: &SimulatedDisk,
    acknowledged: &mut Vec<u64>,
) -> Result<(), LogError> {
    let (mut log, mut replica) = try_open(directory, disk)?;
    append(&mut log, &mut replica, vec![joined(1), joined(2)])?;
    append(&mut log, &mut replica, vec![sent(1, "kept")])?;
    log.durability().sync()?;
    acknowledged.push(1);
    append(&mut log, &mut replica, vec![sent(2, "unknown")])?;
    disk.fail_next(Fault::Sync);
    if !matches!(log.durability().sync(), Err(LogError::OutcomeUnknown { .. })) {
        return Ok(());
    }
    drop(log);
    for number in 3..6 {
        let (mut next, mut theirs) = try_open(directory, disk)?;
        append(&mut next, &mut theirs, vec![sent(number, "kept")])?;
        next.durability().sync()?;
        acknowledged.push(number);
    }
    Ok(())
}

#[test]
fn after_a_failed_sync_nothing_acknowledged_is_lost_wherever_the_power_is_cut() {
    let project = Project::new();
    let whole = SimulatedDisk::default();
    let mut acknowledged = Vec::new();
    work(&project.bus, &whole, &mut acknowledged).unwrap();
    assert_eq!(acknowledged, [1, 3, 4, 5]);
    let marks = |disk: &SimulatedDisk| {
        let names = disk.list(&project.bus.join("log")).unwrap();
        names.iter().filter(|name| name.ends_with(".failed")).count()
    };
    assert_eq!(marks(&whole), 1);
    for cut in 0..=whole.operations() {
        let disk = SimulatedDisk::default();
        disk.cut_power_at(cut);
        let mut acknowledged = Vec::new();
        // A mark that could not be written is no error.
        drop(work(&project.bus, &disk, &mut acknowledged));
        for seed in 0..6 {
            let after = disk.after_power_cut(seed ^ cut as u64);
            let (mut log, mut replica) = open(&project.bus, &after);
            for number in &acknowledged {
                assert!(knows(&replica, *number), "{number}, cut at {cut}");
            }
            append(&mut log, &mut replica, vec![sent(9, "on")]).unwrap();
            log.durability().sync().unwrap();
            assert_eq!(open(&project.bus, &after).1.state, replica.state);
        }
    }
}
