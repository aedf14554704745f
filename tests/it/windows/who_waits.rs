//! What a person sees of a team in which a member waits for another, and in which things have gone wrong.

use serde_json::json;

use super::team_of_five::SMALL;
use crate::support::{Stage, Terminal, until};

/// Gus waits for the one that takes its request, which is hal; max would close a circle of waits with kim and lou; and ivy crashes.
const SCRIPT: &str = r#"
[[agents.gus.turns]]
when = "Your task: "
steps = [
  { call = "request_task", with = { description = "review the parser" }, save = "asked" },
  { wait_for = { request_id = "{{asked.request_id}}", seconds = 120 } },
  { wait_for = { request_id = "{{asked.request_id}}", seconds = 120 } },
]
[[agents.hal.turns]]
when = "Your task: "
steps = [
  { wait_for = { seconds = 120 }, save = "offer" },
  { call = "claim_request", with = { request_id = "{{offer.message.request_id}}" } },
  { hang = true },
]
[[agents.kim.turns]]
when = "Your task: get ready"
steps = [{ say = "ready" }]
[[agents.kim.turns]]
when = "Your task: dance"
steps = [
  { wait_for = { from = "lou", seconds = 120 } },
]
[[agents.lou.turns]]
when = "Your task: get ready"
steps = [{ say = "ready" }]
[[agents.lou.turns]]
when = "Your task: dance"
steps = [{ wait_for = { from = "max", seconds = 120 } }]
[[agents.max.turns]]
when = "Your task: get ready"
steps = [{ say = "ready" }]
[[agents.max.turns]]
when = "Your task: dance"
steps = [
  { call = "wait_for_message", with = { from = "kim" }, expect_error = true, save = "refused" },
  { say = "{{refused}}" },
]
[[agents.ivy.turns]]
when = "Your task: "
steps = [{ crash = 7 }]
"#;

#[tokio::test]
async fn a_stranger_tells_from_a_small_window_who_waits_for_whom_and_what_went_wrong() {
    let stage = Stage::new(SCRIPT);
    let mut terminal = Terminal::run(&stage, &["top"], SMALL);
    let lead = stage.orchestrator().await;
    lead.start("hal", "help").await;
    lead.until_waiting("hal").await;
    lead.start("gus", "ask").await;
    until("hal has it", || !stage.events_of("request_claimed").is_empty()).await;
    terminal.until_shows("waits for hal, in").await;

    // Whoever would close a circle is told so, and who waits for whom.
    for name in ["kim", "lou", "max"] {
        lead.start_and_wait(name, "get ready").await;
    }
    for name in ["kim", "lou"] {
        lead.call("assign_task", json!({ "agent": name, "prompt": "dance" })).await;
        lead.until_waiting(name).await;
    }
    let told = lead.call("assign_task", json!({ "agent": "max", "prompt": "dance", "wait": true }));
    let told = told.await.to_string();
    assert!(told.contains("`kim` waits for `lou` and `lou` waits for you"), "{told}");
    terminal.until_shows("6 members (1 working, 3 waiting, 2 idle)").await;

    lead.start("ivy", "draw the plan").await;
    terminal.until_shows("1 problem, ").await;
    terminal.until_shows("Problems (1)").await;
    terminal.until_shows("failed: exit code 7, …").await;
    let screen = terminal.screen();
    assert!(!screen.contains("Ended"), "it stands there once: {screen}");
    terminal.press("q");
    assert_eq!(terminal.ended("").await, Some(0));
    lead.close().await;
}
