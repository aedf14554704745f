//! A bus that the version before numbers has made: it opens as it is, and the first session that begins raises its format.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use uuid::Uuid;

use crate::bus::event::Event;
use crate::bus::rules::{Command, NameChoice, NewMember, Operation, Refusal, decide, known_member};
use crate::bus::state::{Delivery, State};
use crate::bus::storage::contract::{append, name, sent};
use crate::bus::storage::file::log::snapshot;
use crate::bus::storage::file::simulated_disk::{Fault, SimulatedDisk};
use crate::bus::storage::file::tests::log_fixture::{Project, tree};
use crate::bus::storage::file::upkeep::{
    Export, ExportOptions, Severity, Verified, export, verify,
};
use crate::bus::storage::file::{FileLog, Foreign, Options, Proof, line_format};
use crate::bus::storage::format_versions::SNAPSHOT_LEVEL;
use crate::bus::storage::{Appended, Log, LogError, LogPosition, Replica, Verdict};
use crate::domain::ids::{CommandId, MessageId, RequestId, SessionId, TaskId, WorkflowId};
use crate::domain::member::{Departure, MemberKind, SessionNumber};
use crate::domain::messaging::RequestStatus;
use crate::domain::name::Name;
use crate::domain::task::TaskStatus;
use crate::domain::time::{Now, Tick};
use crate::sys::fs::disk::{Disk, RealDisk};

/// Seconds after the last line of the old bus, on the same machine: no deadline of it has passed.
fn soon() -> Now {
    Now { wall_ms: 1_795_537_860_000, tick: Tick { boot: 2_427_884_876, ms: 46_290_000 } }
}

/// The files of the old bus, by their paths in it.
fn old_files() -> Vec<(PathBuf, Vec<u8>)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let root = root.join("src/bus/storage/file/tests/fixtures/bus-1");
    let files = tree(&root).into_iter().filter(|path| path.is_file());
    let files = files.map(|path| {
        let bytes = fs::read(&path).unwrap();
        (path.strip_prefix(&root).unwrap().to_owned(), bytes)
    });
    files.collect()
}

