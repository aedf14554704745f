//! Reading without the lock, while other processes write and remove unfinished lines.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use uuid::Uuid;

use crate::bus::event::{Body, Entry, Event, RequestOpened, TaskAssigned};
use crate::bus::rules::{Command, Operation};
use crate::bus::shared::append_command;
use crate::bus::storage::contract::{append, joined, name, proposal, sent, session};
use crate::bus::storage::file::line_format;
use crate::bus::storage::file::log::segments;
use crate::bus::storage::file::log::segments::CHUNK_BYTES;
use crate::bus::storage::file::simulated_disk::{Done, SimulatedDisk};
use crate::bus::storage::file::{FileLog, Options};
use crate::bus::storage::{Appended, Log, LogError, LogPosition, Replica, Verdict};
use crate::bus::{Bus, BusError};
use crate::domain::ids::{CallId, CommandId, MessageId, RequestId, TaskId};
use crate::domain::messaging::Priority;
use crate::domain::time::Tick;
use crate::sys::fs::disk::Disk as _;

/// A project whose durable files are on a simulated disk, used by several processes.
struct Project {
    _kept: tempfile::TempDir,
    directory: PathBuf,
    disk: SimulatedDisk,
}

impl Project {
    fn new() -> Self {
        let project = tempfile::tempdir().unwrap();
        let directory = project.path().join(".claude").join("bridge");
        Self { _kept: project, directory, disk: SimulatedDisk::default() }
    }

    fn open(&self) -> (FileLog, Replica) {
        self.open_as(Options::default())
    }

    fn open_as(&self, options: Options) -> (FileLog, Replica) {
        let mut log = FileLog::open(&self.directory, Arc::new(self.disk.clone()), options).unwrap();
        let replica = Log::open(&mut log).unwrap();
        (log, replica)
    }
}

fn opened(id: &RequestId) -> Event {
    Event::RequestOpened(RequestOpened {
        id: id.clone(),
        message: MessageId::from_bits(78),
        from: name("member-3"),
        to: vec![name("member-1"), name("member-2")].into(),
        only: None,
        description: Body::Text("look".into()),
        context: None,
        nudge_ms: 1_000_000,
        ttl_ms: 10_000_000,
        lease_ms: None,
        urgency: None,
    })
}

fn claim(
    log: &mut FileLog,
    replica: &mut Replica,
    by: u128,
    id: &RequestId,
) -> Result<Appended, BusError> {
    let command = Command {
        id: CommandId(Uuid::now_v7()),
        by: Some(session(by)),
        received: Vec::new(),
        operation: Operation::Claim(id.clone(), CallId(Uuid::nil())),
    };
    append_command(log, replica, &command)
}

#[test]
fn a_reader_between_two_writers_mixes_no_lines() {
    let project = Project::new();
    let (mut one, mut first) = project.open();
    let members = vec![joined(1), joined(2), joined(3)];
    append(&mut one, &mut first, members).unwrap();
    let id = RequestId::from_bits(77);
    append(&mut one, &mut first, vec![opened(&id)]).unwrap();
    let (mut reader, mut read) =
        project.open_as(Options { snapshot_events: 8, snapshot_percent: 0, ..Options::default() });
    // The first read of the reader ends within a line that another process left unfinished.
    let long = sent(1, &"x".repeat(CHUNK_BYTES - 2_000));
    append(&mut one, &mut first, vec![long]).unwrap();
    let torn = line_format::encode(&Entry {
        seq: first.next_seq,
        ts: 1,
        tick: Tick { boot: 1, ms: 1 },
        id: CommandId(Uuid::nil()),
        by: None,
        events: vec![sent(2, &"t".repeat(5_000))],
    });
    let segment = project.disk.open(&one.segments.path(1)).unwrap();
    segment.append(&torn[..3_000]).unwrap();
    // Before its second read another process removes that line, and claims the request in a line of another length.
    let (directory, disk, claimed) = (project.directory.clone(), project.disk.clone(), id.clone());
    project.disk.after_each(move |done| {
        let Done::Read(bytes) = done else {
            return ControlFlow::Continue(());
        };
        if bytes.len() < CHUNK_BYTES {
            return ControlFlow::Continue(());
        }
        let other = FileLog::open(&directory, Arc::new(disk.clone()), Options::default());
        let mut other = other.unwrap();
        let mut theirs = Log::open(&mut other).unwrap();
        let claimed = Event::RequestClaimed {
            id: claimed.clone(),
            by: name("member-1"),
            session: session(1),
        };
        let events = vec![claimed, sent(3, &"c".repeat(5_000))];
        append(&mut other, &mut theirs, events).unwrap();
        ControlFlow::Break(())
    });
    reader.catch_up(&mut read).unwrap();
    assert_eq!(read.damaged_lines, 0);
    assert!(read.state.message(&MessageId::from_bits(3)).is_some());
    let second = claim(&mut reader, &mut read, 2, &id);
    assert!(matches!(second, Err(BusError::Refused(_))), "{second:?}");
    append(&mut reader, &mut read, vec![sent(4, "x")]).unwrap();
    reader.snapshots.finish();
    let (_, fresh) = project.open();
    assert_eq!(fresh.state, read.state);
    let owner = fresh.state.request(&id).unwrap().owner.clone().unwrap();
    assert_eq!(owner.by, name("member-1"));
}

