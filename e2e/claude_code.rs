//! The real Claude Code as a user runs it: its command, a run in print mode, and a session in a terminal that is woken when idle.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::model::{Api, ModelServer, Newest, Rule};
use crate::programs::Programs;
use crate::real_project::shown_to_models;
use crate::support::{Member, PAUSE, Stage, of_name};

/// The programs that Claude Code needs.
pub(crate) const PROGRAMS: [&str; 2] = ["node", "claude"];

/// Longer than any test with Claude Code takes on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_mins(3);

/// Returns the `claude` command in the stage's project, with the model server as its vendor and no other settings.
pub(crate) fn claude(stage: &Stage, model: &ModelServer) -> Command {
    let program = Programs::find().native("claude", "@anthropic-ai/claude-code", "claude");
    let mut claude = Command::new(program);
    claude
        .env_clear()
        .envs(stage.environment())
        .env("ANTHROPIC_BASE_URL", model.base())
        .env("ANTHROPIC_API_KEY", "no-key")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        .current_dir(stage.project())
        .kill_on_drop(true);
    claude
}

/// Returns the `claude` command with the orchestrator as its only MCP server.
pub(crate) fn claude_with_bridge(stage: &Stage, model: &ModelServer) -> Command {
    let server = json!({ "mcpServers": { "bridge": {
        "command": env!("CARGO_BIN_EXE_cli-team-bridge"),
        "args": ["orchestrator", "--project", stage.project()],
        "timeout": 150_000,
    } } });
    let config = stage.home().join("mcp.json");
    std::fs::write(&config, server.to_string()).unwrap();
    let mut claude = claude(stage, model);
    claude.arg("--mcp-config").arg(config).arg("--strict-mcp-config");
    claude
}

/// Runs `claude` in print mode with these tools allowed until it ends, and returns the lines that it printed.
pub(crate) async fn print(
    mut claude: Command,
    prompt: &str,
    allowed_tools: &str,
    model: &ModelServer,
) -> String {
    claude.args(["--allowedTools", allowed_tools]);
    print_as_set_up(claude, prompt, model).await
}

/// Does the same with no tools allowed but those of the user's own settings.
pub(crate) async fn print_as_set_up(
    mut claude: Command,
    prompt: &str,
    model: &ModelServer,
) -> String {
    let running = claude
        .args(["-p", prompt, "--output-format", "stream-json", "--verbose"])
        .stdin(Stdio::null())
        .output();
    let output = tokio::time::timeout(DEADLINE, running).await;
    let output =
        output.unwrap_or_else(|_| panic!("it does not end; {}", shown_to_models(model))).unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}\n{stderr}\n{}", shown_to_models(model));
    printed
}

/// Returns the result in the lines that a run in print mode printed.
pub(crate) fn result(printed: &str) -> Value {
    let last = printed.lines().rfind(|line| line.contains("\"type\":\"result\""));
    let last: Value = serde_json::from_str(last.unwrap_or_default()).unwrap_or_default();
    last["result"].clone()
}

/// Waits until the orchestrator is on the bus.
pub(crate) async fn until_orchestrator_joined(member: &Member) {
    let has_joined = |members: &Value| of_name(members, "orchestrator").is_some();
    member.until("list_agents", json!({}), has_joined).await;
}

/// Returns the rules of a session that assigns a task and collects the result when it is notified.
///
/// The caller adds the rules that make the session idle in between.
pub(crate) fn rules_of_leader() -> Vec<Rule> {
    let task_id = |text: &str| {
        let mut words = text.split_whitespace();
        let id = words.find_map(|word| word.strip_prefix('"').filter(|id| id.starts_with("task-")));
        json!({ "task_id": id })
    };
    vec![
        Rule::user("[bridge → you] notice").calls_with("get_task_result", task_id),
        Rule::user("lead the team").calls(
            "assign_task",
            json!({ "agent": "scripted", "name": "worker", "prompt": "work" }),
        ),
        Rule::result("the work is done").says("I have it."),
    ]
}

