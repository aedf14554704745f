//! A process that is stopped, but not dead: the processes that watch its heartbeat report it hung once, and back when it goes on.
//!
//! All intervals here are shorter than the program's.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cli_team_bridge::bus::event::Event;
use cli_team_bridge::bus::rules::NameChoice;
use cli_team_bridge::bus::state::State;
use cli_team_bridge::bus::storage::LogPosition;
use cli_team_bridge::bus::storage::file::{FileLog, Options};
use cli_team_bridge::bus::{Bus, Claimed, HeartbeatIntervals};
use cli_team_bridge::domain::member::MemberKind;
use cli_team_bridge::domain::messaging::RequestStatus;
use cli_team_bridge::sys::fs::disk::RealDisk;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::every_engine::{join, name, peer, until};
use super::killed_writers::Other;

/// A process is hung only after ten missed beats, so that a busy machine is not taken for a stopped process.
const PACE: HeartbeatIntervals = HeartbeatIntervals {
    look_around: Duration::from_millis(100),
    beat: Duration::from_millis(200),
    hung: Duration::from_secs(2),
};

pub(crate) fn open(directory: &Path) -> Bus {
    let log = FileLog::open(directory, Arc::new(RealDisk), Options::default()).unwrap();
    Bus::open_at(Box::new(log), PACE).unwrap()
}

/// The other process: claims the open request, and lives until its input ends.
pub(crate) async fn hold(directory: &Path) {
    let bus = open(directory);
    let membership = peer(&bus, "holder").await;
    let request = bus.look(|state| state.open_requests().next().unwrap().id.clone());
    let mut call = membership.call();
    assert!(matches!(call.claim(request).await.unwrap(), Claimed::Won(_)));
    call.answered().await;
    println!(">claimed");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_process_is_reported_hung_once_and_returns_without_its_claim() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("bridge");
    let (bus, second) = (open(&directory), open(&directory));
    let choice = NameChoice::Like(name("orchestrator"));
    let lead = join(&bus, choice, MemberKind::Orchestrator).await;
    let asker = peer(&second, "asker").await;
    let minute = Duration::from_mins(1);
    let mut call = asker.call();
    let request = call.open_request("look".into(), None, minute, minute).await.unwrap();
    call.answered().await;

    let mut other = Other::start("hold", &directory);
    assert_eq!(other.hear().as_deref(), Some("claimed"));
    let holder = name("holder");
    let status = |state: &State| state.request(&request).map(|request| request.status);
    until(&bus, |state| status(state) == Some(RequestStatus::Claimed)).await;
    let session = bus.look(|state| state.live(&holder).unwrap().id);

    let pid = Pid::from_raw(i32::try_from(other.child.id()).unwrap());
    kill(pid, Signal::SIGSTOP).unwrap();
    until(&bus, |state| state.session(session).unwrap().hung).await;
    assert_eq!(bus.look(status), Some(RequestStatus::Open));
    let notices = bus.look(|state| state.unread(lead.name()).count());
    assert!(notices > 0, "the orchestrator is notified");
    until(&second, |state| state.session(session).unwrap().hung).await;

    kill(pid, Signal::SIGCONT).unwrap();
    until(&bus, |state| !state.session(session).unwrap().hung).await;
    assert_eq!(bus.look(status), Some(RequestStatus::Open));
    let (entries, _) = bus.read_after(LogPosition::default(), usize::MAX).unwrap();
    let events = entries.iter().flat_map(|(_, entry)| &entry.events);
    let reports = events.filter_map(|event| match event {
        Event::MemberHung { session: hung } if *hung == session => Some("hung"),
        Event::MemberBack { session: back } if *back == session => Some("back"),
        _ => None,
    });
    // A busy machine may stop the process for as long once more.
    let reports: Vec<_> = reports.collect();
    assert!(reports.starts_with(&["hung", "back"]), "{reports:?}");
    let is_again = |pair: &[&str]| pair[0] == pair[1];
    assert!(!reports.windows(2).any(is_again), "two were watching: {reports:?}");
}
