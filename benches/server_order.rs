//! A bus whose order a PostgreSQL server keeps, compared with that server's own statements, all on one machine.
//!
//! The anchors are a bare insert with its commit, and the smallest transaction that gives numbers without gaps: a counter row moved and a
//! row inserted, in one statement. The server runs with its usual durability, in a temporary directory. Skipped where none is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cli_team_bridge::bus::storage::file::{FileLog, NewOrder, Options};
use cli_team_bridge::bus::storage::{OrderedBy, postgres};
use cli_team_bridge::bus::{Bus, Membership, WaitFor};
use cli_team_bridge::sys::fs::disk::RealDisk;
use cli_team_bridge::sys::process::descendants::{descendants, processor_time};
use tokio_postgres::{Client, NoTls};

use crate::send;
use crate::support::Outcome;
use crate::support::anchor::{END, PACE};
use crate::support::child_process::{self, ChildProcess};
use crate::support::project::{self, Project, text};
use crate::support::samples::{Rounds, Samples, monotonic_ns};
use crate::support::table::{Demand, Row};

use self::test_server::TestServer;

#[path = "../src/bus/storage/postgres/test_server.rs"]
#[expect(clippy::unwrap_used, reason = "it is shared with tests, which fail by panicking")]
mod test_server;

const ROUNDS: usize = 9;
const MESSAGES: usize = 100;
const WRITERS: u32 = 8;
/// Of each writer, in one race.
const RACED: u32 = 100;
/// About the length of a line with a message of the usual length.
const LINE: usize = 700;
const IDLE_HOSTS: usize = 10;
const IDLE_MEMBERS: usize = 10;
/// How long the work of the server for idle members is watched.
const WATCHED: Duration = Duration::from_secs(20);
/// Longer than any run.
const LONG: Duration = Duration::from_mins(10);

pub(crate) fn measure() -> Outcome<Vec<Row>> {
    let Some(server) = TestServer::start() else {
        let why = "no PostgreSQL is installed";
        return Ok(vec![Row::skipped("a bus on a PostgreSQL server", "", why)]);
    };
    let until = Instant::now() + Duration::from_secs(10);
    let order = postgres::make_team(&server.address(), "figures", until)?;
    let mut rows = appends(&server, &order)?;
    rows.extend(races(&server, &order)?);
    rows.extend(idle(&server, &order)?);
    Ok(rows)
}

/// A host: a mirror in a directory of its own.
struct Host {
    project: Project,
    bus: Bus,
}

impl Host {
    fn new(order: &OrderedBy) -> Outcome<Self> {
        let project = Project::new()?;
        let options = Options { order: NewOrder::Server(order.clone()), ..Options::default() };
        let log = FileLog::open(&project.bus(), Arc::new(RealDisk), options)?;
        let bus = Bus::open(Box::new(log))?;
        Ok(Self { project, bus })
    }
}