#[test]
fn a_line_that_is_misread_once_is_read_again_under_the_lock() {
    let project = Project::new();
    let (mut log, mut replica) = project.open();
    let (mut reader, mut read) = project.open();
    append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
    for number in 1..=3 {
        append(&mut log, &mut replica, vec![sent(number, "hello")]).unwrap();
    }
    let second = line_format::MAX_LINE_BYTES.min(400);
    project.disk.after_each(move |done| match done {
        Done::Read(bytes) if bytes.len() > second => {
            bytes[second] ^= 0x04;
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    reader.catch_up(&mut read).unwrap();
    assert_eq!((read.damaged_lines, read.place), (0, replica.place));
    assert_eq!(read.state, replica.state);
}

#[test]
fn no_process_skips_a_damaged_line_or_decides_before_the_lock_is_free() {
    let project = Project::new();
    let (mut log, mut replica) = project.open();
    append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
    let (mut reader, mut read) = project.open();
    let before = read.place;
    let segment = project.disk.open(&log.segments.path(1)).unwrap();
    segment.append(b"{\"not\":\"whole\"}\n").unwrap();
    let guard = log.try_lock().unwrap().unwrap();
    reader.catch_up(&mut read).unwrap();
    assert_eq!((read.place, read.damaged_lines), (before, 0));
    let outcome = reader.append(&mut read, &mut |_, _| Verdict::Refused);
    assert!(matches!(outcome, Ok(Appended::Contended)), "{outcome:?}");
    drop(guard);
    reader.catch_up(&mut read).unwrap();
    assert_eq!(read.damaged_lines, 1);
    let after = append(&mut log, &mut replica, vec![sent(1, "behind")]).unwrap();
    assert_eq!(after, 3 + 1_024);
    reader.catch_up(&mut read).unwrap();
    assert_eq!((read.damaged_lines, read.place), (1, replica.place));
}

#[test]
fn a_stopped_process_reads_most_new_entries_without_the_lock() {
    let project = Project::new();
    let options = Options { segment_bytes: 200_000, ..Options::default() };
    let (mut log, mut replica) = project.open_as(options);
    append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
    let (mut away, mut behind) = project.open();
    for number in 0..80 {
        append(&mut log, &mut replica, vec![sent(number, &"x".repeat(50_000))]).unwrap();
    }
    let locked = Arc::new(Mutex::new(0));
    let count = Arc::clone(&locked);
    project.disk.after_each(move |done| {
        if let Done::Read(bytes) = done
            && log.try_lock().unwrap().is_none()
        {
            *count.lock().unwrap() += bytes.len();
        }
        ControlFlow::Continue(())
    });
    let appended =
        away.append(&mut behind, &mut |_, _| Verdict::Append(proposal(vec![sent(100, "back")])));
    assert!(matches!(appended, Ok(Appended::Written(_))), "{appended:?}");
    assert!(behind.next_seq > replica.next_seq);
    let locked = *locked.lock().unwrap();
    // Each read includes the few bytes before it.
    let max = 2 * CHUNK_BYTES + 100;
    assert!(locked <= max, "{locked} bytes under the lock");
}

#[test]
fn only_the_parts_of_the_log_with_an_old_id_are_decoded() {
    let project = Project::new();
    let options = Options { segment_bytes: 1_200, ..Options::default() };
    let (mut log, mut replica) = project.open_as(options);
    append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
    let task = TaskId::from_bits(5);
    let assigned = Event::TaskAssigned(TaskAssigned {
        id: task.clone(),
        session: session(2),
        agent: name("member-2"),
        by: name("member-1"),
        prompt: Body::Text("do it".into()),
        model: None,
        fresh: false,
        permissions: None,
        workflow: None,
        priority: Priority::Normal,
    });
    append(&mut log, &mut replica, vec![assigned]).unwrap();
    for number in 0..300 {
        append(&mut log, &mut replica, vec![sent(number, "hello")]).unwrap();
    }
    let other = replica.place.segment;
    let bus = Bus::open(Box::new(log)).unwrap();
    // Decoding this line would fail, as if a newer version used the bus.
    let segment = project.directory.join("log").join(segments::file_name(other));
    let file = project.disk.open(&segment).unwrap();
    file.truncate(0).unwrap();
    file.append(&line_format::seal("{\"packed\":1}".to_owned())).unwrap();
    assert!(bus.read_after(LogPosition::default(), usize::MAX).is_err());
    let past = bus.past_task(&task).unwrap().unwrap();
    assert_eq!(past.agent, name("member-2"));
    assert_eq!(bus.find_task(&TaskId::from_bits(6)).unwrap(), None);
    let unknown = MessageId::from_bits(1_000);
    assert!(bus.find_message(&unknown, &name("member-2")).is_err());
}

/// A read that fails is an error, and no damage.
#[test]
fn a_failed_read_skips_nothing() {
    let project = Project::new();
    let (mut log, mut replica) = project.open();
    append(&mut log, &mut replica, vec![joined(1)]).unwrap();
    let (mut reader, mut read) = project.open();
    append(&mut log, &mut replica, vec![joined(2)]).unwrap();
    project.disk.cut_power_at(0);
    let outcome = reader.catch_up(&mut read);
    assert!(matches!(outcome, Err(LogError::Io { .. })), "{outcome:?}");
    assert_eq!(read.damaged_lines, 0);
}
