//! Delivery to Claude Code: how soon `watch` prints its line, and how long a session waits for a run of `hook`.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cli_team_bridge::bus::Membership;

use crate::support::Outcome;
use crate::support::anchor::PACE;
use crate::support::child_process::ChildProcess;
use crate::support::project::{self, Project, text};
use crate::support::samples::Samples;
use crate::support::table::{Demand, Row};

const MESSAGES: usize = 200;
const RUNS: usize = 100;

/// The limit of both, in milliseconds.
const LIMIT_MS: f64 = 50.0;

/// The input of a hook.
const HOOK_INPUT: &[u8] =
    br#"{"session_id":"x","hook_event_name":"PostToolUse","tool_name":"Bash"}"#;

pub(crate) fn measure() -> Outcome<Vec<Row>> {
    project::run(async {
        let project = Project::new()?;
        let bus = project::open(&project.bus())?;
        let sender = project::join(&bus, "sender").await?;
        let _reader = project::join(&bus, "reader").await?;
        let silent = hooks(&project, RUNS, None).await?;
        let speaking = hooks(&project, RUNS, Some(&sender)).await?;
        let lines = lines(&project, &sender).await?;
        let mut rows = Vec::new();
        rows.extend(rows_of("`watch`: from a send to its line", &lines));
        rows.extend(rows_of("`hook`: a run with nothing to say", &silent));
        rows.extend(rows_of("`hook`: a run that hands a message over", &speaking));
        Ok(rows)
    })
}

fn rows_of(figure: &str, samples: &Samples) -> [Row; 2] {
    let row = |figure: &str, demand, percent| {
        Row::absolute(figure, demand, samples.percentile_us(percent) / 1000.0, "ms")
    };
    [
        row(&format!("{figure}, p50"), Demand::None, 50),
        row("the same, p99", Demand::AtMost(LIMIT_MS), 99),
    ]
}

/// Measures the lines of a `watch`.
async fn lines(project: &Project, sender: &Membership) -> Outcome<Samples> {
    let mut watch = ChildProcess::spawn(&mut bridge(project, "watch"))?;
    // After the first line it is known to run.
    send(sender).await?;
    watch.hear()?;
    let mut samples = Samples::default();
    for _ in 0..MESSAGES {
        tokio::time::sleep(PACE).await;
        let begun = Instant::now();
        send(sender).await?;
        if watch.hear()?.is_empty() {
            return Err("the watch has ended".into());
        }
        samples.push(begun.elapsed());
    }
    Ok(samples)
}

/// Measures runs of the hook, each with a new message if there is a sender.
async fn hooks(project: &Project, runs: usize, sender: Option<&Membership>) -> Outcome<Samples> {
    let mut samples = Samples::default();
    for _ in 0..runs {
        if let Some(sender) = sender {
            send(sender).await?;
        }
        let (took, output) = hook(project)?;
        if output.is_empty() == sender.is_some() {
            return Err(format!("the hook said `{output}`").into());
        }
        samples.push(took);
    }
    Ok(samples)
}

/// Runs the hook once, and returns its duration and its output.
fn hook(project: &Project) -> Outcome<(Duration, String)> {
    let begun = Instant::now();
    let mut hook = bridge(project, "hook").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    hook.stdin.take().ok_or("the hook has no stdin")?.write_all(HOOK_INPUT)?;
    let output = hook.wait_with_output()?;
    Ok((begun.elapsed(), String::from_utf8(output.stdout)?))
}

fn bridge(project: &Project, command: &str) -> Command {
    let mut bridge = Command::new(env!("CARGO_BIN_EXE_cli-team-bridge"));
    bridge
        .args([command, "--name", "reader", "--project"])
        .arg(project.path())
        .env("XDG_STATE_HOME", project.path().join("state"))
        // The bus was made by the process of the benchmark.
        .env("BRIDGE_ADOPT", "1");
    bridge
}

async fn send(sender: &Membership) -> Outcome {
    let mut call = sender.call();
    call.send("reader".to_owned(), text("news "), None).await?;
    call.answered().await;
    Ok(())
}
