//! Versions beside each other: the data of a newer one is neither taken for damage nor lost.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use uuid::Uuid;

use super::log_fixture::{Project, assert_same};
use crate::bus::storage::contract::{append, joined, sent};
use crate::bus::storage::file::line_format;
use crate::bus::storage::file::log::snapshot::{self, Decoded};
use crate::bus::storage::file::{FileLog, Options};
use crate::bus::storage::format_versions::SNAPSHOT_LEVEL as LEVEL;
use crate::bus::storage::{Log, LogError, Replica};
use crate::domain::ids::{MessageId, TaskId};
use crate::domain::task::TaskStatus;
use crate::sys::fs::disk::RealDisk;

/// A bus with two snapshots in use, and a log of several segments.
fn with_snapshots() -> (Project, Replica) {
    let project = Project::new();
    let (mut log, mut replica) = project.open_short();
    append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
    for number in 0..40 {
        append(&mut log, &mut replica, vec![sent(number, "hello")]).unwrap();
        log.snapshots.finish();
    }
    assert_eq!(project.names("snapshot").len(), 2);
    (project, replica)
}

/// Rewrites the snapshots with another text in them, as another version would.
fn rewrite(project: &Project, from: &str, to: &str) {
    for path in project.names("snapshot") {
        let text = fs::read_to_string(&path).unwrap();
        let (body, _) = text.rsplit_once(",\"crc\"").unwrap();
        let body = body.replacen(from, to, 1);
        assert!(body.contains(to), "{to}");
        fs::write(&path, line_format::seal(body + "}")).unwrap();
    }
}

/// Removes the oldest segment, as retention does in the end.
fn lose_the_oldest_segment(project: &Project) {
    fs::remove_file(&project.names("log")[0]).unwrap();
}

fn try_open(project: &Project) -> Result<(FileLog, Replica), LogError> {
    let mut log = FileLog::open(&project.bus, Arc::new(RealDisk), Options::default())?;
    let replica = Log::open(&mut log)?;
    Ok((log, replica))
}

fn level(of: &str, level: u32) -> String {
    format!("\"{of}\":{level},")
}

#[test]
fn a_bus_does_not_open_without_the_contents_of_its_newer_snapshots() {
    let format = ("{\"format\":2,".to_owned(), "{\"format\":3,".to_owned());
    let least = (level("least", 1), level("least", LEVEL + 1));
    let state = ("\"members\":{".to_owned(), "\"people\":{".to_owned());
    for (from, to) in [format, least, state] {
        let (project, replica) = with_snapshots();
        rewrite(&project, &from, &to);
        let (_, whole) = try_open(&project).unwrap();
        assert_eq!(whole.state, replica.state, "the log has everything");
        assert!(whole.skipped_events, "it writes no snapshot in their place");
        lose_the_oldest_segment(&project);
        let outcome = try_open(&project).map(|_| ());
        assert!(matches!(outcome, Err(LogError::Newer)), "{to}: {outcome:?}");
    }
}

#[test]
fn a_bus_whose_beginning_is_gone_does_not_open_without_a_snapshot() {
    for are_damaged in [false, true] {
        let (project, replica) = with_snapshots();
        lose_the_oldest_segment(&project);
        assert_same(&try_open(&project).unwrap().1, &replica);
        for path in project.names("snapshot") {
            if are_damaged {
                fs::write(path, "{").unwrap();
            } else {
                fs::remove_file(path).unwrap();
            }
        }
        match try_open(&project).map(|_| ()) {
            Err(LogError::Refused { path, reason }) => {
                assert_eq!(path, project.bus);
                assert!(reason.contains("start an empty bus"), "{reason}");
            }
            outcome => panic!("{outcome:?}"),
        }
    }
}

#[test]
fn a_version_that_does_not_know_a_field_of_a_snapshot_writes_none() {
    let (project, _) = with_snapshots();
    rewrite(&project, &level("level", LEVEL), &level("level", LEVEL + 1));
    rewrite(&project, "\"state\":{", "\"state\":{\"comets\":[1,2,3],");
    let before = project.names("snapshot");
    let (mut log, mut replica) = project.open_short();
    assert!(replica.state.message(&MessageId::from_bits(1)).is_some());
    for number in 100..140 {
        append(&mut log, &mut replica, vec![sent(number, "hello")]).unwrap();
        log.snapshots.finish();
    }
    assert_eq!(project.names("snapshot"), before);
    for path in before {
        let text = fs::read_to_string(path).unwrap();
        assert!(text.contains("comets"));
    }
}

#[test]
fn a_running_older_version_replaces_no_snapshot_of_a_newer_one() {
    let levels = (level("level", LEVEL), level("level", LEVEL + 1));
    let formats = ("{\"format\":2,".to_owned(), "{\"format\":3,".to_owned());
    for (from, to) in [levels, formats] {
        let (project, _) = with_snapshots();
        let (mut log, mut replica) = project.open_short();
        rewrite(&project, &from, &to);
        let before = project.names("snapshot");
        for number in 100..140 {
            append(&mut log, &mut replica, vec![sent(number, "hello")]).unwrap();
            log.snapshots.finish();
        }
        assert_eq!(project.names("snapshot"), before, "{to}");
    }
}

