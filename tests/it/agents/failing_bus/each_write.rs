//! A bus that fails at each write of a bridge with a real agent: nothing is lost, repeated or left stuck.
//!
//! The bridge runs in this process, over a failing log. The orchestrator that assigns its work has a sound `Bus` of its own.

use std::path::PathBuf;
use std::sync::Arc;

use cli_team_bridge::bus::event::Event;
use cli_team_bridge::bus::rules::{NameChoice, NewTask, Operation};
use cli_team_bridge::bus::state::{Delivery, Session, State, Task};
use cli_team_bridge::bus::storage::LogPosition;
use cli_team_bridge::bus::storage::faulty_log::{Fault, FaultPoint, Faults};
use cli_team_bridge::bus::storage::file::{FileLog, Options};
use cli_team_bridge::bus::{Bus, Membership};
use cli_team_bridge::config::{Config, Load};
use cli_team_bridge::domain::ids::{MessageId, SessionId, TaskId};
use cli_team_bridge::domain::limits;
use cli_team_bridge::domain::member::{Activity, MemberKind, Tools};
use cli_team_bridge::domain::task::TaskStatus;
use cli_team_bridge::sys::fs::disk::RealDisk;
use cli_team_bridge::team::{Assignment, Launch, Team, Trust, UserReachable};
use serde_json::json;

use crate::bus::every_engine::{join, name, open_files};
use crate::support::{DEADLINE, Stage, until};

/// An agent that repeats its prompt.
const ECHO: &str = "
    [agents.scripted.start]
    load = true
    [[agents.scripted.turns]]
    when = 'Your task: hang'
    steps = [{ ignore_cancel = true }, { say = 'I hang' }, { hang = true }]
    [[agents.scripted.turns]]
    steps = [{ say = '{{prompt}}' }]
";

/// How many writes in a row fail.
const TIMES: u64 = 2;

/// A bridge over a failing log, its agent, and an orchestrator with a sound bus.
pub(crate) struct FaultyBridge {
    pub(crate) faults: Faults,
    pub(crate) team: Team,
    /// The orchestrator's bus, which does not fail.
    pub(crate) bus: Bus,
    pub(crate) lead: Membership,
    session: SessionId,
}

impl FaultyBridge {
    pub(crate) async fn new(stage: &Stage) -> Self {
        let directory = stage.bus();
        let bus = open_files(&directory);
        let lead = join(&bus, NameChoice::Chosen(name("boss")), MemberKind::Orchestrator).await;
        let faults = Faults::default();
        let log = FileLog::open(&directory, Arc::new(RealDisk), Options::default()).unwrap();
        let failing = Bus::open(Box::new(faults.before(log))).unwrap();
        let membership =
            join(&failing, NameChoice::Chosen(name("bridge-of-it")), MemberKind::Orchestrator)
                .await;
        let project = stage.project();
        let config = Config::load(Load {
            project,
            home: Some(stage.home()),
            config_home: None,
            explicit: None,
        });
        let launch = Launch {
            own_binary: PathBuf::from(env!("CARGO_BIN_EXE_cli-team-bridge")),
            environment: stage.environment(),
            project: project.to_owned(),
            ground: project.to_owned(),
            trust: Trust::kept_in(None),
            bus_dir: directory,
            former: Vec::new(),
        };
        let team = Team::new(membership, config.unwrap(), launch, UserReachable::default());
        let first = Assignment {
            agent: "scripted".to_owned(),
            prompt: "begin".to_owned(),
            ..Assignment::default()
        };
        let first = team.assign(first).await.unwrap();
        let session = bus_session(&bus, &first.task);
        let bridge = Self { faults, team, bus, lead, session };
        bridge.until("it is ready", |state| at_rest(state, session)).await;
        bridge
    }

    /// Waits until a condition holds on the orchestrator's bus.
    async fn until(&self, what: &str, holds: impl Fn(&State) -> bool) {
        let mut changes = self.bus.changes();
        let waiting = async {
            loop {
                self.bus.refresh().unwrap();
                if self.bus.look(&holds) {
                    return;
                }
                // The last write may come without a wakeup for this bus.
                let _ = tokio::time::timeout(crate::support::PAUSE, changes.changed()).await;
            }
        };
        let waited = tokio::time::timeout(DEADLINE, waiting).await;
        let agent = self.bus.look(|state| state.session(self.session).cloned());
        assert!(waited.is_ok(), "it never came true that {what}: {agent:?}");
    }

    pub(crate) async fn assign(&self, prompt: &str) -> TaskId {
        let task = NewTask::of(Bus::body(prompt.to_owned()));
        let session = self.session;
        let receipt = self.lead.ask(Operation::Assign { session, task }).await.unwrap();
        let assigned = receipt.events.iter().find_map(|event| match event {
            Event::TaskAssigned(assigned) => Some(assigned.id.clone()),
            _ => None,
        });
        assigned.unwrap()
    }

