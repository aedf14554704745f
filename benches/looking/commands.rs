//! Looking at a team: `status` with a long history, how soon `log -f` prints a line, and `search` in a million messages.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cli_team_bridge::bus::event::Event;
use cli_team_bridge::bus::storage::file::{FileLog, Foreign, Options, Origin, Proof};
use cli_team_bridge::bus::storage::{Appended, Log, Proposal, Replica, Verdict};
use cli_team_bridge::bus::{Bus, Membership};
use cli_team_bridge::domain::ids::{CommandId, MessageId};
use cli_team_bridge::sys::fs::disk::RealDisk;
use cli_team_bridge::sys::fs::user_state_dir::StateDirectory;
use serde_json::json;

use crate::support::Outcome;
use crate::support::anchor::PACE;
use crate::support::child_process::ChildProcess;
use crate::support::project::{self, Project, text};
use crate::support::samples::Samples;
use crate::support::table::{Demand, Row};

pub(crate) const LONG: u64 = 100_000;
const VERY_LONG: u64 = 1_000_000;
/// How many messages one append has: a line of the log stays far below its limit.
const AT_ONCE: u64 = 100;
const RUNS: usize = 50;
const LINES: usize = 200;

/// The limits, in milliseconds.
const STATUS_MS: f64 = 30.0;
const LINE_MS: f64 = 50.0;
const SEARCH_MS: f64 = 100.0;

/// Words of different frequency: one of nearly every message, one of every thousandth, two that stand together now and then, the
/// beginning of many, and one of none.
const SEARCHES: [(&str, &str); 5] = [
    ("a word of nearly all", "word0"),
    ("a rare word", "needle"),
    ("two words together", "word1 word0"),
    ("the beginning of many words", "word1*"),
    ("a word of none", "absent"),
];

pub(crate) fn measure() -> Outcome<Vec<Row>> {
    project::run(async {
        let mut rows = Vec::new();
        let team = Team::new()?;
        team.fill(LONG).await?;
        rows.extend(rows_of(
            "`status` with 100,000 messages of history",
            STATUS_MS,
            &team.runs(&["status"])?,
        ));
        rows.extend(rows_of("`log -f`: from a send to its line", LINE_MS, &team.lines().await?));
        drop(team);

        let team = Team::new()?;
        team.fill(VERY_LONG).await?;
        let (first, _) = team.run(&["search", "needle"])?;
        let index = team.index_bytes()?;
        rows.push(Row::absolute(
            "`search`: the first of a million messages, which makes the index",
            Demand::None,
            first.as_secs_f64(),
            "s",
        ));
        rows.push(Row::absolute(
            "the size of that index, beside the log's",
            Demand::None,
            index,
            "×",
        ));
        for (figure, words) in SEARCHES {
            let figure = format!("`search` in a million messages: {figure}");
            rows.extend(rows_of(&figure, SEARCH_MS, &team.runs(&["search", words])?));
        }
        Ok(rows)
    })
}

fn rows_of(figure: &str, limit_ms: f64, samples: &Samples) -> [Row; 2] {
    let row = |figure: &str, demand, percent| {
        Row::absolute(figure, demand, samples.percentile_us(percent) / 1000.0, "ms")
    };
    [
        row(&format!("{figure}, p50"), Demand::AtMost(limit_ms), 50),
        row("the same, p99", Demand::None, 99),
    ]
}

/// A project whose bus the commands accept, with the directories of its user.
pub(crate) struct Team {
    project: Project,
}

impl Team {
    pub(crate) fn new() -> Outcome<Self> {
        Ok(Self { project: Project::new()? })
    }

    fn log(&self) -> Outcome<FileLog> {
        let state = self.project.path().join("state");
        let find = |name: &str| (name == "XDG_STATE_HOME").then(|| state.clone().into_os_string());
        let proof = Proof { state: StateDirectory::find(find), foreign: Foreign::PutAside };
        let options = Options { origin: Origin::Proven(proof), ..Options::default() };
        Ok(FileLog::open(&self.project.bus(), Arc::new(RealDisk), options)?)
    }

    pub(crate) async fn member(&self, name: &str) -> Outcome<Membership> {
        let bus = Bus::open(Box::new(self.log()?))?;
        project::join(&bus, name).await
    }

