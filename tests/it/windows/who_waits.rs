//! What a person sees of a team in which a member waits for another, and in which things have gone wrong.

use serde_json::json;

use super::team_of_five::SMALL;
use crate::support::{Stage, Terminal, until};

/// Gus waits for the one that takes its request, which is hal; kim, lou and max wait in a circle; and ivy crashes.
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
  { call = "request_task", with = { description = "dance with me" }, save = "asked" },
  { wait_for = { request_id = "{{asked.request_id}}", seconds = 120 } },
  { wait_for = { request_id = "{{asked.request_id}}", seconds = 120 } },
  { wait_for = { request_id = "{{asked.request_id}}", seconds = 120 } },
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

    // Whoever would close a circle by a wait is told so; by a request that is handed to somebody who waits it still comes about.
    let dancers = ["kim", "max", "lou"];
    for name in ["kim", "lou", "max"] {
        lead.start_and_wait(name, "get ready").await;
    }
    for name in dancers {
        lead.call("assign_task", json!({ "agent": name, "prompt": "dance" })).await;
        lead.until_waiting(name).await;
    }
    let asked = stage.events_of("request_opened").last().unwrap()["id"].clone();
    lead.call("claim_request", json!({ "request_id": asked })).await;
    let hand_over = json!({ "id": asked, "action": "hand_over", "to": "kim" });
    lead.call("update_claim", hand_over).await;
    terminal.until_shows("1 problem, 6 members, 1 working, 4 waiting").await;
    terminal.until_shows("a circle of waits").await;
    terminal.until_shows("in a circle with lou").await;

    lead.start("ivy", "draw the plan").await;
    terminal.until_shows("2 problems, ").await;
    terminal.until_shows("Problems (2)").await;
    terminal.until_shows("failed: exit code 7, …").await;
    let screen = terminal.screen();
    assert!(!screen.contains("Ended"), "it stands there once: {screen}");
    terminal.press("q");
    assert_eq!(terminal.ended("").await, Some(0));
    lead.close().await;
}
