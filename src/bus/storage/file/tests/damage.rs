//! Files that are torn, damaged, newer, foreign or missing.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use super::log_fixture::{Project, assert_same, replay};
use crate::bus::BusError;
use crate::bus::storage::contract::{append, joined, sent};
use crate::bus::storage::file::FileLog;
use crate::bus::storage::file::line_format;
use crate::bus::storage::file::log::segments;
use crate::bus::storage::{Log, LogError, LogPosition, Replica};

fn with_three_messages() -> (Project, FileLog, Replica) {
    let project = Project::new();
    let (mut log, mut replica) = project.open();
    append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
    for number in 1..=3 {
        append(&mut log, &mut replica, vec![sent(number, "hello")]).unwrap();
    }
    (project, log, replica)
}

/// Messages in segments so short that there are snapshots.
fn with_snapshots(messages: u64) -> (Project, FileLog, Replica) {
    let project = Project::new();
    let (mut log, mut replica) = project.open_short();
    append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
    for number in 0..messages {
        append(&mut log, &mut replica, vec![sent(number, "hello")]).unwrap();
        log.snapshots.finish();
    }
    (project, log, replica)
}

fn segment(project: &Project) -> PathBuf {
    project.names("log").pop().unwrap()
}

/// Returns where each line ends.
fn ends(bytes: &[u8]) -> Vec<usize> {
    let is_end = |(index, byte): (usize, &u8)| (*byte == b'\n').then_some(index + 1);
    bytes.iter().enumerate().filter_map(is_end).collect()
}

#[test]
fn a_torn_tail_loses_at_most_the_torn_line() {
    let (project, _log, _) = with_three_messages();
    let path = segment(&project);
    let whole = fs::read(&path).unwrap();
    let ends = ends(&whole);
    let (mut log, _) = project.open();
    for cut in ends[1]..=whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let lines = ends.iter().filter(|end| **end <= cut).count();
        let mut replica = replay(&mut log);
        assert_eq!(replica.next_seq, lines as u64 + 2, "cut at {cut}");
        assert_eq!(replica.place.offset, ends[lines - 1] as u64);
        assert_eq!(replica.damaged_lines, 0);
        let seq = append(&mut log, &mut replica, vec![sent(9, "new")]).unwrap();
        assert_eq!(seq, lines as u64 + 2);
        assert_same(&replay(&mut log), &replica);
    }
}

#[test]
fn a_reader_reads_an_unfinished_line_once_it_is_finished() {
    let (project, mut log, _) = with_three_messages();
    let path = segment(&project);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 10]).unwrap();
    let mut replica = replay(&mut log);
    assert_eq!(replica.next_seq, 5);
    log.catch_up(&mut replica).unwrap();
    assert_eq!(replica.next_seq, 5);
    fs::write(&path, &whole).unwrap();
    log.catch_up(&mut replica).unwrap();
    assert_eq!((replica.next_seq, replica.damaged_lines), (6, 0));
}

#[test]
fn a_damaged_line_is_skipped_and_counted() {
    let (project, mut log, _) = with_three_messages();
    let path = segment(&project);
    let whole = fs::read(&path).unwrap();
    let ends = ends(&whole);
    for at in ends[1]..ends[2] {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x04;
        fs::write(&path, &bytes).unwrap();
        let mut replica = replay(&mut log);
        // A damaged newline turns two lines into one bad line.
        let is_newline = at == ends[2] - 1;
        assert_eq!(replica.damaged_lines, 1, "byte {at}");
        assert_eq!(replica.next_seq, if is_newline { 4 } else { 6 });
        let (entries, _) = log.read_after(LogPosition::default(), usize::MAX).unwrap();
        assert_eq!(entries.len(), if is_newline { 2 } else { 3 });
        let seq = append(&mut log, &mut replica, vec![sent(9, "new")]).unwrap();
        assert_eq!(seq, if is_newline { 4 + 1_024 } else { 6 });
    }
}

