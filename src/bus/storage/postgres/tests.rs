//! The order of lines on a real server.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::test_server::TestServer;
use super::{PostgresOrder, schema};
use crate::bus::rules::{Description, NameChoice};
use crate::bus::storage::file::{FileLog, Networks, Options};
use crate::bus::storage::{ProposedLine, Sequenced, Sequencer};
use crate::bus::{Bus, Joining, Membership};
use crate::domain::ids::CommandId;
use crate::domain::member::MemberKind;
use crate::domain::name::Name;
use crate::sys::fs::disk::RealDisk;
use crate::sys::random_ids;

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

/// Makes the tables and a team.
fn team(server: &TestServer, team: &str) -> PostgresOrder {
    schema::create(&server.address(), soon()).unwrap();
    let order = PostgresOrder::of(&server.address(), team).unwrap();
    order.make_team(soon()).unwrap();
    order
}

fn line(seq: u64, count: u64) -> ProposedLine {
    ProposedLine {
        seq,
        next_seq: seq + count,
        command: random_ids::command(),
        bytes: format!("line {seq}\n").into_bytes(),
        texts: Vec::new(),
    }
}

#[test]
fn lines_have_one_order_and_a_command_one_place() {
    let Some(mut server) = TestServer::start() else { return };
    let order = team(&server, "team");
    let first = line(1, 2);
    assert_eq!(order.put(&first, soon()).unwrap(), Sequenced::Accepted);
    assert_eq!(order.put(&line(1, 1), soon()).unwrap(), Sequenced::Behind);
    assert_eq!(order.put(&line(2, 1), soon()).unwrap(), Sequenced::Behind);
    let twice = ProposedLine { command: first.command, ..line(3, 1) };
    assert_eq!(order.put(&twice, soon()).unwrap(), Sequenced::Behind);
    server.kill_and_restart();
    assert_eq!(order.put(&line(3, 1), soon()).unwrap(), Sequenced::Accepted);
    let lines = order.lines_from(1, soon()).unwrap();
    let read: Vec<_> = lines.iter().map(|line| (line.seq, line.bytes.clone())).collect();
    assert_eq!(read, [(1, b"line 1\n".to_vec()), (3, b"line 3\n".to_vec())]);
    assert!(order.lines_from(4, soon()).unwrap().is_empty());
    let _: CommandId = first.command;
}

/// Opens the bus of a machine: its mirror.
fn open(directory: &Path, server: &TestServer) -> Bus {
    let order = PostgresOrder::of(&server.address(), "team").unwrap();
    let options = Options {
        networks: Networks::Allowed,
        sequencer: Some(Arc::new(order)),
        ..Options::default()
    };
    let log = FileLog::open(&directory.join(".claude/bridge"), Arc::new(RealDisk), options);
    Bus::open(Box::new(log.unwrap())).unwrap()
}

async fn join(bus: &Bus, name: &str) -> Membership {
    let joining = Joining {
        choice: NameChoice::Chosen(Name::parse(name).unwrap()),
        kind: MemberKind::Peer,
        roles: Vec::new(),
        description: Description::default(),
    };
    Membership::join(bus, joining).await.unwrap()
}

#[tokio::test]
async fn members_on_two_machines_exchange_messages() {
    let Some(server) = TestServer::start() else { return };
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = tokio::task::spawn_blocking(move || {
        let _ = team(&server, "team");
        server
    })
    .await
    .unwrap();
    let (one, other) = (open(here.path(), &server), open(there.path(), &server));
    let ann = join(&one, "ann").await;
    let ben = join(&other, "ben").await;
    let mut call = ann.call();
    call.send("ben".into(), "hello over there".to_owned(), None).await.unwrap();
    call.answered().await;
    let _ = ben;
    one.close().await;
    other.close().await;
}
