//! Qwen Code and Gemini CLI as users, connected by `setup` alone: their hooks announce messages, and the model then reads them.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::agent_kinds::{GEMINI, Kind, QWEN};
use crate::claude_code::{DEADLINE, until_orchestrator_joined};
use crate::model::{Api, ModelServer, Newest, Rule};
use crate::real_project::{shown_to_models, stage};
use crate::support::{Stage, until};

/// The notice of one message.
const NOTICE: &str = "You have 1 unread message from your team";

/// Returns a command in the stage's project that sees nothing but the stage's environment.
fn command(stage: &Stage, program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .envs(stage.environment())
        .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
        .current_dir(stage.project())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

/// Lets `setup` connect a client.
async fn connect(stage: &Stage, kind: &Kind) {
    let mut setup = command(stage, env!("CARGO_BIN_EXE_cli-team-bridge"));
    let run = setup.args(["setup", "--yes", "--client", kind.name]).output();
    let output = tokio::time::timeout(DEADLINE, run).await.unwrap().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Runs a client without a terminal until it ends, and returns what it printed.
async fn run(stage: &Stage, kind: &Kind, prompt: &str, model: &ModelServer) -> String {
    // `env` finds the program in the stage's own `PATH`.
    let mut client = command(stage, "/usr/bin/env");
    let running = client.args([kind.name, "--approval-mode", "yolo", "-p", prompt]).output();
    let output = tokio::time::timeout(DEADLINE, running).await;
    let output =
        output.unwrap_or_else(|_| panic!("it does not end; {}", shown_to_models(model))).unwrap();
    assert!(output.status.success(), "{output:?}\n{}", shown_to_models(model));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Lets Qwen Code show its model the bridge's tools without a search, which the scripted model begins only from a user's text.
fn show_all_tools(stage: &Stage) {
    let file = stage.home().join(".qwen/settings.json");
    let mut settings: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    settings["tools"] = json!({ "toolSearch": { "enabled": false } });
    std::fs::write(file, settings.to_string()).unwrap();
}

/// A run gets one message between two steps, and another one before it stops.
pub(crate) async fn qwen_announces_between_two_steps_and_before_it_stops() {
    let (shell, wait) = (QWEN.runs)("until [ -e go ]; do sleep 0.1; done; echo first step");
    let model = ModelServer::start(vec![
        Rule::user("work on it").calls_own(shell, wait),
        Rule::result("early news").behind("stop").says("I stop."),
        Rule::result("late news").says("I have heard it."),
        Rule::result(NOTICE).calls("check_messages", json!({})),
        Rule::user(NOTICE).calls("check_messages", json!({})),
    ])
    .await;
    let stage = stage(&[&QWEN], &model);
    show_all_tools(&stage);
    let ann = stage.peer("ann").await;
    connect(&stage, &QWEN).await;
    let story = async {
        until_orchestrator_joined(&ann).await;
        until("it works", || model.has_answered("work on it")).await;
        ann.send("orchestrator", "early news").await;
        std::fs::write(stage.project().join("go"), "").unwrap();
        until("it has read the first", || model.has_answered("early news")).await;
        ann.send("orchestrator", "late news").await;
        model.open("stop");
    };
    let (printed, ()) = tokio::join!(run(&stage, &QWEN, "work on it", &model), story);

    let shown = shown_to_models(&model);
    assert!(printed.contains("I have heard it."), "{printed}\n{shown}");
    let has_both = |text: &str| text.contains("first step") && text.contains(NOTICE);
    let is_between = model.shown().iter().any(|request| has_both(&request.text));
    assert!(is_between, "{shown}");
    assert!(model.was_shown_to(Api::Chat, Newest::User, NOTICE), "{shown}");
    check_read_by_calls(&stage, 2);
    ann.close().await;
}

/// A run gets a message before it stops.
pub(crate) async fn gemini_announces_before_it_stops() {
    let model = ModelServer::start(vec![
        Rule::user("work on it").behind("stop").says("I stop."),
        Rule::user(NOTICE).calls("check_messages", json!({})),
        Rule::result("late news").says("I have heard it."),
    ])
    .await;
    let stage = stage(&[&GEMINI], &model);
    let ann = stage.peer("ann").await;
    connect(&stage, &GEMINI).await;
    let story = async {
        until_orchestrator_joined(&ann).await;
        until("it works", || model.has_answered("work on it")).await;
        ann.send("orchestrator", "late news").await;
        model.open("stop");
    };
    let (printed, ()) = tokio::join!(run(&stage, &GEMINI, "work on it", &model), story);

    let shown = shown_to_models(&model);
    assert!(printed.contains("I have heard it."), "{printed}\n{shown}");
    check_read_by_calls(&stage, 1);
    ann.close().await;
}

/// Checks that the messages were delivered by calls of `check_messages`, each once.
fn check_read_by_calls(stage: &Stage, count: usize) {
    let mut handed = stage.events_of("message_handed");
    // The peer is told that the session has joined.
    handed.retain(|handed| handed["member"] == "orchestrator");
    assert_eq!(handed.len(), count, "{handed:?}");
    assert!(handed.iter().all(|handed| handed["way"] == "pull"), "{handed:?}");
}
