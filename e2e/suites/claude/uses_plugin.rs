//! The plugin in the real Claude Code, installed from this repository by Claude Code's own commands: the server, the hooks and the
//! monitor, with no other settings.

use std::path::Path;
use std::process::Stdio;

use serde_json::json;

use crate::claude_code::{
    DEADLINE, check_wakes_when_idle, claude, print, result, rules_of_leader,
    until_orchestrator_joined,
};
use crate::model::{ModelServer, Rule};
use crate::real_project::{shown_to_models, stage};
use crate::support::{Stage, until};

/// All tools of the plugin, as a permission names them.
const TOOLS: &str = "mcp__plugin_cli-team-bridge_bridge";

/// Installs this program where the plugin looks for it, then the plugin from this repository.
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

/// A run in print mode leads through the plugin's server, and gets a teammate's message from the plugin's hook.
pub(crate) async fn leads_and_gets_messages_from_its_hook() {
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
    let tools = format!("{TOOLS},Bash");
    let running = print(claude(&stage, &model), "work on it", &tools, &model);
    let story = async {
        until_orchestrator_joined(&ann).await;
        until("it works", || model.has_answered("orchestrator")).await;
        ann.send("orchestrator", "news").await;
        std::fs::write(stage.project().join("go"), "").unwrap();
    };
    let (printed, ()) = tokio::join!(running, story);
    assert_eq!(result(&printed), "I have read it.", "{printed}\n{}", shown_to_models(&model));
    let handed = stage.events_of("message_handed");
    assert!(handed.iter().any(|handed| handed["way"] == "hook"), "{handed:?}");
    let shown = model.shown();
    assert!(shown.iter().any(|shown| shown.whole.contains("[ann → you] news")));
    assert!(!shown.iter().any(|shown| shown.whole.contains("cli-team-bridge watch")));
    ann.close().await;
}

/// An idle session begins a turn when a task ends, although no model has asked for that: the monitor runs from the start.
pub(crate) async fn is_woken_by_its_monitor() {
    let mut rules = rules_of_leader();
    rules.push(Rule::result("task-").says("I wait."));
    let model = ModelServer::start(rules).await;
    let stage = stage(&[], &model);
    install(&stage, &model).await;
    let mut claude = claude(&stage, &model);
    claude.args(["--allowedTools", TOOLS]);
    check_wakes_when_idle(claude, &stage, &model, "task-").await;
}
