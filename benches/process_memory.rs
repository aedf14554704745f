//! The memory of processes that have joined, and how fast the MCP modes answer.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use cli_team_bridge::domain::limits::TeamLimits;
use futures::future::try_join_all;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::support::Outcome;
use crate::support::child_process::{self, ChildProcess};
use crate::support::project::{self, Project};
use crate::support::samples::median;
use crate::support::table::{Demand, Row};
use crate::waiting_process::number_after;

/// The length of the long unread messages.
const LONG_MESSAGE_BYTES: usize = 8 * 1024;
/// How many messages are sent at once to fill an inbox.
const AT_ONCE: usize = 500;
/// How often a server is started to measure its first answer.
const STARTS: usize = 7;
/// Longer than any step takes.
const PATIENCE: Duration = Duration::from_secs(10);

/// A mode of the binary that speaks MCP, and its memory limit.
struct Mode {
    name: &'static str,
    arguments: &'static [&'static str],
    demand_mb: f64,
}

const MODES: [Mode; 2] = [
    Mode { name: "peer", arguments: &["peer", "--name", "reader"], demand_mb: 12.0 },
    Mode {
        name: "orchestrator",
        arguments: &["orchestrator", "--name", "reader"],
        demand_mb: 25.0,
    },
];

pub(crate) fn measure() -> Outcome<Vec<Row>> {
    project::run(async {
        let (empty, full) = (Project::new()?, Project::new()?);
        fill_inbox(&full.bus()).await?;
        let mut rows = vec![
            library("a process that has joined a bus", &empty)?,
            library("the same with 10,000 unread of 8 KiB", &full)?,
        ];
        for mode in MODES {
            rows.extend(served(&mode, &empty, &full).await?);
        }
        Ok(rows)
    })
}

/// Measures a process that has joined a bus through the library.
fn library(figure: &str, project: &Project) -> Outcome<Row> {
    let member = ChildProcess::start("member", &[&project.bus_argument(), "reader"])?;
    let resident = resident_mb(member.pid())?;
    Ok(Row::absolute(&format!("resident: {figure}"), Demand::None, resident, "MB"))
}

/// The role of a member: joins, and stays until the parent sends a line.
pub(crate) fn stay(bus: &Path, name: &str) -> Outcome {
    project::run(async {
        let bus = project::open(bus)?;
        let _membership = project::join(&bus, name).await?;
        child_process::reply("ready")?;
        child_process::listen()?;
        Ok(())
    })
}

async fn fill_inbox(bus: &Path) -> Outcome {
    let bus = project::open(bus)?;
    project::absent(&bus, "reader").await?;
    let sender = project::join(&bus, "sender").await?;
    let send = async || {
        let mut call = sender.call();
        let content = "x".repeat(LONG_MESSAGE_BYTES);
        let sent = call.send("reader".to_owned(), content, None).await;
        call.answered().await;
        sent
    };
    for _ in 0..TeamLimits::default().unread / AT_ONCE {
        try_join_all((0..AT_ONCE).map(|_| send())).await?;
    }
    bus.close().await;
    Ok(())
}

/// Measures how soon a mode of the binary answers, and its memory.
async fn served(mode: &Mode, empty: &Project, full: &Project) -> Outcome<Vec<Row>> {
    let name = mode.name;
    let ready = format!("`{name}`: from start to the answer of `tools/list`");
    let mut times = Vec::new();
    let mut resident = 0.0;
    for _ in 0..STARTS {
        let begun = Instant::now();
        let Some(mut server) = Server::start(mode, empty).await? else {
            let demand = format!("≤ {} MB, < 50 ms", mode.demand_mb);
            let row = Row::skipped(&format!("`{name}`"), &demand, "the binary has no such mode");
            return Ok(vec![row]);
        };
        server.ask("tools/list", json!({})).await?;
        times.push(begun.elapsed().as_secs_f64() * 1000.0);
        server.check().await?;
        resident = server.resident_mb()?;
        server.end().await?;
    }
    let mut server = Server::start(mode, full).await?.ok_or("it did start")?;
    server.check().await?;
    let with_unread = server.resident_mb()?;
    server.end().await?;
    let demand = Demand::AtMost(mode.demand_mb);
    Ok(vec![
        Row::absolute(&ready, Demand::AtMost(50.0), median(times.into_iter()), "ms"),
        Row::absolute(&format!("resident: `{name}`"), demand, resident, "MB"),
        Row::absolute(
            &format!("resident: `{name}` with 10,000 unread of 8 KiB"),
            demand,
            with_unread,
            "MB",
        ),
    ])
}

/// Our binary as an MCP server on stdio, with a client.
struct Server {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    asked: u32,
}

impl Server {
    /// Starts a mode and initializes it; `None` if the binary lacks it.
    async fn start(mode: &Mode, project: &Project) -> Outcome<Option<Self>> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cli-team-bridge"))
            .args(mode.arguments)
            .arg("--project")
            .arg(project.path())
            .env("XDG_STATE_HOME", project.path().join("state"))
            // The bus was made by the process of the benchmark.
            .env("BRIDGE_ADOPT", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let input = child.stdin.take().ok_or("the server has no stdin")?;
        let output = child.stdout.take().ok_or("the server has no stdout")?;
        let mut server = Self { child, input, output: BufReader::new(output).lines(), asked: 0 };
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "benchmark", "version": "1" },
        });
        if server.ask("initialize", hello).await.is_err() {
            return Ok(None);
        }
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        server.say(&initialized).await?;
        Ok(Some(server))
    }

    async fn say(&mut self, message: &Value) -> Outcome {
        self.input.write_all(format!("{message}\n").as_bytes()).await?;
        Ok(self.input.flush().await?)
    }

    /// Sends a request and waits for the answer.
    async fn ask(&mut self, method: &str, params: Value) -> Outcome<Value> {
        self.asked += 1;
        let id = self.asked;
        let question = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.say(&question).await?;
        loop {
            let line = tokio::time::timeout(PATIENCE, self.output.next_line()).await??;
            let answer: Value = serde_json::from_str(&line.ok_or("the server has ended")?)?;
            if answer["id"] == id {
                return Ok(answer);
            }
        }
    }

    /// Reads the first unread messages.
    async fn check(&mut self) -> Outcome {
        let call = json!({ "name": "check_messages", "arguments": {} });
        let answer = self.ask("tools/call", call).await?;
        if answer["result"].is_null() || answer["result"]["isError"] == true {
            return Err(format!("`check_messages` answered {answer}").into());
        }
        Ok(())
    }

    fn resident_mb(&self) -> Outcome<f64> {
        resident_mb(self.child.id().ok_or("the server has ended")?)
    }

    /// Closes its input and waits for its end.
    async fn end(mut self) -> Outcome {
        drop(self.input);
        tokio::time::timeout(PATIENCE, self.child.wait()).await??;
        Ok(())
    }
}

pub(crate) fn resident_mb(pid: u32) -> Outcome<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kib = u32::try_from(number_after(&status, "VmRSS:")?)?;
    Ok(f64::from(kib) * 1024.0 / 1e6)
}