    pub(crate) async fn send(&self, text: &str) -> MessageId {
        let mut call = self.lead.call();
        let sent = call.send("scripted".to_owned(), text.to_owned(), None);
        let sent = sent.await.unwrap();
        call.answered().await;
        sent.id
    }

    fn task(&self, id: &TaskId) -> Task {
        self.bus.look(|state| state.task(id).cloned()).unwrap()
    }

    /// Returns the output of a task that is done.
    pub(crate) fn output(&self, id: &TaskId) -> String {
        let task = self.task(id);
        assert_eq!(task.status, TaskStatus::Done, "{task:?}");
        self.bus.text(task.output.unwrap()).unwrap()
    }

    /// Counts the matching events in the log.
    pub(crate) fn count(&self, is: impl Fn(&Event) -> bool) -> usize {
        let (entries, _) = self.bus.read_after(LogPosition::default(), usize::MAX).unwrap();
        let events = entries.iter().flat_map(|(_, entry)| &entry.events);
        events.filter(|event| is(event)).count()
    }

    pub(crate) async fn end(self) {
        self.faults.mend();
        self.team.shutdown(std::future::pending()).await;
        self.team
            .membership()
            .leave(cli_team_bridge::domain::member::Departure::Closed)
            .await
            .unwrap();
        self.lead.leave(cli_team_bridge::domain::member::Departure::Closed).await.unwrap();
    }
}

fn bus_session(bus: &Bus, task: &TaskId) -> SessionId {
    bus.refresh().unwrap();
    bus.look(|state| state.task(task).unwrap().session)
}

/// Says whether an agent is idle, without tasks, unread messages or messages in flight.
pub(crate) fn at_rest(state: &State, session: SessionId) -> bool {
    let rests = |live: &Session| {
        live.running.is_none()
            && live.queue.is_empty()
            && live.activity == Activity::Idle
            && live.tools == Tools::Ready
            && live.in_flight.is_empty()
            && state.unread(&live.name).next().is_none()
    };
    state.session(session).is_some_and(rests)
}

/// Checks one write of a bridge after another: each fails while the agent gets a message and two tasks.
async fn check_each_write_may_fail(point: FaultPoint, fault: Fault) {
    let stage = Stage::new(ECHO);
    let bridge = FaultyBridge::new(&stage).await;
    let mut nth = 1;
    loop {
        let failed = bridge.faults.failed();
        bridge.faults.fail(point, nth, TIMES, fault);
        let words = format!("words number {nth}");
        let message = bridge.send(&words).await;
        let (first, second) = (
            bridge.assign(&format!("the first {nth}")).await,
            bridge.assign(&format!("the second {nth}")).await,
        );
        let what = format!("everything ends although {point:?} {nth} fails");
        let over = |state: &State, task: &TaskId| state.task(task).unwrap().status.is_final();
        bridge
            .until(&what, |state| {
                over(state, &first) && over(state, &second) && at_rest(state, bridge.session)
            })
            .await;
        assert!(bridge.output(&first).ends_with(&format!("the first {nth}")));
        assert!(bridge.output(&second).ends_with(&format!("the second {nth}")));
        for task in [&first, &second] {
            let ends = |event: &Event| matches!(event, Event::TaskFinished(finished) if finished.id == *task);
            assert_eq!(bridge.count(ends), 1, "{task} ends once");
        }
        let delivered = bridge.bus.look(|state| {
            let message = state.message(&message).unwrap();
            message.delivery(&name("scripted"))
        });
        assert_eq!(delivered, Some(Delivery::Seen), "{nth}");
        assert!(was_prompted(&stage, &words), "{words} was never shown");
        let still_failing = bridge.faults.failed() > failed;
        bridge.faults.mend();
        if !still_failing {
            break;
        }
        nth += 1;
    }
    assert!(nth > 4, "only {nth} writes were made");
    bridge.end().await;
}

/// Says whether the prompt of any turn contained `words`.
pub(crate) fn was_prompted(stage: &Stage, words: &str) -> bool {
    let transcripts = std::fs::read_dir(stage.bus().join("tasks")).unwrap();
    let mut texts = transcripts.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    texts.any(|text| text.contains(words))
}

#[tokio::test]
async fn a_busy_bus_at_any_write_loses_nothing_and_leaves_nothing_stuck() {
    check_each_write_may_fail(FaultPoint::Append, Fault::Busy).await;
}

#[tokio::test]
async fn a_full_disk_at_any_write_loses_nothing_and_leaves_nothing_stuck() {
    check_each_write_may_fail(FaultPoint::Append, Fault::Io).await;
}

#[tokio::test]
async fn a_write_whose_outcome_is_unknown_happens_once() {
    check_each_write_may_fail(FaultPoint::Append, Fault::OutcomeUnknown).await;
}

#[tokio::test]
async fn a_sync_that_fails_loses_nothing_and_leaves_nothing_stuck() {
    check_each_write_may_fail(FaultPoint::Sync, Fault::OutcomeUnknown).await;
}

