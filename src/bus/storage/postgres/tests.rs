//! The order of lines on a real server, and members on several hosts, each with a mirror of its own.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::test_server::TestServer;
use super::{PostgresOrder, make_team};
use crate::bus::background::heartbeats::HeartbeatIntervals;
use crate::bus::storage::file::{FileLog, Networks, Options};
use crate::bus::storage::{LogError, OrderedBy, ProposedLine, Sequenced, Sequencer};
use crate::bus::{Bus, BusError, Claimed, Membership, WaitFor, Waited};
use crate::domain::ids::{CommandId, MessageId};
use crate::sys::fs::disk::RealDisk;
use crate::sys::random_ids;

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

/// A server with a team; none where no PostgreSQL is installed.
struct Team {
    server: TestServer,
    order: OrderedBy,
}

impl Team {
    fn start() -> Option<Self> {
        let Some(server) = TestServer::start() else {
            eprintln!("skipped: no PostgreSQL here (PG_BIN names its programs)");
            return None;
        };
        let order = make_team(&server.address(), "team", soon()).unwrap();
        Some(Self { server, order })
    }

    /// Opens the bus of a host: its mirror.
    fn open(&self, directory: &Path) -> Bus {
        open(&self.order, directory)
    }
}

fn open(order: &OrderedBy, directory: &Path) -> Bus {
    let options =
        Options { networks: Networks::Allowed, order: Some(order.clone()), ..Options::default() };
    let log = FileLog::open(&directory.join(".claude/bridge"), Arc::new(RealDisk), options);
    Bus::open_at(Box::new(log.unwrap()), HeartbeatIntervals::default()).unwrap()
}

async fn send(from: &Membership, to: &str, text: &str) -> Result<MessageId, BusError> {
    let mut call = from.call();
    let sent = call.send(to.into(), text.to_owned(), None).await;
    call.answered().await;
    sent.map(|sent| sent.id)
}

/// Waits for the next message of a member, and returns its text.
async fn next(to: &Membership) -> String {
    let mut call = to.call();
    let waited = call.wait(WaitFor::default(), Duration::from_secs(30)).await.unwrap();
    call.answered().await;
    match waited {
        Waited::Message(message) => message.text,
        other => panic!("{other:?}"),
    }
}

fn line(seq: u64, count: u64, after: Option<CommandId>) -> ProposedLine {
    ProposedLine {
        seq,
        next_seq: seq + count,
        after,
        command: random_ids::command(),
        bytes: format!("line {seq}\n").into_bytes(),
        texts: Vec::new(),
    }
}

#[test]
fn lines_have_one_order_and_a_command_one_place() {
    let Some(mut team) = Team::start() else { return };
    let order = PostgresOrder::of(&team.order).unwrap();
    let first = line(1, 2, None);
    assert_eq!(order.put(&first, soon()).unwrap(), Sequenced::Accepted);
    assert_eq!(order.put(&line(1, 1, None), soon()).unwrap(), Sequenced::Behind);
    assert_eq!(order.put(&line(2, 1, None), soon()).unwrap(), Sequenced::Behind);
    let after = Some(first.command);
    let twice = ProposedLine { command: first.command, ..line(3, 1, after) };
    assert_eq!(order.put(&twice, soon()).unwrap(), Sequenced::Behind);
    let of_another_log = line(3, 1, Some(random_ids::command()));
    assert_eq!(order.put(&of_another_log, soon()).unwrap(), Sequenced::Behind);
    team.server.kill();
    team.server.restart();
    let second = line(3, 1, after);
    assert_eq!(order.put(&second, soon()).unwrap(), Sequenced::Accepted);
    let lines = order.lines_from(1, None, soon()).unwrap();
    let read: Vec<_> = lines.iter().map(|line| (line.seq, line.bytes.clone())).collect();
    assert_eq!(read, [(1, b"line 1\n".to_vec()), (3, b"line 3\n".to_vec())]);
    assert!(order.lines_from(4, Some(second.command), soon()).unwrap().is_empty());
}