#[test]
fn seqs_are_left_free_after_a_damaged_last_line() {
    let (project, _log, _) = with_three_messages();
    let path = segment(&project);
    let mut bytes = fs::read(&path).unwrap();
    let last = ends(&bytes)[2];
    bytes[last + 5] ^= 0x04;
    fs::write(&path, &bytes).unwrap();
    let (mut log, mut replica) = project.open();
    assert_eq!((replica.next_seq, replica.damaged_lines), (5, 1));
    let seq = append(&mut log, &mut replica, vec![sent(9, "new")]).unwrap();
    assert_eq!(seq, 5 + 1_024);
    assert_same(&project.open().1, &replica);
}

#[test]
fn a_file_of_many_gigabytes_without_a_line_end_is_refused_and_not_read_to_its_end() {
    let (project, mut log, replica) = with_three_messages();
    let path = segment(&project);
    let length = fs::metadata(&path).unwrap().len();
    // Its bytes take no room on the disk.
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(1 << 40).unwrap();
    let mut read = Replica::default();
    let refused = log.read_new(&mut read, usize::MAX).unwrap_err().to_string();
    assert!(refused.contains("without the end of a line"), "{refused}");
    assert_same(&read, &replica);
    assert!(log.segments.buffer_bytes() <= 2 * line_format::MAX_LINE_BYTES);
    file.set_len(length).unwrap();
    assert_same(&replay(&mut log), &replica);
}

#[test]
fn a_text_is_found_across_the_parts_of_a_long_file() {
    let (project, mut log, _) = with_three_messages();
    let path = segment(&project);
    let mut bytes = fs::read(&path).unwrap();
    bytes.resize(segments::CHUNK_BYTES - 3, b'x');
    bytes.extend(b"needle");
    bytes.resize(2 * segments::CHUNK_BYTES, b'x');
    fs::write(&path, &bytes).unwrap();
    let part = LogPosition { segment: 1, offset: 0 };
    assert!(log.may_hold(part, "needle").unwrap());
    assert!(!log.may_hold(part, "needles").unwrap());
}

#[test]
fn an_endless_line_is_never_held_in_memory() {
    let (project, mut log, replica) = with_three_messages();
    let path = segment(&project);
    let mut bytes = fs::read(&path).unwrap();
    let length = bytes.len();
    bytes.resize(length + 3 * line_format::MAX_LINE_BYTES, b'x');
    fs::write(&path, &bytes).unwrap();
    let mut read = replay(&mut log);
    assert_same(&read, &replica);
    assert!(log.segments.buffer_bytes() <= 2 * line_format::MAX_LINE_BYTES);
    append(&mut log, &mut read, vec![sent(9, "new")]).unwrap();
    assert!(fs::metadata(&path).unwrap().len() < length as u64 + 1_000);

    bytes.push(b'\n');
    bytes.extend_from_slice(&fs::read(&path).unwrap()[length..]);
    fs::write(&path, &bytes).unwrap();
    let again = replay(&mut log);
    assert_eq!((again.next_seq, again.damaged_lines), (read.next_seq, 1));
}

