//! How soon a running agent gets its prompt: for a second task, and for a message that wakes it.
//!
//! The agent is the scripted one, behind a relay (this program again) that records when each `session/prompt` comes out of the
//! bridge's pipe.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use cli_team_bridge::mcp::client::Client;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::support::Outcome;
use crate::support::child_process::ROLE;
use crate::support::project::{self, Project, text};
use crate::support::samples::{Samples, monotonic_ns};
use crate::support::table::{Demand, Row};

const TASKS: usize = 100;
const MESSAGES: usize = 40;
/// Longer than the bridge collects messages after a wake.
const APART: Duration = Duration::from_millis(300);
/// Longer than any step takes.
const PATIENCE: Duration = Duration::from_secs(30);
/// The pause between two reads of the relay's record.
const POLL_PAUSE: Duration = Duration::from_millis(1);

/// The agent's script: an answer to each prompt.
const SCRIPT: &str = "[[agents.default.turns]]\nsteps = [{ say = \"done\" }]\n";

/// An orchestrator with one idle agent.
struct Scene {
    client: Client,
    _orchestrator: Child,
    /// Dropped last, with the user's directory: the others use them.
    project: Project,
    _user_dir: TempDir,
}

impl Scene {
    async fn new() -> Outcome<Self> {
        let project = Project::new()?;
        // In the user's own file and outside the project, because a file of the project would need approval.
        let user_dir = tempfile::tempdir()?;
        let config = user_dir.path().join("bridge.toml");
        std::fs::write(project.path().join("script.toml"), SCRIPT)?;
        let this = std::env::current_exe()?;
        let args = [
            format!("{ROLE}relay"),
            project.path().join("script.toml").display().to_string(),
            noted(project.path()).display().to_string(),
        ];
        let profile = format!(
            "[limits]\nmessages_per_minute = 0\n[agents.relayed]\ncommand = {}\nargs = {}\n",
            json!(this.display().to_string()),
            json!(args)
        );
        std::fs::write(&config, profile)?;
        let mut orchestrator = Command::new(env!("CARGO_BIN_EXE_cli-team-bridge"))
            .args(["orchestrator", "--project"])
            .arg(project.path())
            .arg("--config")
            .arg(&config)
            .env("XDG_STATE_HOME", user_dir.path().join("state"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let output = orchestrator.stdout.take().ok_or("no stdout")?;
        let input = orchestrator.stdin.take().ok_or("no stdin")?;
        let scene = Self {
            client: Client::connect(output, input).await?,
            _orchestrator: orchestrator,
            project,
            _user_dir: user_dir,
        };
        let first = json!({ "agent": "relayed", "name": "ann", "prompt": "begin", "wait": true });
        scene.call("assign_task", first).await?;
        Ok(scene)
    }

    async fn call(&self, tool: &str, arguments: Value) -> Outcome<Value> {
        Ok(self.client.call(tool, arguments, PATIENCE).await?)
    }

    /// Returns the times at which each prompt so far came out of the bridge's pipe.
    fn prompts(&self) -> Outcome<Vec<u64>> {
        let text = std::fs::read_to_string(noted(self.project.path()))?;
        let times: Result<_, _> = text.lines().map(str::parse).collect();
        Ok(times?)
    }

    /// Waits for the prompt after the first `before` ones, and returns its time.
    async fn next_prompt(&self, before: usize) -> Outcome<u64> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(time) = self.prompts()?.get(before) {
                return Ok(*time);
            }
            if Instant::now() > deadline {
                return Err("no prompt comes".into());
            }
            tokio::time::sleep(POLL_PAUSE).await;
        }
    }
}

fn noted(project: &Path) -> std::path::PathBuf {
    project.join("prompts.txt")
}

pub(crate) fn measure() -> Outcome<Vec<Row>> {
    project::run(async {
        let scene = Scene::new().await?;
        let (mut tasks, mut wakes) = (Samples::default(), Samples::default());
        for _ in 0..TASKS {
            let before = scene.prompts()?.len();
            let task = json!({ "agent": "ann", "prompt": "go on", "wait": true });
            let begun = monotonic_ns();
            scene.call("assign_task", task).await?;
            tasks.push_ns(scene.next_prompt(before).await?.saturating_sub(begun));
        }
        let bus = project::open(&scene.project.bus())?;
        let bob = project::join(&bus, "bob").await?;
        for _ in 0..MESSAGES {
            tokio::time::sleep(APART).await;
            let before = scene.prompts()?.len();
            let mut call = bob.call();
            let begun = monotonic_ns();
            call.send("ann".to_owned(), text(""), None).await?;
            call.answered().await;
            wakes.push_ns(scene.next_prompt(before).await?.saturating_sub(begun));
        }
        let row = |figure: &str, demand, samples: &Samples, percent| {
            let ms = samples.percentile_us(percent) / 1000.0;
            Row::absolute(figure, demand, ms, "ms")
        };
        let task = "a second task to the same agent: from `assign_task` to its prompt, p50";
        let wake = "a message to an idle agent: from `send_message` to its prompt, p50";
        Ok(vec![
            row(task, Demand::AtMost(5.0), &tasks, 50),
            row("the same, p99", Demand::None, &tasks, 99),
            row(wake, Demand::AtMost(20.0), &wakes, 50),
            row("the same, p99", Demand::None, &wakes, 99),
        ])
    })
}

/// The role of the relay: passes lines from a bridge to the scripted agent, and records the time of every prompt.
pub(crate) fn relay(script: &str, times: &Path) -> Outcome {
    let mut agent = std::process::Command::new(env!("CARGO_BIN_EXE_cli-team-bridge"))
        .args(["scripted-agent", "--script", script])
        .stdin(Stdio::piped())
        .spawn()?;
    let mut input = agent.stdin.take().ok_or("the agent has no stdin")?;
    let mut notes = std::fs::OpenOptions::new().create(true).append(true).open(times)?;
    for line in BufReader::new(std::io::stdin()).lines() {
        let line = line?;
        if line.contains("\"session/prompt\"") {
            let time = monotonic_ns();
            notes.write_all(format!("{time}\n").as_bytes())?;
        }
        input.write_all(format!("{line}\n").as_bytes())?;
    }
    drop(input);
    agent.wait()?;
    Ok(())
}
