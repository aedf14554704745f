//! The way back into the real Claude Code, with nobody touching it: by the hook while it works, by the doorbell while it is idle.

use std::fs::File;
use std::io::Read as _;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::claude_as_user::{claude, result};
use crate::model::{Api, ModelServer, Newest, Rule};
use crate::real_project::{shown_to_models, stage};
use crate::support::{Member, PAUSE, Stage, of_name, until};

/// The programs that it takes.
pub(crate) const PROGRAMS: [&str; 2] = ["node", "claude"];

/// Longer than a story takes on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_mins(3);

/// This binary, as the settings name it.
const BRIDGE: &str = env!("CARGO_BIN_EXE_cli-team-bridge");

/// Returns the settings that let the Monitor tool run `watch` unasked.
fn permission() -> Value {
    json!({ "defaultMode": "default", "allow": [format!("Bash({BRIDGE} watch:*)")] })
}

/// Returns the settings that run the hook.
fn hooks() -> Value {
    let command = format!("{BRIDGE} hook");
    let hook = json!({ "hooks": [{ "type": "command", "command": command, "timeout": 15 }] });
    let mut after_tools = hook.clone();
    after_tools["matcher"] = json!("*");
    json!({ "PostToolUse": [after_tools], "UserPromptSubmit": [hook], "Stop": [hook] })
}

/// Writes settings of the project.
fn settle(stage: &Stage, settings: &Value) {
    let path = stage.project().join(".claude/settings.json");
    std::fs::write(path, settings.to_string()).unwrap();
}

/// Waits until the orchestrator is there.
pub(crate) async fn until_led(member: &Member) {
    let led = |all: &Value| of_name(all, "orchestrator").is_some();
    member.until("list_agents", json!({}), led).await;
}

/// Says whether the request that a rule answered showed the model this text, wherever.
fn was_shown_when(model: &ModelServer, rule: &str, text: &str) -> bool {
    let shown = model.shown();
    let found = shown.iter().find(|shown| shown.rule.as_deref() == Some(rule));
    found.unwrap_or_else(|| panic!("{rule}: {}", shown_to_models(model))).whole.contains(text)
}

/// A run that works with tools of its own is told what a team-mate writes meanwhile, and once more when it wants to stop.
pub(crate) async fn is_told_between_two_steps_and_before_it_stops() {
    let wait = "until [ -e go ]; do sleep 0.1; done; echo first step";
    let model = ModelServer::start(vec![
        Rule::user("work on it")
            .calls_own("Bash", json!({ "command": wait, "description": "Wait" })),
        Rule::result("first step")
            .calls_own("Bash", json!({ "command": "echo second step", "description": "Echo" })),
        Rule::result("second step").behind("stop").says("I stop."),
        Rule::user("late news").says("I have heard it."),
    ])
    .await;
    let stage = stage(&[], &model);
    settle(&stage, &json!({ "hooks": hooks() }));
    let ann = stage.peer("ann").await;
    let running = claude(&stage, &model)
        .args(["-p", "work on it", "--allowedTools", "mcp__bridge,Bash"])
        .args(["--output-format", "stream-json", "--verbose"])
        .stdin(Stdio::null())
        .output();
    let story = async {
        until_led(&ann).await;
        until("it works", || model.has_answered("work on it")).await;
        ann.send("orchestrator", "early news").await;
        std::fs::write(stage.project().join("go"), "").unwrap();
        until("it has worked", || model.has_answered("second step")).await;
        ann.send("orchestrator", "late news").await;
        model.open("stop");
    };
    let both = async { tokio::join!(running, story) };
    let (output, ()) = tokio::time::timeout(DEADLINE, both)
        .await
        .unwrap_or_else(|_| panic!("it does not end; {}", shown_to_models(&model)));
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", shown_to_models(&model));

    assert!(!was_shown_when(&model, "work on it", "early news"));
    assert!(was_shown_when(&model, "first step", "[ann → you] early news"));
    assert!(!was_shown_when(&model, "second step", "late news"));
    let shown = model.shown().into_iter();
    let late = shown.filter(|shown| shown.rule.as_deref() == Some("late news"));
    let times: Vec<_> =
        late.map(|shown| shown.whole.matches("[ann → you] late news").count()).collect();
    assert_eq!(times, [1], "it is shown once: {}", shown_to_models(&model));
    assert_eq!(result(&said), "I have heard it.", "{said}\n{}", shown_to_models(&model));
    let ways = stage.events_of("message_handed");
    assert!(ways.iter().all(|handed| handed["way"] == "hook"), "{ways:?}");
    assert_eq!(stage.events_of("message_seen").len(), 2);
    ann.close().await;
}

