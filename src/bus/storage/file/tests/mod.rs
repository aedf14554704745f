//! The file log on a real directory: as several processes use it, across segments and snapshots.

mod blobs;
mod cut_off;
mod damage;
mod failed;
mod origin;
mod power;
mod retention;
mod retried;
mod unlocked;
mod versions;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use super::*;
use crate::bus::rules::NameChoice;
use crate::bus::storage::contract::{self, append, joined, sent};
use crate::bus::{Bus, BusError, Joining, Membership};
use crate::domain::member::MemberKind;
use crate::domain::name::Name;
use crate::sys::fs::disk::RealDisk;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// A clock that a test sets. It begins in the past, so that the files of the test are of its future.
#[derive(Clone)]
struct Clock(Arc<Mutex<Now>>);

impl Clock {
    fn new() -> Self {
        let mut now = clock::now();
        now.wall_ms = 20_000 * i64::try_from(DAY_MS).unwrap();
        Self(Arc::new(Mutex::new(now)))
    }

    fn now(&self) -> Now {
        *self.0.lock().unwrap()
    }

    fn as_option(&self) -> Arc<dyn Fn() -> Now + Send + Sync> {
        let clock = self.clone();
        Arc::new(move || clock.now())
    }

    /// Time goes by while the machine runs.
    fn pass(&self, ms: u64) {
        self.jump(i64::try_from(ms).unwrap());
        self.0.lock().unwrap().tick.ms += ms;
    }

    fn pass_days(&self, days: u64) {
        self.pass(days * DAY_MS);
    }

    /// Somebody sets the clock.
    fn jump(&self, ms: i64) {
        self.0.lock().unwrap().wall_ms += ms;
    }

    /// The machine was off for that long.
    fn boot_after(&self, ms: u64) {
        self.jump(i64::try_from(ms).unwrap());
        let tick = &mut self.0.lock().unwrap().tick;
        tick.boot = tick.boot.wrapping_add(1);
        tick.ms = 5;
    }

    /// A clock of the same machine that is so far ahead.
    fn ahead(&self, ms: i64) -> Arc<dyn Fn() -> Now + Send + Sync> {
        let clock = self.clone();
        Arc::new(move || {
            let mut now = clock.now();
            now.wall_ms += ms;
            now
        })
    }
}

/// A project with a bus.
struct Project {
    _project: tempfile::TempDir,
    bus: PathBuf,
}

impl Project {
    fn new() -> Self {
        let project = tempfile::tempdir().unwrap();
        let bus = project.path().join(".claude").join("bridge");
        Self { _project: project, bus }
    }

    fn try_open(&self) -> Result<FileLog, LogError> {
        FileLog::open(&self.bus, Arc::new(RealDisk), Options::default())
    }

    fn open(&self) -> (FileLog, Replica) {
        let mut log = self.try_open().unwrap();
        let replica = Log::open(&mut log).unwrap();
        (log, replica)
    }

    /// Opens it with so short segments and steps between snapshots that there are many of both.
    fn open_short(&self) -> (FileLog, Replica) {
        let options = Options {
            segment_bytes: 1_000,
            snapshot_events: 8,
            snapshot_percent: 0,
            ..Options::default()
        };
        let mut log = FileLog::open(&self.bus, Arc::new(RealDisk), options).unwrap();
        let replica = Log::open(&mut log).unwrap();
        (log, replica)
    }

    fn names(&self, part: &str) -> Vec<PathBuf> {
        let mut names: Vec<_> =
            fs::read_dir(self.bus.join(part)).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.sort();
        names
    }
}

#[test]
fn what_dead_sessions_left_goes_when_it_is_old_and_nobody_holds_it() {
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
fn a_process_whose_clock_is_ahead_takes_no_young_presence_for_a_left_one() {
    let project = Project::new();
    let in_a_month = || {
        let mut now = clock::now();
        now.wall_ms += 30 * i64::try_from(DAY_MS).unwrap();
        now
    };
    let options = Options { clock: Arc::new(in_a_month), ..Options::default() };
    let mut log = FileLog::open(&project.bus, Arc::new(RealDisk), options).unwrap();
    let young = project.bus.join("presence").join(SessionId(uuid::Uuid::nil()).to_string());
    // It is made a moment before it is locked.
    fs::write(&young, "").unwrap();
    log.clear_presences(&|_| Standing::Unknown).unwrap();
    assert!(young.exists());
}

/// Reads the whole log without a snapshot.
fn replay(log: &mut FileLog) -> Replica {
    let mut replica = Replica::default();
    log.catch_up(&mut replica).unwrap();
    replica
}

fn assert_same(one: &Replica, other: &Replica) {
    assert_eq!(one.place, other.place);
    assert_eq!(one.next_seq, other.next_seq);
    assert_eq!(one.state, other.state);
}

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
fn everything_is_its_owners_alone() {
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
fn a_roll_that_the_time_of_the_directory_does_not_show_is_seen_under_the_lock() {
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
    // The clock of whoever keeps the files may be behind ours.
    directory.set_modified(long_ago).unwrap();
    let seq = append(&mut other, &mut theirs, vec![sent(2, "theirs")]).unwrap();
    assert_eq!((seq, theirs.place.segment), (replica.next_seq, replica.place.segment));
    log.catch_up(&mut replica).unwrap();
    assert_same(&replica, &theirs);
    assert_same(&replay(&mut log), &replica);
}

#[test]
fn a_large_state_is_not_written_again_for_a_log_that_has_grown_by_little() {
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
    assert!(behind < logged / 2, "who opens reads {behind} of {logged} bytes");
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
fn a_snapshot_and_the_rest_give_the_same_as_everything() {
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
fn a_follower_sees_what_comes_and_writes_nothing() {
    let project = Project::new();
    let (tell, told) = std::sync::mpsc::channel();
    let on_change: OnRing = {
        let tell = std::sync::Mutex::new(tell);
        Arc::new(move || tell.lock().unwrap().send(()).unwrap_or_default())
    };
    let open = || Follower::open(&project.bus, Origin::Believed, Arc::clone(&on_change)).unwrap();
    assert!(open().is_none());
    assert!(!project.bus.exists(), "it makes no bus");

    let (mut log, mut replica) = project.open();
    append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
    let before = tree(&project.bus);
    let mut follower = open().unwrap();
    assert_eq!(follower.state(), &replica.state);
    append(&mut log, &mut replica, vec![sent(1, "hello")]).unwrap();
    told.recv_timeout(Duration::from_mins(1)).unwrap();
    follower.look().unwrap();
    assert_eq!(follower.state(), &replica.state);
    let message = follower.state().messages().next().unwrap().clone();
    assert_eq!(follower.text(message.body).unwrap(), "hello");
    assert_eq!(tree(&project.bus), before);

    fs::remove_dir_all(&project.bus).unwrap();
    assert!(matches!(follower.look(), Err(LogError::Removed)));
}

/// Returns the paths of everything in a directory.
fn tree(directory: &Path) -> Vec<PathBuf> {
    let mut all = vec![directory.to_owned()];
    let mut next = 0;
    while let Some(path) = all.get(next) {
        if path.is_dir() {
            let entries = fs::read_dir(path).unwrap();
            all.extend(entries.map(|entry| entry.unwrap().path()));
        }
        next += 1;
    }
    all.sort();
    all
}
