//! The order of lines on a real server, and members on several hosts, each with a mirror of its own.

mod turn_at_server;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::server_connection::Connection;
use super::test_server::TestServer;
use super::{PostgresOrder, inspect, make_team, role_grants, shares_connections};
use crate::bus::background::heartbeats::HeartbeatIntervals;
use crate::bus::rules::Pick;
use crate::bus::storage::file::{FileLog, Networks, NewOrder, Options};
use crate::bus::storage::{LogError, NextLines, OrderedBy, ProposedLine, Sequenced, Sequencer};
use crate::bus::{Bus, BusError, Claimed, Membership, WaitFor, Waited};
use crate::domain::ids::{CommandId, MessageId};
use crate::domain::member::{Host, HostId};
use crate::domain::messaging::DeliveryMethod;
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
    let options = Options {
        networks: Networks::Allowed,
        order: NewOrder::Server(order.clone()),
        ..Options::default()
    };
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
    let lines = order.lines_from(1, None, soon()).unwrap().lines;
    let read: Vec<_> = lines.iter().map(|line| (line.seq, line.bytes.clone())).collect();
    assert_eq!(read, [(1, b"line 1\n".to_vec()), (3, b"line 3\n".to_vec())]);
    assert!(order.lines_from(4, Some(second.command), soon()).unwrap().lines.is_empty());
}

/// Runs SQL as a role. Returns what the server said against it.
fn sql(address: &str, text: &str) -> Result<Option<String>, String> {
    let mut connection = Connection::new(address).unwrap();
    let ran = connection.run(soon(), async |client| client.first_of(text).await);
    ran.map_err(|error| error.to_string())
}

#[test]
fn a_role_with_the_printed_grants_works_in_its_team_and_changes_nothing_else() {
    let Some(team) = Team::start() else { return };
    let owner = team.server.address();
    let other = make_team(&owner, "other", soon()).unwrap();
    PostgresOrder::of(&other).unwrap().put(&line(1, 1, None), soon()).unwrap();
    sql(&owner, "CREATE ROLE agent LOGIN").unwrap();
    sql(&owner, "CREATE ROLE nobody LOGIN").unwrap();
    for _ in 0..2 {
        sql(&owner, &role_grants("agent", "team")).unwrap();
    }
    let agent = owner.replace("user=bridge", "user=agent");
    let own = make_team(&agent, "team", soon()).unwrap();
    assert_eq!(own.epoch, team.order.epoch);
    let order = PostgresOrder::of(&own).unwrap();
    let (first, text) = (line(1, 1, None), random_ids::blob());
    order.put_text(text, "a long text", soon()).unwrap();
    assert_eq!(order.put(&first, soon()).unwrap(), Sequenced::Accepted);
    let second = line(2, 1, Some(first.command));
    let in_turn = order.take_turn(2, Some(first.command), soon()).unwrap();
    assert_eq!(in_turn, Some(NextLines::default()));
    assert_eq!(order.put(&second, soon()).unwrap(), Sequenced::Accepted);
    assert_eq!(order.lines_from(2, Some(first.command), soon()).unwrap().lines.len(), 1);
    assert_eq!(order.text(text, soon()).unwrap(), "a long text");
    let host = Host { id: HostId(uuid::Uuid::now_v7()), name: "laptop".to_owned() };
    let mut link = order.link().unwrap();
    assert!(!link.beat(&host, soon()).unwrap().is_buried);
    link.leave(host.id, soon()).unwrap();
    let report = inspect(&own, soon()).unwrap();
    assert_eq!((report.lacking, report.last_seq), (Vec::new(), Some(2)));
    assert!(report.sees_some_teams);

    // The other team is not there for it.
    let others = OrderedBy { server: agent.clone(), ..other.clone() };
    let order = PostgresOrder::of(&others).unwrap();
    assert_eq!(order.put(&line(2, 1, None), soon()).unwrap(), Sequenced::Behind);
    assert!(matches!(order.lines_from(1, None, soon()), Err(LogError::ServerLost { .. })));
    let refused = order.put_text(text, "x", soon()).unwrap_err().to_string();
    assert!(refused.contains("row-level security"), "{refused}");
    let refused = make_team(&agent, "other", soon()).unwrap_err().to_string();
    assert!(refused.contains("bus init --role"), "{refused}");
    assert_eq!(inspect(&others, soon()).unwrap().last_seq, None);
    let count = "SELECT count(*) FROM cli_team_bridge.log";
    assert_eq!(sql(&agent, count).unwrap().as_deref(), Some("2"));
    // It changes and deletes no lines, of no team.
    for denied in [
        "UPDATE cli_team_bridge.log SET line = 'x'",
        "DELETE FROM cli_team_bridge.log",
        "UPDATE cli_team_bridge.text SET text = 'x'",
        "DELETE FROM cli_team_bridge.text",
        "TRUNCATE cli_team_bridge.log",
        "UPDATE cli_team_bridge.head SET epoch = gen_random_uuid()",
        "DELETE FROM cli_team_bridge.head",
        "INSERT INTO cli_team_bridge.head (team) VALUES ('mine')",
        "INSERT INTO cli_team_bridge.incoming (team, bus, host) VALUES ('mine', gen_random_uuid(), 'x')",
        "CREATE TABLE cli_team_bridge.own (x int)",
    ] {
        let refused = sql(&agent, denied).unwrap_err();
        assert!(refused.contains("permission denied"), "{denied}: {refused}");
    }
    assert_eq!(sql(&owner, count).unwrap().as_deref(), Some("3"));
    // What is missing is said; a further team is added.
    let nobody = OrderedBy { server: owner.replace("user=bridge", "user=nobody"), ..own };
    let report = inspect(&nobody, soon()).unwrap();
    assert_eq!(report.lacking, ["USAGE on the schema cli_team_bridge"]);
    sql(&owner, "REVOKE INSERT ON cli_team_bridge.log FROM agent").unwrap();
    assert_eq!(inspect(&others, soon()).unwrap().lacking, ["INSERT on log"]);
    sql(&owner, &role_grants("agent", "other")).unwrap();
    let report = inspect(&others, soon()).unwrap();
    assert_eq!((report.lacking, report.last_seq), (Vec::new(), Some(1)));
    assert!(!shares_connections(&owner, soon()).unwrap());
}