/// Checks that an idle session in a terminal begins a turn when its task ends, and that it collects the result.
///
/// The model plays [`rules_of_leader`]; after the rule `last_before_idle` the session is idle.
pub(crate) async fn check_wakes_when_idle(
    mut claude: Command,
    stage: &Stage,
    model: &ModelServer,
    last_before_idle: &str,
) {
    let script = r#"
        [[agents.default.turns]]
        steps = [{ wait_for = { from = "gate", seconds = 120 } }, { say = "the work is done" }]
    "#;
    std::fs::write(stage.home().join("script.toml"), script).unwrap();
    answer_first_dialogs(stage);

    let gate = stage.peer("gate").await;
    let size = Winsize { ws_row: 50, ws_col: 160, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(&size, None).unwrap();
    let end = || Stdio::from(terminal.slave.try_clone().unwrap());
    let mut session = claude
        .args(["--", "lead the team"])
        .env("TERM", "xterm-256color")
        .stdin(end())
        .stdout(end())
        .stderr(end())
        .spawn()
        .unwrap();
    let screen = read(File::from(terminal.master.try_clone().unwrap()));
    // Only the session keeps the terminal open, so the reader stops when the session ends.
    drop(claude);
    drop(terminal.slave);
    let seen = &|| {
        format!("{}\n{}", shown_to_models(model), String::from_utf8_lossy(&screen.lock().unwrap()))
    };

    until_orchestrator_joined(&gate).await;
    until_played(model, last_before_idle, seen).await;
    until_turn_ended(stage, seen).await;
    gate.send("worker", "go on").await;
    until_played(model, "the work is done", seen).await;
    let is_notified = model.was_shown_to(Api::Anthropic, Newest::User, "[bridge → you] notice");
    assert!(is_notified, "{}", seen());

    let pid = Pid::from_raw(i32::try_from(session.id().unwrap()).unwrap());
    kill(pid, Signal::SIGTERM).unwrap();
    let ended = tokio::time::timeout(DEADLINE, session.wait()).await;
    assert!(ended.is_ok(), "{}", seen());
    drop(terminal.master);
    gate.close().await;
}

/// Waits until the session has ended a turn: the hooks at its end would take what comes before them.
async fn until_turn_ended(stage: &Stage, seen: impl Fn() -> String) {
    let has_ended = |folder: PathBuf| {
        let transcripts = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut texts = transcripts.filter_map(|one| std::fs::read_to_string(one.path()).ok());
        texts.any(|text| text.contains(r#""subtype":"turn_duration""#))
    };
    let ending = async {
        let projects = stage.home().join(".claude/projects");
        while !std::fs::read_dir(&projects).unwrap().flatten().any(|one| has_ended(one.path())) {
            tokio::time::sleep(PAUSE).await;
        }
    };
    assert!(tokio::time::timeout(DEADLINE, ending).await.is_ok(), "the turn ends: {}", seen());
}

/// Writes the answers that a user gives once: the introduction is read, the key may be used, the folder is trusted.
pub(crate) fn answer_first_dialogs(stage: &Stage) {
    let file = stage.home().join(".claude.json");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|_| "{}".to_owned());
    let mut settings: Value = serde_json::from_str(&text).unwrap();
    let project = stage.project().to_string_lossy().into_owned();
    settings["hasCompletedOnboarding"] = true.into();
    settings["theme"] = "dark".into();
    settings["customApiKeyResponses"] = json!({ "approved": ["no-key"], "rejected": [] });
    settings["projects"][project] =
        json!({ "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true });
    std::fs::write(file, settings.to_string()).unwrap();
}

/// Waits until a rule is played; a failure shows what `seen` returns.
async fn until_played(model: &ModelServer, rule: &str, seen: impl Fn() -> String) {
    let playing = async {
        while !model.has_answered(rule) {
            tokio::time::sleep(PAUSE).await;
        }
    };
    let played = tokio::time::timeout(DEADLINE, playing).await;
    assert!(played.is_ok(), "{rule}: {}", seen());
}

/// Collects what a terminal shows until it closes, so that no program that writes to it blocks.
fn read(mut terminal: File) -> Arc<Mutex<Vec<u8>>> {
    let screen = Arc::new(Mutex::new(Vec::new()));
    let shown = Arc::clone(&screen);
    std::thread::spawn(move || {
        let mut part = [0; 4096];
        // The terminal's master reports an error once no program has the slave open.
        while let Ok(count) = terminal.read(&mut part) {
            if count == 0 {
                break;
            }
            shown.lock().unwrap().extend_from_slice(&part[..count]);
        }
    });
    screen
}
