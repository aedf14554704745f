//! The real Claude Code as the user: it starts the orchestrator as its MCP server and assigns a task to each of two agents of other
//! vendors. They talk to each other, and Claude Code collects their results.

use std::time::Duration;

use serde_json::json;

use crate::agent_kinds::{CODEX, QWEN};
use crate::claude_code::{claude_with_bridge, print, result};
use crate::model::{Api, ModelServer, Newest, Reading, Rule};
use crate::real_project::{shown_to_models, stage};
use crate::support::until;

/// The programs that the test needs.
pub(crate) const PROGRAMS: [&str; 4] = ["node", "claude", CODEX.name, QWEN.name];

/// The pause between two requests for the results.
const POLL_PAUSE: Duration = Duration::from_secs(1);

/// Returns the rules of the three models. Each model must be shown what the others said.
fn rules() -> Vec<Rule> {
    let first_task = |text: &str| json!({ "task_id": task_ids(text)[0] });
    let second_task = |text: &str| json!({ "task_id": task_ids(text)[1] });
    let poll_while = |status: &str| {
        Rule::result(&format!("\"status\":\"{status}\""))
            .of(Api::Anthropic)
            .calls_with("get_task_result", first_task)
            .calls_with("get_task_result", second_task)
    };
    // The leading model names no agent by itself: it takes the first and the second that the tool's description offers.
    let assign = |offered: usize, prompt: fn(&str) -> &'static str| {
        move |reading: Reading<'_>| {
            let agent = offered_profiles(reading.request).get(offered).copied().unwrap_or("none");
            json!({ "agent": agent, "prompt": prompt(agent) })
        }
    };
    let part = |agent: &str| match agent {
        agent if agent == QWEN.name => "answer codex",
        _ => "ask qwen for the number",
    };
    let write = |to: &str, content: &str| json!({ "to": to, "content": content });
    let wait = |from: &str| json!({ "from": from, "timeout_seconds": 100 });
    vec![
        Rule::user("lead the team")
            .of(Api::Anthropic)
            .calls_as_it_reads("assign_task", assign(1, part))
            .calls_as_it_reads("assign_task", assign(0, part)),
        poll_while("queued").after(POLL_PAUSE),
        poll_while("starting").after(POLL_PAUSE),
        poll_while("running").after(POLL_PAUSE),
        Rule::result("\"status\":\"done\"").of(Api::Anthropic).says("Both are done."),
        Rule::user("ask qwen")
            .of(CODEX.api)
            .calls("send_message", write(QWEN.name, "which number is it?")),
        Rule::result("the number is 42").of(CODEX.api).says("codex heard that it is 42"),
        Rule::result("msg-").of(CODEX.api).calls("wait_for_message", wait(QWEN.name)),
        // The question may come with the task, from a wait, or with the result of another tool.
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

/// Returns the profiles that the tools, as a model reads them, offer.
fn offered_profiles(request: &str) -> Vec<&str> {
    let list = request.split_once("Installed profiles: ").map_or("", |(_, rest)| rest);
    list.split_once('.').map_or("", |(profiles, _)| profiles).split(", ").collect()
}

/// Uses the whole product once. The leading model knows of agents only what the tools say, and starts the right ones at its first call.
pub(crate) async fn leads_two_agents_that_talk_to_each_other() {
    let model = ModelServer::start(rules()).await;
    let stage = stage(&[&CODEX, &QWEN], &model);
    let claude = claude_with_bridge(&stage, &model);
    let printed = print(claude, "lead the team", "mcp__bridge", &model).await;

    assert_eq!(result(&printed), "Both are done.", "{printed}\n{}", shown_to_models(&model));
    for (api, text) in [
        (Api::Anthropic, "codex heard that it is 42"),
        (Api::Anthropic, "qwen has answered"),
        (CODEX.api, "the number is 42"),
    ] {
        let shown = model.was_shown_to(api, Newest::ToolResult, text);
        assert!(shown, "{api:?} was shown {text:?}: {}", shown_to_models(&model));
    }
    let started = stage.events_of("member_starting").len();
    assert_eq!(started, 2, "a call that names no agent, or a wrong one, starts none");
    until("nothing runs any more", || stage.processes().is_empty()).await;
    // Claude Code kills a server that takes long to end. The next server removes the files that it left.
    let next = stage.orchestrator().await;
    let presence = || std::fs::read_dir(stage.bus().join("presence")).unwrap();
    until("only its own is left", || presence().count() == 1).await;
    next.close().await;
    stage.check_nobody_is_left();
}

/// Returns the task ids in a text, in order and without duplicates.
fn task_ids(text: &str) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for (at, _) in text.match_indices("\"task_id\":\"") {
        let id: String = text[at..].split('"').nth(3).unwrap_or_default().to_owned();
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    // A text with fewer ids makes the model ask for an unknown task, which is refused.
    ids.resize(ids.len().max(2), "none".to_owned());
    ids
}