    /// Writes a history of messages that nobody has to read any more.
    pub(crate) async fn fill(&self, messages: u64) -> Outcome {
        for name in ["ann", "ben"] {
            let bus = Bus::open(Box::new(self.log()?))?;
            project::absent(&bus, name).await?;
            bus.close().await;
        }
        let mut log = self.log()?;
        let mut replica = Log::open(&mut log)?;
        for first in (0..messages).step_by(AT_ONCE.try_into()?) {
            let numbers = first..(first + AT_ONCE).min(messages);
            let events: Outcome<Vec<_>> = numbers.map(message).collect();
            append(&mut log, &mut replica, events?.into_iter().flatten().collect())?;
        }
        log.durability().sync()?;
        Ok(())
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cli-team-bridge"));
        command
            .args(arguments)
            .arg("--project")
            .arg(self.project.path())
            .env("XDG_STATE_HOME", self.project.path().join("state"))
            .env("XDG_CACHE_HOME", self.cache());
        command
    }

    /// Writes a user's configuration in which members send as fast as they can, and returns its directory.
    pub(crate) fn without_rates(&self) -> Outcome<PathBuf> {
        let config = self.project.path().join("config");
        std::fs::create_dir_all(config.join("cli-team-bridge"))?;
        let limits = "[limits]\nmessages_per_minute = 0\n";
        std::fs::write(config.join("cli-team-bridge").join("config.toml"), limits)?;
        Ok(config)
    }

    fn cache(&self) -> PathBuf {
        self.project.path().join("cache")
    }

    /// Runs a command, and returns its duration and its output.
    fn run(&self, arguments: &[&str]) -> Outcome<(Duration, String)> {
        let begun = Instant::now();
        let output = self.command(arguments).stdin(Stdio::null()).output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
        Ok((begun.elapsed(), String::from_utf8(output.stdout)?))
    }

    fn runs(&self, arguments: &[&str]) -> Outcome<Samples> {
        let mut samples = Samples::default();
        for _ in 0..RUNS {
            samples.push(self.run(arguments)?.0);
        }
        Ok(samples)
    }

    /// Measures the lines of a `log -f`.
    async fn lines(&self) -> Outcome<Samples> {
        let sender = self.member("sender").await?;
        let _reader = self.member("reader").await?;
        let arguments = ["log", "-f", "--kind", "message", "--last", "1"];
        let mut log = ChildProcess::spawn(&mut self.command(&arguments))?;
        // After the first line it is known to run.
        log.hear()?;
        let mut samples = Samples::default();
        for _ in 0..LINES {
            tokio::time::sleep(PACE).await;
            let begun = Instant::now();
            let mut call = sender.call();
            call.send("reader".to_owned(), text("news "), None).await?;
            call.answered().await;
            if log.hear()?.is_empty() {
                return Err("`log -f` has ended".into());
            }
            samples.push(begun.elapsed());
        }
        Ok(samples)
    }

    /// Returns the size of the index, in sizes of the log.
    fn index_bytes(&self) -> Outcome<f64> {
        let size = |directory: PathBuf| -> Outcome<f64> {
            let mut bytes = 0;
            for entry in fs::read_dir(directory)? {
                bytes += entry?.metadata()?.len() / 1000;
            }
            Ok(f64::from(u32::try_from(bytes)?))
        };
        let index = size(self.cache().join("cli-team-bridge").join("search"))?;
        Ok(index / size(self.project.bus().join("log"))?)
    }
}

/// Returns a message of 15 to 45 words, a few of them frequent and most rare, as one of its kind that nobody has to read any more.
fn message(number: u64) -> Outcome<[Event; 2]> {
    // Xorshift: the same words in every run.
    let mut random = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let mut words = String::new();
    for _ in 0..15 + next() % 30 {
        let share = next() % 1_000;
        // The fourth power of a share: the smallest numbers are the most frequent ones.
        let word = share.pow(4) * 20_000 / 1_000_u64.pow(4);
        write!(words, "word{word} ")?;
    }
    if number.is_multiple_of(1_000) {
        words.push_str("needle");
    }
    let id = MessageId::from_bits(number + 1);
    let (from, to) = if number.is_multiple_of(2) { ("ann", "ben") } else { ("ben", "ann") };
    let sent = json!({ "message_sent": {
        "id": id, "kind": "message", "from": from, "audience": to, "to": [to],
        "body": { "text": words },
    } });
    let expired = json!({ "message_expired": { "id": id, "member": to } });
    Ok([serde_json::from_value(sent)?, serde_json::from_value(expired)?])
}

fn append(log: &mut FileLog, replica: &mut Replica, events: Vec<Event>) -> Outcome {
    let proposal = Proposal { id: CommandId(uuid::Uuid::new_v4()), by: None, events };
    loop {
        match log.append(replica, &mut |_, _| Verdict::Append(proposal.clone()))? {
            Appended::Written(_) => return Ok(()),
            Appended::Contended => log.turn().wait()?,
            _ => return Err("an append was refused".into()),
        }
    }
}