#[test]
fn a_server_that_only_reads_is_refused_by_its_name() {
    let Some(mut team) = Team::start() else { return };
    let owner = team.server.address();
    sql(&owner, "CREATE ROLE reader LOGIN").unwrap();
    sql(&owner, "ALTER ROLE reader SET default_transaction_read_only = on").unwrap();
    let reader = OrderedBy { server: owner.replace("user=bridge", "user=reader"), ..team.order };
    let refused = inspect(&reader, soon()).unwrap_err().to_string();
    assert!(refused.contains("only reads (`default_transaction_read_only`)"), "{refused}");
    team.server.become_replica();
    let refused = make_team(&owner, "team", soon()).unwrap_err().to_string();
    assert!(refused.contains(":5432/postgres: it is a replica"), "{refused}");
}

#[test]
fn that_nothing_answers_does_not_mean_that_the_server_is_down_for_all() {
    let nowhere = tempfile::tempdir().unwrap();
    let server = format!("host={} user=bridge dbname=postgres", nowhere.path().display());
    let order = OrderedBy { server, team: "team".into(), epoch: uuid::Uuid::nil() };
    let soon = Instant::now() + Duration::from_millis(500);
    let refused = PostgresOrder::of(&order).unwrap().learn_time(soon);
    assert!(matches!(refused, Err(LogError::Away { is_down: false, .. })), "{refused:?}");
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
    let (near, far) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (first, second) = (team.open(near.path()), team.open(far.path()));
    let (ann, ben) = (first.join_peer("ann").await, second.join_peer("ben").await);
    send(&ann, "ben", "hello over there").await.unwrap();
    assert_eq!(next(&ben).await, "hello over there");
    let long = "long ".repeat(40_000);
    send(&ben, "ann", &long).await.unwrap();
    assert!(next(&ann).await.starts_with("long long"));
    let hosts =
        first.look(|state| [&ann, &ben].map(|member| state.host_of(member.session()).unwrap().id));
    assert_ne!(hosts[0], hosts[1]);
    assert_eq!(first.host().unwrap().id, hosts[0]);

    tokio::task::block_in_place(|| team.server.kill());
    let away = send(&ben, "ann", "while it is away").await.unwrap_err();
    assert!(away.to_string().contains("cannot be reached"), "{away}");
    tokio::task::block_in_place(|| team.server.restart());
    send(&ben, "ann", "after the crash").await.unwrap();
    assert_eq!(next(&ann).await, "after the crash");
    let written = |directory: &Path| {
        let parts = std::fs::read_dir(directory.join(".claude/bridge/log")).unwrap().flatten();
        let mut parts: Vec<_> = parts.map(|part| part.path()).collect();
        parts.sort();
        parts.into_iter().flat_map(|part| std::fs::read(part).unwrap()).collect::<Vec<_>>()
    };
    first.refresh().unwrap();
    let (mine, theirs) = (written(near.path()), written(far.path()));
    let shorter = mine.len().min(theirs.len());
    assert!(shorter > 0 && mine[..shorter] == theirs[..shorter], "both mirrors hold the same");
    first.close().await;
    second.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_has_one_owner_across_hosts() {
    let Some(team) = tokio::task::block_in_place(Team::start) else { return };
    let directories: Vec<_> = (0..4).map(|_| tempfile::tempdir().unwrap()).collect();
    let buses: Vec<_> = directories.iter().map(|directory| team.open(directory.path())).collect();
    let requester = buses[0].join_peer("asker").await;
    let mut racers = Vec::new();
    for (number, bus) in buses.iter().enumerate() {
        racers.push(bus.join_peer(&format!("racer-{number}")).await);
    }
    for round in 0..10 {
        let mut call = requester.call();
        let hour = Duration::from_hours(1);
        let asked = call.open_request(format!("round {round}"), None, hour, hour).await.unwrap();
        call.answered().await;
        let claiming: Vec<_> = racers
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
        for claim in claiming {
            won += u32::from(claim.await.unwrap());
        }
        assert_eq!(won, 1, "round {round}");
    }
    for bus in buses {
        bus.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_reads_and_writes_at_once_is_told_of_each_message_that_it_sent() {
    const HOSTS: usize = 4;
    const MESSAGES: usize = 60;
    let Some(team) = tokio::task::block_in_place(Team::start) else { return };
    let directories: Vec<_> = (0..HOSTS).map(|_| tempfile::tempdir().unwrap()).collect();
    let mut members = Vec::new();
    for (number, directory) in directories.iter().enumerate() {
        members.push(team.open(directory.path()).join_peer(&format!("host-{number}")).await);
    }
    let mut sending = Vec::new();
    for (number, member) in members.into_iter().enumerate() {
        let to = format!("host-{}", (number + 1) % HOSTS);
        sending.push(tokio::spawn(async move {
            for _ in 0..MESSAGES {
                send(&member, &to, "hello").await.unwrap();
            }
        }));
    }
    for host in sending {
        host.await.unwrap();
    }
}

/// Says what became of an act while the server died and came back. None says that it is to be tried again, also if nobody knows.
async fn settled<T>(outcome: Result<T, BusError>, begun: Instant) -> Option<T> {
    match outcome {
        Ok(done) => Some(done),
        Err(error) => {
            assert!(begun.elapsed() < Duration::from_mins(2), "{error}");
            tokio::time::sleep(Duration::from_millis(20)).await;
            None
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_or_doubled_while_the_server_dies_again_and_again() {
    const HOSTS: usize = 3;
    const MESSAGES: usize = 25;
    const DEATHS: u64 = 4;
    let Some(mut team) = tokio::task::block_in_place(Team::start) else { return };
    let (_, seed) = random_ids::blob().as_u64_pair();
    println!("seed {seed}");
    let directories: Vec<_> = (0..=HOSTS).map(|_| tempfile::tempdir().unwrap()).collect();
    let buses: Vec<_> = directories.iter().map(|directory| team.open(directory.path())).collect();
    let reader = buses[HOSTS].join_peer("reader").await;
    let mut requests = Vec::new();
    for number in 0..MESSAGES {
        let hour = Duration::from_hours(1);
        let mut call = reader.call();
        let asked = call.open_request(format!("request {number}"), None, hour, hour).await.unwrap();
        call.answered().await;
        requests.push(asked);
    }
    let mut working = Vec::new();
    for (host, bus) in buses.iter().take(HOSTS).enumerate() {
        let member = bus.join_peer(&format!("host-{host}")).await;
        let requests = requests.clone();
        working.push(tokio::spawn(async move {
            let (mut sent, mut won) = (Vec::new(), Vec::new());
            for (number, request) in requests.iter().enumerate() {
                let text = format!("{host}-{number}");
                let begun = Instant::now();
                while settled(send(&member, "reader", &text).await, begun).await.is_none() {}
                sent.push(text);
                let claimed = loop {
                    let mut call = member.call();
                    let outcome = call.claim(request.clone()).await;
                    call.answered().await;
                    if let Some(claimed) = settled(outcome, begun).await {
                        break claimed;
                    }
                };
                if matches!(claimed, Claimed::Won(_)) {
                    won.push(request.clone());
                }
            }
            (sent, won)
        }));
    }
    let killing = tokio::task::spawn_blocking(move || {
        let (_sender, nothing) = std::sync::mpsc::channel::<()>();
        for death in 0..DEATHS {
            let pause = |bits: u64| Duration::from_millis(50 + (seed >> (8 * death + bits)) % 300);
            let _ = nothing.recv_timeout(pause(0));
            team.server.kill();
            let _ = nothing.recv_timeout(pause(4));
            team.server.restart();
        }
        team
    });
    let (mut sent, mut won) = (Vec::new(), Vec::new());
    for host in working {
        let (its_sent, its_won) = host.await.unwrap();
        sent.extend(its_sent);
        won.extend(its_won);
    }
    let team = killing.await.unwrap();
    tokio::task::block_in_place(|| buses[HOSTS].fetch()).unwrap();
    let mut read = Vec::new();
    loop {
        let mut call = reader.call();
        let pick = Pick::any(100, usize::MAX, usize::MAX);
        let messages = call.receive(DeliveryMethod::Pull, pick).await.unwrap();
        call.answered().await;
        if messages.is_empty() {
            break;
        }
        let of_hosts = messages.into_iter().filter(|message| message.text.contains('-'));
        read.extend(of_hosts.map(|message| message.text));
    }
    for text in &sent {
        let times = read.iter().filter(|read| *read == text).count();
        assert_eq!(times, 1, "{text} was read {times} times");
    }
    won.sort();
    let all = won.len();
    won.dedup();
    assert_eq!(won.len(), all, "no request was won twice");
    for request in &requests {
        let owner = reader.bus().find_request(request).unwrap().unwrap().owner;
        assert!(owner.is_some(), "{request} is claimed");
    }
    drop(team);
}
