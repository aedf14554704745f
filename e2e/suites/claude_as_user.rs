//! The real Claude Code as the user: it starts the orchestrator as its MCP server, gives two agents of other vendors work, lets
//! them talk to each other, and collects what they say.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::agent_kinds::{CODEX, QWEN};
use crate::model::{Api, ModelServer, Newest, Rule};
use crate::programs::Programs;
use crate::real_project::{shown_to_models, stage};
use crate::support::{Stage, until};

/// The programs that it takes.
pub(crate) const PROGRAMS: [&str; 4] = ["node", "claude", CODEX.name, QWEN.name];

/// Longer than the whole story takes on a busy machine.
const DEADLINE: Duration = Duration::from_mins(3);

/// Between two looks of the user at the results.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What the three models say. None of them is asked to be clever, but each has to be shown what the others said.
fn story() -> Vec<Rule> {
    let results = |text: &str| json!({ "task_id": task_ids(text)[0] });
    let others = |text: &str| json!({ "task_id": task_ids(text)[1] });
    let look = |status: &str| {
        Rule::result(&format!("\"status\":\"{status}\""))
            .of(Api::Anthropic)
            .calls_with("get_task_result", results)
            .calls_with("get_task_result", others)
    };
    let assign = |agent: &str, prompt: &str| json!({ "agent": agent, "prompt": prompt });
    let write = |to: &str, content: &str| json!({ "to": to, "content": content });
    let wait = |from: &str| json!({ "from": from, "timeout_seconds": 100 });
    vec![
        Rule::user("lead the team")
            .of(Api::Anthropic)
            .calls("assign_task", assign(QWEN.name, "answer codex"))
            .calls("assign_task", assign(CODEX.name, "ask qwen for the number")),
        look("queued").after(LOOK_AGAIN),
        look("starting").after(LOOK_AGAIN),
        look("running").after(LOOK_AGAIN),
        Rule::result("\"status\":\"done\"").of(Api::Anthropic).says("Both are done."),
        Rule::user("ask qwen")
            .of(CODEX.api)
            .calls("send_message", write(QWEN.name, "which number is it?")),
        Rule::result("the number is 42").of(CODEX.api).says("codex heard that it is 42"),
        Rule::result("msg-").of(CODEX.api).calls("wait_for_message", wait(QWEN.name)),
        // The question may come with the task, by a wait, or with the result of another tool.
        Rule::user("which number")
            .of(QWEN.api)
            .calls("send_message", write(CODEX.name, "the number is 42")),
        Rule::user("answer codex").of(QWEN.api).calls("wait_for_message", wait(CODEX.name)),
        Rule::result("which number")
            .of(QWEN.api)
            .calls("send_message", write(CODEX.name, "the number is 42")),
        Rule::result("msg-").of(QWEN.api).says("qwen has answered"),
    ]
}

/// Returns Claude Code with the orchestrator of a stage as its only MCP server, and with the model server as its vendor.
pub(crate) fn claude(stage: &Stage, model: &ModelServer) -> Command {
    let server = json!({ "mcpServers": { "bridge": {
        "command": env!("CARGO_BIN_EXE_cli-team-bridge"),
        "args": ["orchestrator", "--project", stage.project()],
        "timeout": 150_000,
    } } });
    let config = stage.home().join("mcp.json");
    std::fs::write(&config, server.to_string()).unwrap();
    let program = Programs::find().native("claude", "@anthropic-ai/claude-code", "claude");
    let mut claude = Command::new(program);
    claude
        .arg("--mcp-config")
        .arg(&config)
        .arg("--strict-mcp-config")
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

/// Returns what a run says at its end, of the lines that it has printed.
pub(crate) fn result(said: &str) -> Value {
    let last = said.lines().rfind(|line| line.contains("\"type\":\"result\"")).unwrap_or_default();
    let last: Value = serde_json::from_str(last).unwrap_or_default();
    last["result"].clone()
}

/// Plays the whole product once.
pub(crate) async fn leads_two_agents_that_talk_to_each_other() {
    let model = ModelServer::start(story()).await;
    let stage = stage(&[&CODEX, &QWEN], &model);
    let running = claude(&stage, &model)
        .args(["-p", "lead the team", "--allowedTools", "mcp__bridge"])
        .args(["--output-format", "stream-json", "--verbose"])
        .stdin(Stdio::null())
        .output();
    let output = tokio::time::timeout(DEADLINE, running).await;
    let output =
        output.unwrap_or_else(|_| panic!("it does not end; {}", shown_to_models(&model))).unwrap();
    let (said, complained) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{complained}\n{}", shown_to_models(&model));

    let told = "Installed profiles: codex, qwen. Missing: ";
    assert!(model.shown().iter().any(|shown| shown.whole.contains(told)), "{told}");
    assert_eq!(result(&said), "Both are done.", "{said}\n{}", shown_to_models(&model));
    for (api, text) in [
        (Api::Anthropic, "codex heard that it is 42"),
        (Api::Anthropic, "qwen has answered"),
        (CODEX.api, "the number is 42"),
    ] {
        let shown = model.was_shown_to(api, Newest::ToolResult, text);
        assert!(shown, "{api:?} was shown {text:?}: {}", shown_to_models(&model));
    }
    until("nothing runs any more", || stage.processes().is_empty()).await;
    // Claude Code kills a server that takes long to end: files that it had no time to remove are the next one's to clear.
    let next = stage.orchestrator().await;
    let presence = || std::fs::read_dir(stage.bus().join("presence")).unwrap();
    until("only its own is left", || presence().count() == 1).await;
    next.close().await;
    stage.check_nobody_is_left();
}

/// Returns the ids of tasks in a text, each once, in their order.
fn task_ids(text: &str) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for (at, _) in text.match_indices("\"task_id\":\"") {
        let id: String = text[at..].split('"').nth(3).unwrap_or_default().to_owned();
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    // Who looks before both are there asks for what is not there, and is told so.
    ids.resize(ids.len().max(2), "none".to_owned());
    ids
}
