//! The plugin in the real Claude Code, installed by its own commands from this repository: the server, the hooks and the monitor, with
//! no other setting.

use std::fs::File;
use std::path::Path;
use std::process::Stdio;

use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use tokio::process::Command;

use super::claude_as_user::result;
use super::claude_is_notified::{DEADLINE, read, until_led, until_played};
use crate::model::{Api, ModelServer, Newest, Rule};
use crate::programs::Programs;
use crate::real_project::{shown_to_models, stage};
use crate::support::{Stage, until};

/// What the plugin's tools are called, as permissions name them all.
const TOOLS: &str = "mcp__plugin_cli-team-bridge_bridge";

/// Returns Claude Code with the model server as its vendor, and no setting.
fn claude(stage: &Stage, model: &ModelServer) -> Command {
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

/// Installs this program where the plugin looks for it, and the plugin from this repository.
async fn install(stage: &Stage, model: &ModelServer) {
    let programs = stage.home().join(".local/bin");
    std::fs::create_dir_all(&programs).unwrap();
    let program = env!("CARGO_BIN_EXE_cli-team-bridge");
    std::os::unix::fs::symlink(program, programs.join("cli-team-bridge")).unwrap();
    let root = env!("CARGO_MANIFEST_DIR");
    let plugin = Path::new(root).join("packaging/plugin");
    for arguments in [
        ["validate", plugin.to_str().unwrap()].as_slice(),
        &["marketplace", "add", root],
        &["install", "cli-team-bridge@cli-team-bridge"],
    ] {
        let mut command = claude(stage, model);
        let run = command.arg("plugin").args(arguments).stdin(Stdio::null()).output();
        let output = tokio::time::timeout(DEADLINE, run).await.unwrap().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }
}

/// A run in print mode leads by the plugin's server, and its hook tells it what a teammate writes meanwhile.
pub(crate) async fn leads_and_is_told_by_its_hook() {
    let wait = "until [ -e go ]; do sleep 0.1; done; echo first step";
    let model = ModelServer::start(vec![
        Rule::user("work on it").calls("list_agents", json!({})),
        Rule::result("orchestrator")
            .calls_own("Bash", json!({ "command": wait, "description": "Wait" })),
        Rule::result("first step").says("I have read it."),
    ])
    .await;
    let stage = stage(&[], &model);
    install(&stage, &model).await;
    let ann = stage.peer("ann").await;
    let mut command = claude(&stage, &model);
    let running = command
        .args(["-p", "work on it", "--allowedTools", &format!("{TOOLS},Bash")])
        .args(["--output-format", "stream-json", "--verbose"])
        .stdin(Stdio::null())
        .output();
    let story = async {
        until_led(&ann).await;
        until("it works", || model.has_answered("orchestrator")).await;
        ann.send("orchestrator", "news").await;
        std::fs::write(stage.project().join("go"), "").unwrap();
    };
    let both = async { tokio::join!(running, story) };
    let (output, ()) = tokio::time::timeout(DEADLINE, both)
        .await
        .unwrap_or_else(|_| panic!("it does not end; {}", shown_to_models(&model)));
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", shown_to_models(&model));
    assert_eq!(result(&said), "I have read it.", "{said}\n{}", shown_to_models(&model));
    let ways = stage.events_of("message_handed");
    assert!(ways.iter().any(|handed| handed["way"] == "hook"), "{ways:?}");
    let shown = model.shown();
    assert!(shown.iter().any(|shown| shown.whole.contains("[ann → you] news")));
    assert!(!shown.iter().any(|shown| shown.whole.contains("cli-team-bridge watch")));
    ann.close().await;
}

/// An idle session begins a turn when a task is finished, without any model having asked for it: the monitor has run from the start.
pub(crate) async fn is_woken_by_its_monitor() {
    let collect = |text: &str| {
        let mut words = text.split_whitespace();
        let id = words.find_map(|word| word.strip_prefix('"').filter(|id| id.starts_with("task-")));
        json!({ "task_id": id })
    };
    let model = ModelServer::start(vec![
        Rule::user("[bridge → you] notice").calls_with("get_task_result", collect),
        Rule::user("lead the team").calls(
            "assign_task",
            json!({ "agent": "scripted", "name": "worker", "prompt": "work" }),
        ),
        Rule::result("the work is done").says("I have it."),
        Rule::result("task-").says("I wait."),
    ])
    .await;
    let stage = stage(&[], &model);
    install(&stage, &model).await;
    let script = r#"
        [[agents.default.turns]]
        steps = [{ wait_for = { from = "gate", seconds = 120 } }, { say = "the work is done" }]
    "#;
    std::fs::write(stage.home().join("script.toml"), script).unwrap();
    // What a user says once: that the introduction has been seen, that the key may be used, that the folder is trusted.
    let file = stage.home().join(".claude.json");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|_| "{}".to_owned());
    let mut known: serde_json::Value = serde_json::from_str(&text).unwrap();
    let project = stage.project().to_string_lossy().into_owned();
    known["hasCompletedOnboarding"] = true.into();
    known["theme"] = "dark".into();
    known["customApiKeyResponses"] = json!({ "approved": ["no-key"], "rejected": [] });
    known["projects"][project] =
        json!({ "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true });
    std::fs::write(file, known.to_string()).unwrap();

    let gate = stage.peer("gate").await;
    let size = Winsize { ws_row: 50, ws_col: 160, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(&size, None).unwrap();
    let end = || Stdio::from(terminal.slave.try_clone().unwrap());
    let mut session = claude(&stage, &model)
        .args(["--allowedTools", TOOLS])
        .args(["--", "lead the team"])
        .env("TERM", "xterm-256color")
        .stdin(end())
        .stdout(end())
        .stderr(end())
        .spawn()
        .unwrap();
    let screen = read(File::from(terminal.master.try_clone().unwrap()));
    drop(terminal.slave);
    let seen = &|| {
        format!("{}\n{}", shown_to_models(&model), String::from_utf8_lossy(&screen.lock().unwrap()))
    };

    until_led(&gate).await;
    until_played(&model, "task-", seen).await;
    gate.send("worker", "go on").await;
    until_played(&model, "the work is done", seen).await;
    let woken = model.was_shown_to(Api::Anthropic, Newest::User, "[bridge → you] notice");
    assert!(woken, "{}", seen());

    let pid = Pid::from_raw(i32::try_from(session.id().unwrap()).unwrap());
    kill(pid, Signal::SIGTERM).unwrap();
    let ended = tokio::time::timeout(DEADLINE, session.wait()).await;
    assert!(ended.is_ok(), "{}", seen());
    drop(terminal.master);
    gate.close().await;
}
