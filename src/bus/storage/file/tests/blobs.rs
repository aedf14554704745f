//! Long texts: stored with their command, kept while a member may read them, and removed with the events that named them.

use std::path::Path;
use std::sync::Arc;

use uuid::{NoContext, Timestamp, Uuid};

use super::log_fixture::{Clock, Project};
use crate::bus::event::{Body, Created, Event, StepExpanded};
use crate::bus::rules::{Description, NameChoice};
use crate::bus::storage::contract::{append, joined, name, sent, session};
use crate::bus::storage::file::simulated_disk::SimulatedDisk;
use crate::bus::storage::file::{FileLog, Options};
use crate::bus::storage::{Log, LogError};
use crate::bus::{Bus, BusError, Joining, Membership};
use crate::domain::ids::{MessageId, WorkflowId};
use crate::domain::limits;
use crate::domain::member::MemberKind;
use crate::domain::name::Name;
use crate::sys::fs::disk::Disk as _;

async fn peer(bus: &Bus, name: &str) -> Membership {
    let joining = Joining {
        choice: NameChoice::Chosen(Name::parse(name).unwrap()),
        kind: MemberKind::Peer,
        roles: Vec::new(),
        description: Description::default(),
    };
    Membership::join(bus, joining).await.unwrap()
}

#[tokio::test]
async fn the_text_of_a_refused_command_is_not_stored() {
    let project = Project::new();
    let bus = Bus::open(Box::new(project.try_open().unwrap())).unwrap();
    let membership = peer(&bus, "ann").await;
    let long = "x".repeat(limits::INLINE_BYTES + 1);
    let mut call = membership.call();
    let outcome = call.send("nobody".into(), long.clone(), None).await;
    assert!(matches!(outcome, Err(BusError::Refused(_))), "{outcome:?}");
    let unknown = Some("msg-aaaaaaab".to_owned());
    let outcome = call.send("ann".into(), long.clone(), unknown).await;
    assert!(matches!(outcome, Err(BusError::Refused(_))), "{outcome:?}");
    assert!(project.names("blobs").is_empty());

    let other = peer(&bus, "bob").await;
    let outcome = call.send("bob".into(), long.clone(), None).await;
    assert_eq!(project.names("blobs").len(), 1);
    let header = bus.find_message(&outcome.unwrap().id, other.name()).unwrap();
    assert_eq!(bus.text(header.body).unwrap(), long);
}

/// A bus on a simulated disk, with a clock that a test sets.
struct Days {
    _project: tempfile::TempDir,
    directory: std::path::PathBuf,
    disk: SimulatedDisk,
    clock: Clock,
}

impl Days {
    fn new() -> Self {
        let project = tempfile::tempdir().unwrap();
        Self {
            directory: project.path().join(".claude").join("bridge"),
            _project: project,
            disk: SimulatedDisk::default(),
            clock: Clock::new(),
        }
    }

    fn open(&self, snapshot_events: u64) -> FileLog {
        let options = Options {
            segment_bytes: 1_200,
            snapshot_events,
            snapshot_percent: 0,
            clock: self.clock.as_option(),
            ..Options::default()
        };
        FileLog::open(&self.directory, Arc::new(self.disk.clone()), options).unwrap()
    }

    /// Stores a text under a name with the current day.
    fn store(&self, log: &FileLog) -> Uuid {
        let seconds = u64::try_from(self.clock.now().wall_ms / 1_000).unwrap();
        let id = Uuid::new_v7(Timestamp::from_unix(NoContext, seconds, 0));
        log.durability().put_blob(id, "a long text").unwrap();
        id
    }

    fn blobs(&self) -> Vec<String> {
        self.names("blobs")
    }

    fn names(&self, part: &str) -> Vec<String> {
        let mut names = self.disk.list(&self.directory.join(part)).unwrap();
        names.sort();
        names
    }
}

fn blob(id: Uuid) -> Body {
    Body::Blob { id, bytes: 11, sha256: None }
}

