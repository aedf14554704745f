//! The files in the bus directory: their permissions, and the removal of files of dead sessions.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::log_fixture::{DAY_MS, Project, assert_same};
use crate::bus::storage::contract::{append, joined};
use crate::bus::storage::file::upkeep::{Verified, verify};
use crate::bus::storage::file::{Examined, FileLog, Foreign, Options, Origin, Proof, examine};
use crate::bus::storage::{Log, Presence, Standing};
use crate::domain::ids::{SessionId, TaskId};
use crate::sys::clock;
use crate::sys::fs::disk::{Disk, RealDisk};

#[test]
fn all_files_are_private_to_their_owner() {
    let project = Project::new();
    let (mut log, mut replica) = project.open();
    append(&mut log, &mut replica, vec![joined(1)]).unwrap();
    log.durability().put_blob(uuid::Uuid::nil(), "text").unwrap();
    log.put_view("[]").unwrap();
    let mut open = vec![project.bus.clone()];
    while let Some(path) = open.pop() {
        let metadata = fs::metadata(&path).unwrap();
        let mode = metadata.permissions().mode() & 0o777;
        if metadata.is_dir() {
            assert_eq!(mode, 0o700, "{}", path.display());
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            assert_eq!(mode, 0o600, "{}", path.display());
        }
    }
}

#[test]
fn the_presence_of_a_dead_session_tells_when_it_last_beat() {
    let project = Project::new();
    let (mut log, _) = project.open();
    let session = SessionId(uuid::Uuid::from_u128(7));
    let before_ms = clock::now().wall_ms;
    log.hold(session).unwrap().beat();
    assert_eq!(log.held(session), Presence::Free);
    // The times of files lag behind the clock by some milliseconds.
    let alive_ms = log.last_alive_ms(session, None).unwrap();
    assert!((before_ms - 1_000..=clock::now().wall_ms).contains(&alive_ms));

    let task = TaskId::from_bits(8);
    log.transcript(&task, "{}").unwrap();
    let transcript = project.bus.join("tasks").join(format!("{task}.jsonl"));
    let later = SystemTime::UNIX_EPOCH + Duration::from_secs(4_000_000_000);
    fs::File::options().write(true).open(transcript).unwrap().set_modified(later).unwrap();
    assert_eq!(log.last_alive_ms(session, Some(&task)), Some(4_000_000_000_000));
}

#[test]
fn old_files_of_dead_sessions_are_removed_unless_a_process_holds_them() {
    let project = Project::new();
    let (mut log, _) = project.open();
    let id = |number| SessionId(uuid::Uuid::from_u128(number));
    let [old, live, held, fresh, left] = [1, 2, 3, 4, 5].map(id);
    let aged = |part: &str, session: SessionId| {
        let path = project.bus.join(part).join(session.to_string());
        let file = fs::File::options().create(true).append(true).open(path).unwrap();
        let one_second = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        file.set_modified(one_second).unwrap();
    };
    let _kept = Log::hold(&mut log, held).unwrap();
    for session in [old, live, held] {
        aged("presence", session);
        aged("bell", session);
    }
    for session in [fresh, left] {
        fs::write(project.bus.join("presence").join(session.to_string()), "").unwrap();
    }
    fs::write(project.bus.join("presence/notes.txt"), "").unwrap();
    let standing = |session| match session {
        session if session == live => Standing::Live,
        session if session == left || session == held => Standing::Left,
        _ => Standing::Unknown,
    };
    log.clear_presences(&standing).unwrap();
    let names = |part| {
        let names = project.names(part).into_iter();
        let last = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        names.map(last).collect::<Vec<_>>()
    };
    let texts =
        |sessions: &[SessionId]| sessions.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(names("bell"), texts(&[live, held]));
    let mut presences = texts(&[live, held, fresh]);
    presences.push("notes.txt".to_owned());
    assert_eq!(names("presence"), presences);
}

#[test]
fn a_process_whose_clock_is_ahead_removes_no_young_presence() {
    let project = Project::new();
    let in_a_month = || {
        let mut now = clock::now();
        now.wall_ms += 30 * i64::try_from(DAY_MS).unwrap();
        now
    };
    let options = Options { clock: Arc::new(in_a_month), ..Options::default() };
    let mut log = FileLog::open(&project.bus, Arc::new(RealDisk), options).unwrap();
    let young = project.bus.join("presence").join(SessionId(uuid::Uuid::nil()).to_string());
    // A presence is created a moment before it is locked.
    fs::write(&young, "").unwrap();
    log.clear_presences(&|_| Standing::Unknown).unwrap();
    assert!(young.exists());
}

#[test]
fn a_bus_without_its_empty_parts_is_read_as_one_with_them_and_one_without_its_log_is_none() {
    let project = Project::new();
    let (mut log, mut replica) = project.open();
    append(&mut log, &mut replica, vec![joined(1)]).unwrap();
    drop(log);
    for part in ["snapshot", "presence", "bell", "tasks", "blobs"] {
        fs::remove_dir(project.bus.join(part)).unwrap();
    }
    let look = || {
        let options = Options { origin: Origin::Believed, ..Options::default() };
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        FileLog::open_present(&project.bus, &disk, options).unwrap()
    };
    assert_same(&Log::open(&mut look().unwrap()).unwrap(), &replica);
    let proof = Proof { state: None, foreign: Foreign::TakenOver };
    let examined = examine(&project.bus, &proof).unwrap();
    assert!(matches!(examined, Examined::Bus(seen) if seen.presences.is_empty()));
    assert!(matches!(verify(&project.bus, &proof).unwrap(), Verified::Bus(_)));
    // A session that begins has them all.
    assert_same(&project.open().1, &replica);
    assert!(project.bus.join("presence").is_dir());
    fs::remove_dir_all(project.bus.join("log")).unwrap();
    assert!(look().is_none());
}