#[test]
fn a_server_that_has_lost_lines_is_not_continued() {
    let Some(team) = Team::start() else { return };
    let order = PostgresOrder::of(&team.order).unwrap();
    let first = line(1, 1, None);
    order.put(&first, soon()).unwrap();
    let lost = |seq, after| match order.lines_from(seq, after, soon()) {
        Err(LogError::ServerLost { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    assert!(lost(9, Some(first.command)).contains("1 events, and this machine knows 8"));
    assert!(lost(2, Some(random_ids::command())).contains("other events before event 2"));
    let another = OrderedBy { epoch: uuid::Uuid::nil(), ..team.order.clone() };
    let order = PostgresOrder::of(&another).unwrap();
    assert_eq!(order.put(&line(2, 1, Some(first.command)), soon()).unwrap(), Sequenced::Behind);
    assert!(matches!(order.lines_from(1, None, soon()), Err(LogError::ServerLost { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn members_on_two_hosts_exchange_messages_also_after_a_crash_of_the_server() {
    let Some(mut team) = tokio::task::block_in_place(Team::start) else { return };
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (one, other) = (team.open(here.path()), team.open(there.path()));
    let (ann, ben) = (one.join_peer("ann").await, other.join_peer("ben").await);
    send(&ann, "ben", "hello over there").await.unwrap();
    assert_eq!(next(&ben).await, "hello over there");
    let long = "long ".repeat(40_000);
    send(&ben, "ann", &long).await.unwrap();
    assert!(next(&ann).await.starts_with("long long"));
    let hosts =
        one.look(|state| [&ann, &ben].map(|member| state.host_of(member.session()).unwrap().id));
    assert_ne!(hosts[0], hosts[1]);
    assert_eq!(one.host().unwrap().id, hosts[0]);

    tokio::task::block_in_place(|| team.server.kill());
    let away = send(&ben, "ann", "while it is away").await.unwrap_err();
    assert!(away.to_string().contains("cannot be reached"), "{away}");
    tokio::task::block_in_place(|| team.server.restart());
    send(&ben, "ann", "after the crash").await.unwrap();
    assert_eq!(next(&ann).await, "after the crash");
    let log = |directory: &Path| {
        let log = directory.join(".claude/bridge/log");
        let parts = std::fs::read_dir(log).unwrap().flatten();
        let mut parts: Vec<_> = parts.map(|part| part.path()).collect();
        parts.sort();
        parts.into_iter().flat_map(|part| std::fs::read(part).unwrap()).collect::<Vec<_>>()
    };
    one.refresh().unwrap();
    let (mine, theirs) = (log(here.path()), log(there.path()));
    let shorter = mine.len().min(theirs.len());
    assert!(shorter > 0 && mine[..shorter] == theirs[..shorter], "both mirrors hold the same");
    one.close().await;
    other.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_has_one_owner_across_hosts() {
    let Some(team) = tokio::task::block_in_place(Team::start) else { return };
    let directories: Vec<_> = (0..4).map(|_| tempfile::tempdir().unwrap()).collect();
    let buses: Vec<_> = directories.iter().map(|directory| team.open(directory.path())).collect();
    let asker = buses[0].join_peer("asker").await;
    let mut racers = Vec::new();
    for (number, bus) in buses.iter().enumerate() {
        racers.push(bus.join_peer(&format!("racer-{number}")).await);
    }
    for round in 0..10 {
        let mut call = asker.call();
        let hour = Duration::from_hours(1);
        let asked = call.open_request(format!("round {round}"), None, hour, hour).await.unwrap();
        call.answered().await;
        let racing: Vec<_> = racers
            .iter()
            .map(|racer| {
                let (racer, asked) = (racer.clone(), asked.clone());
                tokio::spawn(async move {
                    while racer.bus().find_request(&asked).unwrap().is_none() {
                        racer.bus().changes().changed().await.unwrap();
                    }
                    let mut call = racer.call();
                    let claimed = call.claim(asked).await.unwrap();
                    call.answered().await;
                    matches!(claimed, Claimed::Won(_))
                })
            })
            .collect();
        let mut won = 0;
        for claim in racing {
            won += u32::from(claim.await.unwrap());
        }
        assert_eq!(won, 1, "round {round}");
    }
    for bus in buses {
        bus.close().await;
    }
}