/// A session that has begun to listen and is idle begins a turn when a task is finished, and collects the result.
pub(crate) async fn is_woken_by_a_finished_task_when_idle() {
    let watch = json!({
        "command": format!("{BRIDGE} watch"), "description": "messages of the team", "timeout_ms": 600_000
    });
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
        Rule::result("task-").calls_own("Monitor", watch),
        Rule::result("").says("I wait."),
    ])
    .await;
    let stage = stage(&[], &model);
    settle(&stage, &json!({ "permissions": permission() }));
    let script = r#"
        [[agents.default.turns]]
        steps = [{ wait_for = { from = "gate", seconds = 120 } }, { say = "the work is done" }]
    "#;
    std::fs::write(stage.home().join("script.toml"), script).unwrap();
    let project = stage.project().to_string_lossy().into_owned();
    // What a user says once: that the introduction has been seen, that the key may be used, that the folder is trusted.
    let known = json!({
        "hasCompletedOnboarding": true,
        "theme": "dark",
        "customApiKeyResponses": { "approved": ["no-key"], "rejected": [] },
        "projects": { project: { "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true } },
    });
    std::fs::write(stage.home().join(".claude.json"), known.to_string()).unwrap();

    let gate = stage.peer("gate").await;
    let size = Winsize { ws_row: 50, ws_col: 160, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(&size, None).unwrap();
    let end = || Stdio::from(terminal.slave.try_clone().unwrap());
    let mut claude = claude(&stage, &model);
    let mut session = claude
        .args(["--allowedTools", "mcp__bridge"])
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
    until_played(&model, "", seen).await;
    gate.send("worker", "go on").await;
    until_played(&model, "the work is done", seen).await;
    assert!(
        model.was_shown_to(Api::Anthropic, Newest::User, "[bridge → you] notice"),
        "{}",
        seen()
    );

    let pid = Pid::from_raw(i32::try_from(session.id().unwrap()).unwrap());
    kill(pid, Signal::SIGTERM).unwrap();
    let ended = tokio::time::timeout(DEADLINE, session.wait()).await;
    assert!(ended.is_ok(), "{}", seen());
    drop(terminal.master);
    gate.close().await;
}

/// Waits until a rule has been played; else tells what was seen.
pub(crate) async fn until_played(model: &ModelServer, rule: &str, seen: impl Fn() -> String) {
    let playing = async {
        while !model.has_answered(rule) {
            tokio::time::sleep(PAUSE).await;
        }
    };
    let played = tokio::time::timeout(DEADLINE, playing).await;
    assert!(played.is_ok(), "{rule}: {}", seen());
}

/// Reads what a terminal shows for as long as it is there, so that nobody who writes to it has to wait.
pub(crate) fn read(mut terminal: File) -> Arc<Mutex<Vec<u8>>> {
    let screen = Arc::new(Mutex::new(Vec::new()));
    let shown = Arc::clone(&screen);
    std::thread::spawn(move || {
        let mut part = [0; 4096];
        // The end of whoever writes there is an error here.
        while let Ok(count) = terminal.read(&mut part) {
            if count == 0 {
                break;
            }
            shown.lock().unwrap().extend_from_slice(&part[..count]);
        }
    });
    screen
}