/// Such a line could not be read: it would be acknowledged and lost.
#[test]
fn no_line_is_written_after_the_last_seq() {
    let (project, mut log, mut replica) = with_three_messages();
    let last = line_format::MAX_SEQ - 1;
    let segment = project.bus.join("log").join(format!("{last:020}.jsonl"));
    fs::write(segment, "").unwrap();
    let mut written = 0;
    let refused = loop {
        match append(&mut log, &mut replica, vec![sent(10 + written, "hello")]) {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
    };
    assert!(refused.to_string().contains("no numbers left"), "{refused}");
    let read = project.open().1;
    assert_eq!(read.damaged_lines, 0);
    assert_same(&read, &replica);
    assert!(written <= 1, "{written}");
}

#[test]
fn a_damaged_snapshot_is_replaced_by_the_one_before() {
    let (project, log, replica) = with_snapshots(30);
    let snapshots = project.names("snapshot");
    let newest = log.snapshots.newest().replica.unwrap();
    for damage in [&b""[..], b"{}\n", b"\0\0\0\0"] {
        fs::write(&snapshots[1], damage).unwrap();
        assert!(log.snapshots.newest().replica.unwrap().next_seq < newest.next_seq);
        assert_same(&project.open_short().1, &replica);
    }
    fs::write(&snapshots[0], b"").unwrap();
    assert!(log.snapshots.newest().replica.is_none());
    assert_same(&project.open_short().1, &replica);
}

#[test]
fn a_log_that_ends_before_its_snapshot_continues_after_it() {
    let (project, log, _) = with_snapshots(6);
    let newest = log.snapshots.newest().replica.unwrap();
    for path in project.names("log") {
        fs::write(path, b"").unwrap();
    }
    let (mut log, mut replica) = project.open_short();
    assert_eq!(replica.next_seq, newest.next_seq);
    let seq = append(&mut log, &mut replica, vec![sent(50, "hello")]).unwrap();
    assert!(seq >= newest.next_seq);
    assert_same(&project.open_short().1, &replica);
}

#[test]
fn a_removed_bus_takes_no_further_entries() {
    for is_recreated in [false, true] {
        let (project, mut log, mut replica) = with_three_messages();
        let durability = log.durability();
        fs::remove_dir_all(&project.bus).unwrap();
        if is_recreated {
            drop(project.open());
        }
        assert!(matches!(durability.sync(), Err(LogError::Removed)));
        let outcome = append(&mut log, &mut replica, vec![sent(9, "new")]);
        assert!(matches!(outcome, Err(LogError::Removed)), "{outcome:?}");
        let outcome = log.catch_up(&mut replica);
        assert!(matches!(outcome, Err(LogError::Removed)));
    }
}

#[test]
fn a_replaced_segment_or_lock_takes_no_further_entries() {
    for replaced in ["lock", "log/00000000000000000001.jsonl"] {
        let (project, mut log, mut replica) = with_three_messages();
        let path = project.bus.join(replaced);
        let bytes = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        // A file in between keeps the system from reusing the inode.
        fs::write(project.bus.join("between"), b"").unwrap();
        fs::write(&path, bytes).unwrap();
        let outcome = append(&mut log, &mut replica, vec![sent(9, "new")]);
        assert!(matches!(outcome, Err(LogError::Removed)), "{outcome:?}");
    }
}

/// Retention never removes the newest segment, so the log cannot have become empty.
#[test]
fn a_log_without_its_newest_segment_takes_no_further_entries() {
    let (project, mut log, mut replica) = with_three_messages();
    let [segment] = project.names("log").try_into().unwrap();
    fs::rename(segment, project.bus.join("elsewhere")).unwrap();
    for _ in 0..2 {
        let outcome = log.catch_up(&mut replica);
        assert!(matches!(outcome, Err(LogError::Removed)), "{outcome:?}");
        let outcome = append(&mut log, &mut replica, vec![sent(9, "new")]);
        assert!(matches!(outcome, Err(LogError::Removed)), "{outcome:?}");
    }
    assert!(project.names("log").is_empty());
}

/// The error for a model names the file without the path of the project.
#[test]
fn a_file_that_is_no_segment_is_refused_by_name() {
    for is_pipe in [true, false] {
        let (project, log, _) = with_three_messages();
        drop(log);
        let name = "00000000000000000900.jsonl";
        let path = project.bus.join("log").join(name);
        if is_pipe {
            nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        } else {
            fs::create_dir(&path).unwrap();
        }
        let refused = Log::open(&mut project.try_open().unwrap()).unwrap_err();
        assert!(refused.to_string().contains(path.to_str().unwrap()));
        assert_eq!(
            BusError::from(refused).message_for_model(),
            format!("cannot use `.claude/bridge/log/{name}`: it is not a plain file: remove it")
        );
    }
}

fn refusal(project: &Project) -> (PathBuf, String) {
    match project.try_open().map(drop) {
        Err(LogError::Refused { path, reason }) => (path, reason),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_directory_that_other_users_may_change_is_refused() {
    let project = Project::new();
    drop(project.open());
    for path in [project.bus.clone(), project.bus.join("log")] {
        for mode in [0o720, 0o702] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let (refused, reason) = refusal(&project);
            assert_eq!(refused, path);
            assert!(reason.contains("chmod go-w"), "{reason}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    }
    drop(project.open());
}

#[test]
fn links_and_pipes_in_place_of_ours_are_refused() {
    let project = Project::new();
    drop(project.open());
    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("target");
    fs::write(&target, b"").unwrap();
    for name in ["bus.json", "lock"] {
        let path = project.bus.join(name);
        let bytes = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        symlink(&target, &path).unwrap();
        assert_eq!(refusal(&project).0, path);
        fs::remove_file(&path).unwrap();
        fs::write(&path, bytes).unwrap();
    }
    let presence = project.bus.join("presence");
    fs::remove_dir(&presence).unwrap();
    symlink(elsewhere.path(), &presence).unwrap();
    assert_eq!(refusal(&project).0, presence);
    fs::remove_file(&presence).unwrap();

    let moved = elsewhere.path().join("bridge");
    fs::rename(&project.bus, &moved).unwrap();
    symlink(&moved, &project.bus).unwrap();
    let (refused, reason) = refusal(&project);
    assert_eq!(refused, project.bus);
    assert!(reason.contains("symbolic link"), "{reason}");
    assert!(fs::read(&target).unwrap().is_empty());
}

#[test]
fn a_newer_format_is_refused_and_a_damaged_file_named() {
    let project = Project::new();
    drop(project.open());
    let path = project.bus.join("bus.json");
    fs::write(&path, br#"{"format":3,"shape":[]}"#).unwrap();
    assert!(matches!(project.try_open().map(drop), Err(LogError::Newer)));
    fs::write(&path, b"{\"for").unwrap();
    assert_eq!(refusal(&project).0, path);
}

#[test]
fn a_newer_event_ends_the_use_of_the_bus_unless_it_may_be_skipped() {
    let (project, mut log, mut replica) = with_three_messages();
    let path = segment(&project);
    let mut bytes = fs::read(&path).unwrap();
    let head = r#""ts":1,"tick":[1,2],"id":"00000000-0000-0000-0000-000000000003""#;
    let skippable = format!(r#"{{"seq":6,{head},"events":[{{"comet":{{"skip":true}}}}]}}"#);
    bytes.extend(line_format::seal(skippable));
    fs::write(&path, &bytes).unwrap();
    log.catch_up(&mut replica).unwrap();
    assert!(replica.skipped_events);
    assert_eq!((replica.next_seq, replica.damaged_lines), (7, 0));

    let strict = format!(r#"{{"seq":7,{head},"events":[{{"comet":{{}}}}]}}"#);
    bytes.extend(line_format::seal(strict));
    fs::write(&path, &bytes).unwrap();
    let outcome = append(&mut log, &mut replica, vec![sent(9, "new")]);
    assert!(matches!(outcome, Err(LogError::Newer)));
    assert!(matches!(log.catch_up(&mut replica), Err(LogError::Newer)));
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn a_replica_that_skipped_events_writes_no_snapshot() {
    let project = Project::new();
    let (mut log, mut replica) = project.open_short();
    replica.skipped_events = true;
    for number in 0..20 {
        append(&mut log, &mut replica, vec![sent(number, "hello")]).unwrap();
        log.snapshots.finish();
    }
    assert!(project.names("snapshot").is_empty());
}
