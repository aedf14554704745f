//! Another program truncates a segment while a team works: processes that had read more no longer write.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use super::log_fixture::{Project, assert_same, replay};
use crate::bus::storage::contract::{append, joined, sent};
use crate::bus::storage::file::{FileLog, Follower, Options, Origin};
use crate::bus::storage::{Appended, Log, LogError, Replica, Verdict};
use crate::domain::time::Now;
use crate::sys::fs::disk::RealDisk;

fn segment(project: &Project) -> PathBuf {
    project.names("log").pop().unwrap()
}

/// Opens the log with a stopped clock, so that lines with equal events have equal lengths.
fn open(project: &Project) -> (FileLog, Replica) {
    let tick = crate::domain::time::Tick { boot: 1, ms: 1_000_000 };
    let now = Now { wall_ms: 1_770_000_000_000, tick };
    let options = Options { clock: Arc::new(move || now), ..Options::default() };
    let mut log = FileLog::open(&project.bus, Arc::new(RealDisk), options).unwrap();
    let replica = Log::open(&mut log).unwrap();
    (log, replica)
}

/// Two processes that have both read a log of some lines.
fn a_team() -> (Project, [(FileLog, Replica); 2]) {
    let project = Project::new();
    let (mut log, mut replica) = open(&project);
    append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
    for number in 1..=3 {
        append(&mut log, &mut replica, vec![sent(number, "hello")]).unwrap();
    }
    let other = open(&project);
    (project, [(log, replica), other])
}

/// Cuts off the last line and a part of the one before. Returns the remaining bytes.
fn cut_off(project: &Project) -> Vec<u8> {
    let path = segment(project);
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n');
    bytes.truncate(last.unwrap() - 20);
    fs::File::options().write(true).open(&path).unwrap().set_len(bytes.len() as u64).unwrap();
    bytes
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(outcome: Result<T, LogError>) {
    match outcome {
        Err(LogError::Refused { reason, .. }) => {
            assert!(reason.contains("End all sessions"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_process_that_has_read_more_does_not_write_after_a_cut() {
    let (project, mut team) = a_team();
    let left = cut_off(&project);
    for (log, replica) in &mut team {
        let before = replica.clone();
        assert_refused(append(log, replica, vec![sent(9, "on top")]));
        assert_refused(log.catch_up(replica));
        assert_same(replica, &before);
    }
    assert_eq!(fs::read(segment(&project)).unwrap(), left);
}

#[test]
fn a_follower_says_that_a_segment_was_cut_off() {
    let (project, _team) = a_team();
    let mut follower =
        Follower::open(&project.bus, Origin::Believed, Arc::new(|| ())).unwrap().unwrap();
    follower.look().unwrap();
    cut_off(&project);
    assert_refused(follower.look());
}

#[test]
fn a_segment_that_was_cut_and_has_grown_again_is_noticed() {
    let (project, [(mut log, mut replica), mut other]) = a_team();
    cut_off(&project);
    let (mut newcomer, mut read) = open(&project);
    // The lines are as long as the ones that they replace.
    for number in 2..=3 {
        append(&mut newcomer, &mut read, vec![sent(number, "hallo")]).unwrap();
    }
    assert_eq!(read.place, replica.place);
    let grown = fs::read(segment(&project)).unwrap();
    assert_refused(append(&mut log, &mut replica, vec![sent(9, "on top")]));
    append(&mut newcomer, &mut read, vec![sent(4, "more")]).unwrap();
    let (other, theirs) = &mut other;
    assert_refused(other.catch_up(theirs));
    assert!(fs::read(segment(&project)).unwrap().starts_with(&grown));
}

#[test]
fn a_reader_of_a_cut_segment_waits_for_the_lock() {
    let (project, [(mut log, mut replica), (other, _)]) = a_team();
    let whole = fs::read(segment(&project)).unwrap();
    let left = cut_off(&project);
    let guard = other.try_lock().unwrap().unwrap();
    log.catch_up(&mut replica).unwrap();
    let mut decide = |_: &_, _| Verdict::Nothing;
    let appended = Log::append(&mut log, &mut replica, &mut decide).unwrap();
    assert!(matches!(appended, Appended::Contended), "{appended:?}");
    // The lost bytes are restored.
    let file = fs::File::options().write(true).open(segment(&project)).unwrap();
    file.write_all_at(&whole[left.len()..], left.len() as u64).unwrap();
    drop(guard);
    append(&mut log, &mut replica, vec![sent(9, "new")]).unwrap();
    assert_same(&replay(&mut log), &replica);
}