/// Returns a message that expires unread.
fn expiring(number: u64) -> Vec<Event> {
    let id = MessageId::from_bits(number);
    let member = name("member-2");
    vec![sent(number, &"x".repeat(100)), Event::MessageExpired { id, member }]
}

#[test]
fn the_texts_of_every_kind_of_event_are_removed_with_their_segment() {
    let days = Days::new();
    let mut log = days.open(5);
    let mut replica = Log::open(&mut log).unwrap();
    append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
    let workflow = WorkflowId::from_bits(1);
    let (prompts, items) = (days.store(&log), days.store(&log));
    let created = Event::WorkflowCreated(Created {
        id: workflow.clone(),
        name: "n".into(),
        by: name("member-1"),
        owner: session(1),
        steps: Vec::new(),
        prompts: blob(prompts),
        plan_file: None,
        is_trial: false,
    });
    let expanded = Event::StepExpanded(StepExpanded {
        workflow: workflow.clone(),
        step: name("a"),
        count: 1,
        items: blob(items),
    });
    let ended = Event::WorkflowEnded {
        id: workflow,
        status: crate::domain::workflow::WorkflowStatus::Done,
    };
    append(&mut log, &mut replica, vec![created, expanded, ended]).unwrap();
    assert_eq!(days.blobs().len(), 2);
    for number in 0..40 {
        days.clock.pass_days(10);
        append(&mut log, &mut replica, expiring(number)).unwrap();
        log.snapshots.finish();
    }
    assert!(log.oldest().unwrap().segment > 1);
    for id in [prompts, items] {
        assert!(matches!(log.get_blob(id), Err(LogError::Gone)));
    }
    assert!(days.blobs().is_empty(), "{:?}", days.blobs());
}

#[test]
fn a_text_that_no_event_names_is_removed_when_it_is_old() {
    let days = Days::new();
    let mut log = days.open(5);
    let mut replica = Log::open(&mut log).unwrap();
    append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
    let (lost, kept) = (days.store(&log), days.store(&log));
    // The temporary file of a crash in the middle of storing a text.
    let torn = days.directory.join("blobs").join(format!(".{lost}.tmp"));
    days.disk.create_new(&torn).unwrap();
    let mut message = sent(1_000, "");
    if let Event::MessageSent(sent) = &mut message {
        sent.body = blob(kept);
    }
    append(&mut log, &mut replica, vec![message]).unwrap();
    for number in 0..10 {
        append(&mut log, &mut replica, expiring(number)).unwrap();
        log.snapshots.finish();
    }
    assert_eq!(days.blobs().len(), 3, "its event may be on the way");
    days.clock.pass_days(40);
    let fresh = days.store(&log);
    for number in 10..20 {
        append(&mut log, &mut replica, expiring(number)).unwrap();
        log.snapshots.finish();
    }
    let mut left = vec![kept.to_string(), fresh.to_string()];
    left.sort();
    assert_eq!(days.blobs(), left);
    assert_eq!(log.get_blob(kept).unwrap(), "a long text");
}

#[test]
fn each_snapshot_removes_all_unneeded_segments() {
    let days = Days::new();
    let mut log = days.open(64);
    let mut replica = Log::open(&mut log).unwrap();
    append(&mut log, &mut replica, vec![joined(1), joined(2)]).unwrap();
    let mut oldest = Vec::new();
    let mut snapshots = Vec::new();
    for number in 0..170 {
        days.clock.pass_days(10);
        append(&mut log, &mut replica, expiring(number)).unwrap();
        log.snapshots.finish();
        let names = days.names("snapshot");
        if names != snapshots {
            let segments = days.names("log");
            oldest.push((segments.first().cloned().unwrap(), segments.len()));
            snapshots = names;
        }
    }
    // The first has no older one. The second removes the segments before the first, the others the rest.
    let counts: Vec<usize> = oldest.iter().map(|(_, count)| *count).collect();
    assert!(counts.len() >= 4, "{counts:?}");
    assert!(counts[3] <= counts[1], "the log stops growing: {counts:?}");
    assert!(Path::new(&oldest[1].0) > Path::new(&oldest[0].0));
}