#[test]
fn a_line_of_another_form_ends_the_use_of_the_bus() {
    let project = Project::new();
    let (mut log, mut replica) = project.open();
    append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
    let path = project.names("log").pop().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let head = r#"{"seq":3,"ts":1,"tick":{"host":"a","boot":1,"ms":2},"id":"00000000-0000-0000-0000-000000000003""#;
    let line = format!("{head},\"events\":[]}}");
    bytes.extend(line_format::seal(line));
    fs::write(&path, &bytes).unwrap();
    assert!(matches!(log.catch_up(&mut replica), Err(LogError::Newer)));
    assert_eq!(replica.damaged_lines, 0);
    let outcome = append(&mut log, &mut replica, vec![sent(9, "new")]);
    assert!(matches!(outcome, Err(LogError::Newer)));
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn a_bus_that_only_newer_versions_may_write_is_refused() {
    let project = Project::new();
    drop(project.open());
    let path = project.bus.join("bus.json");
    let text = fs::read_to_string(&path).unwrap();
    for (least, may) in [(LEVEL, true), (LEVEL + 1, false)] {
        let text = text.replacen('{', &format!("{{\"least\":{least},"), 1);
        fs::write(&path, text).unwrap();
        let outcome = project.try_open().map(drop);
        assert_eq!(outcome.is_ok(), may);
        assert_eq!(matches!(outcome, Err(LogError::Newer)), !may);
    }
}

fn fixture(level: u32) -> PathBuf {
    let fixtures = "src/bus/storage/file/tests/fixtures";
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.join(fixtures).join(format!("snapshot-{level}.json"))
}

/// The bus of the fixtures.
const BUS: Uuid = Uuid::from_u128(0x0001_0000_0000_7000_8000_0000_0000_0001);

fn read(level: u32) -> (Value, Replica) {
    let bytes = fs::read(fixture(level)).unwrap();
    let Decoded::Usable(replica) = snapshot::decode(&bytes, BUS) else {
        panic!("the snapshot of level {level} is not read any more")
    };
    (serde_json::from_slice(&bytes).unwrap(), *replica)
}

/// Says whether the new value contains all of the old one.
fn is_kept(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            old.iter().all(|(key, old)| new.get(key).is_some_and(|new| is_kept(old, new)))
        }
        (Value::Array(old), Value::Array(new)) => {
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| is_kept(old, new))
        }
        (old, new) => old == new,
    }
}

/// Writes the places of unread messages as before level 10, where urgent ones had no other place.
fn forget_urgency(state: &mut Value) {
    for member in state["members"].as_object_mut().unwrap().values_mut() {
        let Some(unread) = member.get_mut("unread").and_then(Value::as_object_mut) else {
            continue;
        };
        let places = std::mem::take(unread).into_iter();
        unread.extend(places.map(|(place, id)| (place.split('@').next().unwrap().to_owned(), id)));
    }
}

/// Snapshots as they were written in each level, which are read for ever.
#[test]
fn snapshots_of_every_level_are_read_as_they_were_written() {
    for level in 1..=LEVEL {
        let (mut written, replica) = read(level);
        let mut again = serde_json::to_value(&replica.state).unwrap();
        if level < 10 {
            forget_urgency(&mut again);
        }
        if level == 1 {
            // The days for which the mail of a name waits stood among the timers.
            let timers = written["state"]["timers"].as_array_mut().unwrap();
            let mail = timers.extract_if(.., |timer| timer[0].get("mail").is_some());
            let names: Vec<_> = mail.map(|timer| timer[0]["mail"].clone()).collect();
            assert!(!names.is_empty());
            let waits = |name: &Value| again["absent"].get(name.as_str().unwrap()).is_some();
            assert!(names.iter().all(waits), "{again:#}");
        }
        assert!(is_kept(&written["state"], &again), "level {level}: {again:#}");
        assert!(!replica.skipped_events);
        assert!(replica.place.offset > 0 && replica.next_seq > 30);
        let state = &replica.state;
        assert_eq!(state.live_sessions().len(), 3);
        assert!(state.departed().any(|left| left.past.is_some()));
        let status = |id: &str| state.task(&TaskId::parse(id).unwrap()).unwrap().status;
        assert_eq!(status("task-aaaaaaab"), TaskStatus::Done);
        assert_eq!(status("task-aaaaaaac"), TaskStatus::Running);
        assert!(state.messages().count() > 2);
    }
}

/// If this fails for a new field, older versions would drop it, so it needs a new level: raise `SNAPSHOT_LEVEL`, and run this test
/// once with `BRIDGE_KEEP_SNAPSHOT=1` in the environment, which writes the fixture of the new level.
#[test]
fn the_state_has_the_fields_of_its_level() {
    if std::env::var_os("BRIDGE_KEEP_SNAPSHOT").is_some() && !fixture(LEVEL).exists() {
        let (_, before) = read(LEVEL - 1);
        let mut bytes = Vec::new();
        snapshot::write_to(&mut bytes, BUS, &before).unwrap();
        fs::write(fixture(LEVEL), bytes).unwrap();
    }
    let (written, replica) = read(LEVEL);
    let again = serde_json::to_value(&replica.state).unwrap();
    assert_eq!(again, written["state"], "level {LEVEL}");
}