#[tokio::test]
async fn an_output_that_cannot_be_stored_at_once_is_kept_until_it_can() {
    let stage = Stage::new(ECHO);
    let bridge = FaultyBridge::new(&stage).await;
    let long = "long ".repeat(limits::INLINE_BYTES / 4);
    bridge.faults.fail(FaultPoint::Blob, 1, TIMES, Fault::Io);
    let task = bridge.assign(&long).await;
    bridge.until("the task is over", |state| at_rest(state, bridge.session)).await;
    assert!(bridge.output(&task).contains(&long));
    assert_eq!(bridge.faults.failed(), TIMES);
    bridge.end().await;
}

/// A stop does not wait for the bus, yet loses nothing that the agent has done.
#[tokio::test]
async fn an_unwritten_end_of_a_turn_outlives_a_kill() {
    let stage = Stage::new(ECHO);
    let bridge = FaultyBridge::new(&stage).await;
    bridge.faults.fail_at(u64::MAX - 1, Fault::Io, |event| matches!(event, Event::TaskFinished(_)));
    let task = bridge.assign("all is said").await;
    crate::support::until("the end was to be written", || bridge.faults.failed() > 0).await;
    let kill = Operation::Stop { agent: "scripted".to_owned(), reason: None, kill: true };
    bridge.lead.ask(kill).await.unwrap();
    crate::support::until("the process is gone", || stage.processes().is_empty()).await;
    bridge.faults.mend();
    bridge.until("it has left", |state| state.session(bridge.session).is_none()).await;
    assert!(bridge.output(&task).ends_with("all is said"));
    bridge.end().await;
}

/// Otherwise the bus would list an agent that no bridge runs, and its task would fail.
#[tokio::test]
async fn an_agent_starts_even_if_the_outcome_of_writing_its_start_is_unknown() {
    let stage = Stage::new(ECHO);
    let bridge = FaultyBridge::new(&stage).await;
    for point in [FaultPoint::Append, FaultPoint::Sync] {
        bridge.faults.fail(point, 1, TIMES, Fault::OutcomeUnknown);
        let assignment = Assignment {
            agent: "scripted".to_owned(),
            prompt: "its first words".to_owned(),
            ..Assignment::default()
        };
        let task = bridge.team.assign_to_new(assignment).await.unwrap().task;
        bridge
            .until("its task is over", |state| state.task(&task).unwrap().status.is_final())
            .await;
        assert!(bridge.output(&task).ends_with("its first words"));
        bridge.faults.mend();
    }
    bridge.end().await;
}

/// A full disk refuses writes for as long as it is full.
#[tokio::test]
async fn a_bridge_ends_its_agents_even_while_the_bus_is_unwritable() {
    for killed in [true, false] {
        let stage = Stage::new(ECHO);
        let bridge = FaultyBridge::new(&stage).await;
        let hanging = bridge.assign("hang").await;
        let runs = |state: &State| {
            let task = state.task(&hanging);
            task.is_some_and(|task| task.status == TaskStatus::Running)
        };
        bridge.until("it hangs", runs).await;
        bridge.faults.fail(FaultPoint::Append, 1, u64::MAX - 1, Fault::Io);
        if killed {
            let limit = std::time::Duration::from_secs(10);
            bridge.team.kill_agent("scripted", limit).await.unwrap();
            until("no agent is left", || stage.processes().is_empty()).await;
            bridge.faults.mend();
            let session = bridge.session;
            let left = |state: &State| state.session(session).is_none();
            bridge.until("it has left", left).await;
            let status = bridge.task(&hanging).status;
            assert_eq!(status, TaskStatus::Cancelled);
        } else {
            // A third of the time that a graceful stop may take.
            let limit = std::time::Duration::from_secs(10);
            let ending = bridge.team.shutdown(std::future::pending());
            let ended = tokio::time::timeout(limit, ending).await;
            assert!(ended.is_ok(), "it waits for the bus");
            until("no agent is left", || stage.processes().is_empty()).await;
        }
        bridge.end().await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_file_size_limit_fails_commands_and_ends_no_process() {
    let stage = Stage::new(ECHO);
    // In blocks of 512 or 1,024 bytes, depending on the shell.
    let limited = ["sh", "-c", "ulimit -f 300; exec \"$0\" \"$@\""];
    let ann = stage.peer_by(&limited, "ann").await;
    let bob = stage.peer("bob").await;
    ann.call("list_agents", json!({})).await;
    let long = |number: u32| json!({ "to": "ann", "content": format!("{number}{:y>50000}", "") });
    for number in 0..10 {
        bob.call("send_message", long(number)).await;
    }
    let short = json!({ "to": "bob", "content": "x" });
    let refused = ann.refused("send_message", short).await;
    assert!(refused.to_lowercase().contains("too large"), "{refused}");
    let listed = ann.call("list_agents", json!({})).await;
    assert_eq!(listed["agents"].as_array().unwrap().len(), 2, "{listed}");
    bob.call("send_message", long(10)).await;
    bob.close().await;
    ann.close().await;
}