/// A project with a copy of the old bus.
fn old_bus() -> Project {
    let project = Project::new();
    for (path, bytes) in old_files() {
        let path = project.bus.join(path);
        let mut directories = fs::DirBuilder::new();
        directories.recursive(true).mode(0o700).create(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    project
}

/// The same on a simulated disk, all of it synced.
fn put_old_bus(disk: &SimulatedDisk, directory: &Path) {
    for (path, bytes) in old_files() {
        let path = directory.join(path);
        let file = disk.create_new(&path).unwrap();
        file.append_all(&bytes).unwrap();
        file.sync().unwrap();
        disk.sync_directory(path.parent().unwrap()).unwrap();
    }
}

fn open_on(disk: Arc<dyn Disk>, directory: &Path) -> Result<(FileLog, Replica), LogError> {
    let options = Options {
        snapshot_events: 1,
        snapshot_percent: 0,
        clock: Arc::new(soon),
        ..Options::default()
    };
    let mut log = FileLog::open(directory, disk, options)?;
    let replica = Log::open(&mut log)?;
    Ok((log, replica))
}

fn open(project: &Project) -> (FileLog, Replica) {
    open_on(Arc::new(RealDisk), &project.bus).unwrap()
}

/// Joins as a session of this version does, and returns its number.
fn join(log: &mut FileLog, replica: &mut Replica, called: &str) -> Result<SessionNumber, LogError> {
    let session = SessionId(Uuid::new_v4());
    let choice = NameChoice::Chosen(name(called));
    let new = NewMember::new(session, choice, MemberKind::Peer, 1);
    let command = Command {
        id: CommandId(Uuid::new_v4()),
        by: None,
        received: Vec::new(),
        operation: Operation::Join(Box::new(new)),
    };
    let mut decided = |replica: &Replica, now| match decide(&replica.state, now, &command) {
        Ok(Some(proposal)) => Verdict::Append(proposal),
        other => panic!("{other:?}"),
    };
    loop {
        match log.append(replica, &mut decided)? {
            Appended::Written(_) => break,
            Appended::Contended => log.turn().wait()?,
            other => panic!("{other:?}"),
        }
    }
    Ok(replica.state.session(session).unwrap().number.unwrap())
}

fn number(number: u64) -> SessionNumber {
    SessionNumber::of(number)
}

fn identity(project: &Project) -> Value {
    serde_json::from_slice(&fs::read(project.bus.join("bus.json")).unwrap()).unwrap()
}

/// Checks that mail, claim, tasks and workflow of the old bus are as they were.
fn assert_holds(state: &State) {
    let unread = |of: &str| -> Vec<_> {
        let unread = state.unread(&name(of)).filter(|message| !message.is_presence());
        unread.map(|message| message.id.to_string()).collect()
    };
    assert_eq!(unread("ann"), ["msg-xccv3bfm2zbv"]);
    assert_eq!(unread("bob"), ["msg-oa3k4ju4sluj"]);
    let answered = state.message(&MessageId::parse("msg-5hihnbbm4y5u").unwrap()).unwrap();
    assert!(matches!(answered.delivery(&name("ann")), Some(Delivery::Seen)));
    let request = state.request(&RequestId::parse("req-ul5vscxoawhk").unwrap()).unwrap();
    assert_eq!(request.status, RequestStatus::Claimed);
    let bob = state.live(&name("bob")).unwrap();
    assert_eq!(state.claimed_by(bob.id).count(), 1);
    let task = |id: &str| state.task(&TaskId::parse(id).unwrap()).unwrap().status;
    assert_eq!(task("task-obgy2tzoqbiz"), TaskStatus::Running);
    assert_eq!(task("task-4nlv34n5r4f7"), TaskStatus::Queued);
    let workflow = state.workflow(&WorkflowId::parse("wf-3f2j464yiuqp").unwrap()).unwrap();
    assert_eq!(workflow.owner, state.live(&name("lead")).map(|lead| lead.id));
    assert!(state.workflows().iter().any(|workflow| !workflow.status.is_final()));
    for of_old in ["lead", "ann", "bob", "worker"] {
        assert_eq!(state.live(&name(of_old)).unwrap().number, None, "it has no number");
    }
}

#[test]
fn an_old_bus_opens_with_all_that_is_in_it_and_stays_as_it_is_until_a_session_begins() {
    let project = old_bus();
    let (mut log, mut replica) = open(&project);
    assert_holds(&replica.state);
    assert_eq!(replica.state.last_number(), None);
    for (path, bytes) in old_files() {
        assert!(fs::read(project.bus.join(&path)).unwrap() == bytes, "{path:?}");
    }
    // What the person at the command line writes begins no session. Nor does it leave a snapshot that old versions cannot read.
    append(&mut log, &mut replica, vec![sent(1, "hello")]).unwrap();
    log.snapshots.finish();
    assert_eq!(identity(&project)["format"], 1);
    assert_eq!(project.names("snapshot").len(), 1);
}

#[test]
fn the_first_session_that_begins_raises_the_format_and_changes_nothing_else() {
    let project = old_bus();
    let before = identity(&project);
    let (mut log, mut replica) = open(&project);
    assert_eq!(join(&mut log, &mut replica, "new").unwrap(), SessionNumber::FIRST);
    log.snapshots.finish();
    assert_holds(&replica.state);
    let mut expected = before;
    expected["format"] = 2.into();
    assert_eq!(identity(&project), expected, "the id, the secret and the place stay");
    assert!(!project.bus.join(".bus.json.tmp").exists());

    // The new snapshot has the second form, and the first one counts too.
    let texts: Vec<_> =
        project.names("snapshot").iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    assert!(texts[0].starts_with("{\"format\":1,") && texts[0].contains("\"level\":8,"));
    assert!(
        texts[1].starts_with("{\"format\":2,")
            && texts[1].contains(&format!("\"level\":{SNAPSHOT_LEVEL},"))
    );
    let older = snapshot::older_position(&RealDisk, &project.bus.join("snapshot")).unwrap();
    assert!(older.is_some_and(|older| older.offset > 0));
    let (mut log, mut replica) = open(&project);
    assert_holds(&replica.state);
    assert_eq!(join(&mut log, &mut replica, "newer").unwrap(), number(2));
}

#[test]
fn the_line_that_begins_a_session_stops_versions_that_do_not_know_it() {
    let project = old_bus();
    let (mut running, mut at_work) = open(&project);
    let (mut log, mut replica) = open(&project);
    join(&mut log, &mut replica, "new").unwrap();
    let path = project.names("log").pop().unwrap();
    let text = fs::read_to_string(&path).unwrap();
    // An old version knows no `member_described`. Under another name, neither does this one.
    let (before, last) = text.trim_end().rsplit_once('\n').unwrap();
    assert!(last.contains("member_described") && !last.contains("skip"), "{last}");
    let (body, _) = last.rsplit_once(",\"crc\"").unwrap();
    let unknown = line_format::seal(body.replace("member_described", "member_depicted") + "}");
    let unknown = String::from_utf8(unknown).unwrap();
    fs::write(&path, format!("{before}\n{unknown}")).unwrap();

    assert!(matches!(running.catch_up(&mut at_work), Err(LogError::Newer)));
    let outcome = append(&mut running, &mut at_work, vec![sent(9, "too late")]);
    assert!(matches!(outcome, Err(LogError::Newer)));
    assert!(!fs::read_to_string(&path).unwrap().contains("too late"));
    assert!(LogError::Newer.to_string().contains("a newer cli-team-bridge"));
}

#[test]
fn a_bus_of_a_newer_format_is_not_raised_to_this_one() {
    let project = old_bus();
    let (mut log, mut replica) = open(&project);
    let path = project.bus.join("bus.json");
    let newer = fs::read_to_string(&path).unwrap().replace("\"format\":1", "\"format\":3");
    fs::write(&path, &newer).unwrap();
    let outcome = join(&mut log, &mut replica, "new");
    assert!(matches!(outcome, Err(LogError::Newer)), "{outcome:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), newer);
    assert!(matches!(project.try_open().map(drop), Err(LogError::Newer)));
}

#[test]
fn two_sessions_that_begin_at_once_get_two_numbers_and_raise_the_format_once() {
    let project = old_bus();
    let numbers: Vec<_> = std::thread::scope(|scope| {
        let joining: Vec<_> = ["one", "other"]
            .map(|called| {
                let project = &project;
                scope.spawn(move || {
                    let (mut log, mut replica) = open(project);
                    join(&mut log, &mut replica, called).unwrap()
                })
            })
            .into_iter()
            .collect();
        joining.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(numbers == [number(1), number(2)] || numbers == [number(2), number(1)], "{numbers:?}");
    assert_eq!(identity(&project)["format"], 2);
    let (_, replica) = open(&project);
    assert_holds(&replica.state);
    assert_eq!(replica.state.last_number(), Some(number(2)));
}

#[test]
fn a_raising_that_is_cut_off_anywhere_leaves_a_bus_that_opens_and_is_raised_later() {
    let project = tempfile::tempdir().unwrap();
    let directory = project.path().join(".claude").join("bridge");
    let raise = |disk: &SimulatedDisk| -> Result<(), LogError> {
        let (mut log, mut replica) = open_on(Arc::new(disk.clone()), &directory)?;
        join(&mut log, &mut replica, "new")?;
        log.durability().sync()?;
        log.snapshots.finish();
        Ok(())
    };
    let whole = SimulatedDisk::default();
    put_old_bus(&whole, &directory);
    let before = whole.operations();
    raise(&whole).unwrap();
    assert!(whole.operations() > before + 5);
    let mut formats = [0, 0, 0];
    for cut in before..whole.operations() {
        let disk = SimulatedDisk::default();
        put_old_bus(&disk, &directory);
        disk.cut_power_at(cut);
        // The snapshot is written by a thread of its own, whose failure is only logged.
        let outcome = raise(&disk);
        for seed in 0..6 {
            println!("power cut at operation {cut}, seed {seed}");
            let disk = disk.after_power_cut(seed);
            let text = disk.read(&directory.join("bus.json")).unwrap();
            let identity: Value = serde_json::from_slice(&text).unwrap();
            let format = identity["format"].as_u64().unwrap();
            formats[usize::try_from(format).unwrap()] += 1;
            let (mut log, mut replica) = open_on(Arc::new(disk.clone()), &directory).unwrap();
            assert_holds(&replica.state);
            let begun = replica.state.last_number();
            assert!(begun.is_some() || outcome.is_err(), "an acknowledged session is there");
            assert!(begun.is_none() || format == 2, "the format is raised before the line");
            let next = begun.map_or(SessionNumber::FIRST, SessionNumber::next);
            assert_eq!(join(&mut log, &mut replica, "later").unwrap(), next);
            let text = disk.read(&directory.join("bus.json")).unwrap();
            assert!(text.starts_with(b"{\"format\":2,"));
            log.snapshots.finish();
        }
    }
    assert!(formats[1] > 0 && formats[2] > 0, "{formats:?}");
}

#[test]
fn a_disk_that_takes_no_new_format_takes_no_session_and_the_old_bus_stays() {
    let project = tempfile::tempdir().unwrap();
    let directory = project.path().join(".claude").join("bridge");
    let disk = SimulatedDisk::default();
    put_old_bus(&disk, &directory);
    let (mut log, mut replica) = open_on(Arc::new(disk.clone()), &directory).unwrap();
    let end = replica.place;
    disk.fail_next(Fault::NoSpace);
    let outcome = join(&mut log, &mut replica, "new");
    assert!(matches!(outcome, Err(LogError::Io { .. })), "{outcome:?}");
    let (_, read) = open_on(Arc::new(disk.clone()), &directory).unwrap();
    assert_holds(&read.state);
    assert_eq!(read.place, end, "the log is as it was");
    assert!(disk.read(&directory.join("bus.json")).unwrap().starts_with(b"{\"format\":1,"));
    join(&mut log, &mut replica, "new").unwrap();
    assert!(disk.read(&directory.join("bus.json")).unwrap().starts_with(b"{\"format\":2,"));
}

#[test]
fn an_old_bus_is_verified_and_exported_before_and_after_it_is_raised() {
    let project = old_bus();
    // Which makes the directories that the copy lacks.
    drop(open(&project));
    let proof = Proof { state: None, foreign: Foreign::TakenOver };
    for is_raised in [false, true] {
        if is_raised {
            let (mut log, mut replica) = open(&project);
            join(&mut log, &mut replica, "new").unwrap();
        }
        let Verified::Bus(report) = verify(&project.bus, &proof).unwrap() else {
            panic!("it is a bus")
        };
        let problems: Vec<_> = report
            .findings
            .iter()
            .filter(|finding| finding.severity == Severity::Problem)
            .collect();
        assert!(problems.is_empty(), "{problems:?}");
        let mut text = String::new();
        let exported = export(&project.bus, &proof, ExportOptions::default(), &mut |line| {
            text.push_str(line);
            ControlFlow::Continue(())
        });
        assert!(matches!(exported, Ok(Export::Done(_))));
        assert!(text.contains("Then wait for the reviewer"));
        assert_eq!(text.contains("member_described"), is_raised);
    }
}

#[test]
fn a_member_of_an_old_bus_may_have_a_name_like_a_number_and_is_addressed_by_it_while_it_lives() {
    let project = old_bus();
    let lines = |name: &str| {
        let paths = project.names(name).into_iter();
        paths.map(|path| (fs::read_to_string(&path).unwrap(), path))
    };
    for (text, path) in lines("log").chain(lines("snapshot")).collect::<Vec<_>>() {
        // As long as before, so all places in the log stay.
        let renamed = text.lines().flat_map(|line| {
            let (object, _) = line.rsplit_once(",\"crc\"").unwrap();
            line_format::seal(object.replace("\"bob\"", "\"s22\"") + "}")
        });
        fs::write(path, renamed.collect::<Vec<u8>>()).unwrap();
    }
    let (mut log, mut replica) = open(&project);
    let s22 = Name::stored("s22").unwrap();
    let bob = replica.state.live(&s22).unwrap().id;
    assert_eq!(replica.state.unread(&s22).count(), 1);
    assert_eq!(known_member(&replica.state, "S22").unwrap(), &s22);
    assert!(matches!(known_member(&replica.state, "s1"), Err(Refusal::NoSession { .. })));
    let left = Event::MemberLeft {
        session: bob,
        departure: Departure::Closed,
        detail: None,
        alive_ms: None,
    };
    append(&mut log, &mut replica, vec![left]).unwrap();
    let ended = known_member(&replica.state, "s22");
    assert!(matches!(ended, Err(Refusal::NoSession { .. })), "nobody lives under it any more");
}

#[test]
fn a_session_says_who_it_is_in_the_line_in_which_it_begins() {
    let project = old_bus();
    let (mut log, mut replica) = open(&project);
    join(&mut log, &mut replica, "new").unwrap();
    let (entries, _) = log.read_after(LogPosition::default(), usize::MAX).unwrap();
    let (_, last) = entries.last().unwrap();
    assert!(matches!(last.events[0], Event::MemberJoined(_)), "{:?}", last.events);
    assert!(matches!(last.events[1], Event::MemberDescribed(_)), "{:?}", last.events);
}

/// Before that, versions which do not know of it work there too.
#[test]
fn nobody_takes_the_lead_of_an_old_bus_before_a_session_begins() {
    let project = old_bus();
    let (mut log, mut replica) = open(&project);
    let now = Now { wall_ms: 0, tick: Tick { boot: replica.state.boot, ms: 0 } };
    assert!(replica.state.lead().is_none() && !replica.state.lacks_lead());
    join(&mut log, &mut replica, "new").unwrap();
    assert!(replica.state.lacks_lead());
    assert_eq!(replica.state.earliest_due_ms(now), Some(0));
    join(&mut log, &mut replica, "other").unwrap();
    assert_eq!(replica.state.lead().unwrap().name, name("lead"));
}