/// Connects to the server, on the thread of the caller's runtime.
async fn connect(server: &TestServer) -> Outcome<Client> {
    let (client, connection) = tokio_postgres::connect(&server.address(), NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// One writer, and a message to a process that sleeps on another host.
fn appends(server: &TestServer, order: &OrderedBy) -> Outcome<Vec<Row>> {
    project::run(async {
        let client = connect(server).await?;
        client.batch_execute("CREATE TABLE bare (n bigserial PRIMARY KEY, line bytea)").await?;
        let insert = client.prepare("INSERT INTO bare (line) VALUES ($1)").await?;
        let (here, there) = (Host::new(order)?, Host::new(order)?);
        project::absent(&here.bus, "reader").await?;
        let sender = project::join(&here.bus, "sender").await?;
        drop(there.bus);
        let mut receiver =
            ChildProcess::start("receiver", &[&there.project.bus_argument(), "receiver"])?;
        let (mut append, mut arrival) = (Rounds::default(), Rounds::default());
        let line = vec![b'x'; LINE];
        for _ in 0..ROUNDS {
            let mut bare = Samples::default();
            for _ in 0..MESSAGES {
                let begun = Instant::now();
                client.execute(&insert, &[&line]).await?;
                bare.push(begun.elapsed());
            }
            let ours = send::sends(&sender, "reader", MESSAGES).await?;
            append.push(bare.percentile_us(50), ours.percentile_us(50));
            let arrived = to_sleeper(&sender, &mut receiver).await?;
            arrival.push(ours.percentile_us(50), arrived.percentile_us(50));
        }
        let beyond = arrival.ours() - arrival.anchor();
        Ok(vec![
            Row::ratio(
                "send on a server, 1 writer, p50, beside a bare insert with its commit",
                Demand::AtMost(1.3),
                &append,
                "µs",
            ),
            Row::absolute(
                "message to a sleeping process on another host, p50, beyond a send",
                Demand::AtMost(1_000.0),
                beyond,
                "µs",
            ),
        ])
    })
}

/// Sends messages to a process that sleeps, and returns how long each took to arrive.
async fn to_sleeper(sender: &Membership, receiver: &mut ChildProcess) -> Outcome<Samples> {
    for at in 0..=MESSAGES / 2 {
        tokio::time::sleep(PACE).await;
        let last = at == MESSAGES / 2;
        let head = if last { END.to_owned() } else { format!("{} ", monotonic_ns()) };
        let mut call = sender.call();
        call.send("receiver".to_owned(), text(&head), None).await?;
        call.answered().await;
    }
    Samples::from_line(&receiver.hear()?)
}

/// Eight writers of one team, on a host each.
fn races(server: &TestServer, order: &OrderedBy) -> Outcome<Vec<Row>> {
    let mut rate = Rounds::default();
    let hosts = (0..WRITERS).map(|_| Host::new(order)).collect::<Outcome<Vec<_>>>()?;
    project::run(async {
        let client = connect(server).await?;
        let make = "CREATE TABLE counter (n bigint); INSERT INTO counter VALUES (0);
                    CREATE TABLE counted (n bigint PRIMARY KEY, line bytea)";
        Ok(client.batch_execute(make).await?)
    })?;
    let buses: Vec<PathBuf> = hosts.iter().map(|host| host.project.bus()).collect();
    for host in &hosts {
        host.bus.fetch()?;
    }
    for round in 0..ROUNDS / 2 {
        let writers = (0..WRITERS).map(|_| ChildProcess::start("counter", &[&server.address()]));
        let bare = race(writers.collect::<Outcome<Vec<_>>>()?)?;
        let writers = buses.iter().enumerate().map(|(at, bus)| {
            let name = format!("writer-{round}-{at}");
            ChildProcess::start("writer", &[&bus.to_string_lossy(), &name, &RACED.to_string()])
        });
        rate.push(bare, race(writers.collect::<Outcome<Vec<_>>>()?)?);
    }
    Ok(vec![Row::ratio(
        "8 writers of one team, on a host each, beside 8 that move a counter row and insert",
        Demand::AtLeast(0.8),
        &rate,
        "/s",
    )])
}

/// Starts all writers at once, and returns how many lines a second they wrote.
fn race(mut writers: Vec<ChildProcess>) -> Outcome<f64> {
    let begun = Instant::now();
    for writer in &mut writers {
        writer.say("go")?;
    }
    for writer in &mut writers {
        if writer.hear()?.is_empty() {
            return Err("a writer ended before it had written all".into());
        }
    }
    Ok(f64::from(WRITERS * RACED) / begun.elapsed().as_secs_f64())
}

/// The role of a writer of the anchor.
pub(crate) fn count(address: &str) -> Outcome {
    project::run(async {
        let (client, connection) = tokio_postgres::connect(address, NoTls).await?;
        tokio::spawn(connection);
        let put = "WITH moved AS (UPDATE counter SET n = n + 1 RETURNING n)
                   INSERT INTO counted SELECT n, $1 FROM moved";
        let put = client.prepare(put).await?;
        let line = vec![b'x'; LINE];
        child_process::reply("ready")?;
        child_process::listen()?;
        for _ in 0..RACED {
            client.execute(&put, &[&line]).await?;
        }
        child_process::reply("done")
    })
}

/// A hundred members that wait, on ten hosts.
fn idle(server: &TestServer, order: &OrderedBy) -> Outcome<Vec<Row>> {
    let hosts = (0..IDLE_HOSTS).map(|_| Host::new(order)).collect::<Outcome<Vec<_>>>()?;
    let buses: Vec<_> = hosts.iter().map(|host| host.project.bus_argument()).collect();
    let start = |(at, bus): (usize, &String)| {
        ChildProcess::start("sleepers", &[bus, &format!("sleeper-{at}")])
    };
    let _sleeping = buses.iter().enumerate().map(start).collect::<Outcome<Vec<_>>>()?;
    let pid = postmaster(server)?;
    let before = processor_time(pid);
    project::run(async {
        tokio::time::sleep(WATCHED).await;
        Ok(())
    })?;
    let used = processor_time(pid).saturating_sub(before).as_secs_f64();
    let mut private: Vec<f64> = descendants(&[pid])
        .into_iter()
        .filter(|process| is_backend(process.pid))
        .filter_map(|process| private_mb(process.pid))
        .collect();
    private.sort_by(f64::total_cmp);
    let mut rows = vec![Row::absolute(
        "100 members that wait, on 10 hosts: a core of the server",
        Demand::AtMost(1.0),
        100.0 * used / WATCHED.as_secs_f64(),
        "%",
    )];
    if let Some(most) = private.last() {
        let figure = "memory of its own that the server has for one connection, at most";
        rows.push(Row::absolute(figure, Demand::AtMost(5.0), *most, "MB"));
    }
    Ok(rows)
}

/// The role of ten members that wait.
pub(crate) fn sleep(bus: &Path, name: &str) -> Outcome {
    project::run(async {
        let bus = project::open(bus)?;
        let mut waiting = tokio::task::JoinSet::new();
        for at in 0..IDLE_MEMBERS {
            let member = project::join(&bus, &format!("{name}-{at}")).await?;
            waiting.spawn(async move {
                let mut call = member.call();
                // It ends with this process.
                drop(call.wait(WaitFor::default(), LONG).await);
            });
        }
        child_process::reply("ready")?;
        waiting.join_all().await;
        Ok(())
    })
}

fn postmaster(server: &TestServer) -> Outcome<u32> {
    let file = server.directory().join("data/postmaster.pid");
    let text = fs::read_to_string(file)?;
    Ok(text.lines().next().ok_or("no pid")?.parse()?)
}

/// Says whether a process of the server serves a connection: its title says so.
fn is_backend(pid: u32) -> bool {
    let title = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&title).starts_with("postgres: bridge ")
}

/// Returns the memory that a process shares with no other, in MB.
fn private_mb(pid: u32) -> Option<f64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let private = rollup.lines().filter(|line| line.starts_with("Private_"));
    let kib = private.filter_map(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    Some(kib.sum::<f64>() / 1024.0)
}
