//! Messages reach the real Claude Code without user input: through the hook while it works, through `watch` while it is idle.

use serde_json::{Value, json};

use crate::claude_code::{
    check_wakes_when_idle, claude_with_bridge, print, result, rules_of_leader,
    until_orchestrator_joined,
};
use crate::model::{ModelServer, Rule};
use crate::real_project::{shown_to_models, stage};
use crate::support::{Stage, until};

/// The path of this binary, as the settings name it.
const BRIDGE: &str = env!("CARGO_BIN_EXE_cli-team-bridge");

/// Returns the settings that let the Monitor tool run `watch` without asking.
fn permission() -> Value {
    json!({ "defaultMode": "default", "allow": [format!("Bash({BRIDGE} watch:*)")] })
}

/// Returns the settings that run the hook.
pub(super) fn hooks() -> Value {
    let command = format!("{BRIDGE} hook");
    let hook = json!({ "hooks": [{ "type": "command", "command": command, "timeout": 15 }] });
    let mut after_tools = hook.clone();
    after_tools["matcher"] = json!("*");
    json!({ "PostToolUse": [after_tools], "UserPromptSubmit": [hook], "Stop": [hook] })
}

/// Writes the settings of the project.
pub(super) fn write_settings(stage: &Stage, settings: &Value) {
    let path = stage.project().join(".claude/settings.json");
    std::fs::write(path, settings.to_string()).unwrap();
}

/// Returns whether the request that a rule answered contains this text anywhere.
fn was_shown_when(model: &ModelServer, rule: &str, text: &str) -> bool {
    let shown = model.shown();
    let found = shown.iter().find(|shown| shown.rule.as_deref() == Some(rule));
    found.unwrap_or_else(|| panic!("{rule}: {}", shown_to_models(model))).whole.contains(text)
}

/// A run that works with its own tools gets a message after a tool call, and another one before it stops.
pub(crate) async fn gets_messages_between_two_steps_and_before_it_stops() {
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
    write_settings(&stage, &json!({ "hooks": hooks() }));
    let ann = stage.peer("ann").await;
    let claude = claude_with_bridge(&stage, &model);
    let running = print(claude, "work on it", "mcp__bridge,Bash", &model);
    let story = async {
        until_orchestrator_joined(&ann).await;
        until("it works", || model.has_answered("work on it")).await;
        ann.send("orchestrator", "early news").await;
        std::fs::write(stage.project().join("go"), "").unwrap();
        until("it has worked", || model.has_answered("second step")).await;
        ann.send("orchestrator", "late news").await;
        model.open("stop");
    };
    let (printed, ()) = tokio::join!(running, story);

    assert!(!was_shown_when(&model, "work on it", "early news"));
    assert!(was_shown_when(&model, "first step", "[ann → you] early news"));
    assert!(!was_shown_when(&model, "second step", "late news"));
    let shown = model.shown().into_iter();
    let late = shown.filter(|shown| shown.rule.as_deref() == Some("late news"));
    let times: Vec<_> =
        late.map(|shown| shown.whole.matches("[ann → you] late news").count()).collect();
    assert_eq!(times, [1], "it is shown once: {}", shown_to_models(&model));
    assert_eq!(result(&printed), "I have heard it.", "{printed}\n{}", shown_to_models(&model));
    // The peer is told that the session has joined.
    let mut handed = stage.events_of("message_handed");
    handed.retain(|handed| handed["member"] != "ann");
    assert!(handed.iter().all(|handed| handed["way"] == "hook"), "{handed:?}");
    let mut seen = stage.events_of("message_seen");
    seen.retain(|seen| handed.iter().any(|handed| handed["call"] == seen["call"]));
    assert_eq!(seen.len(), 2);
    ann.close().await;
}

/// An idle session that runs `watch` begins a turn when its task ends, and collects the result.
pub(crate) async fn is_woken_by_a_finished_task_when_idle() {
    let watch = json!({
        "command": format!("{BRIDGE} watch"), "description": "messages of the team", "timeout_ms": 600_000
    });
    let mut rules = rules_of_leader();
    rules.push(Rule::result("task-").calls_own("Monitor", watch));
    rules.push(Rule::result("").says("I wait."));
    let model = ModelServer::start(rules).await;
    let stage = stage(&[], &model);
    write_settings(&stage, &json!({ "permissions": permission() }));
    let mut claude = claude_with_bridge(&stage, &model);
    claude.args(["--allowedTools", "mcp__bridge"]);
    check_wakes_when_idle(claude, &stage, &model, "").await;
}
