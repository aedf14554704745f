//! An orchestrator and three agents, from the first task to the last goodbye.

use serde_json::{Value, json};

use crate::support::Stage;

/// A writer that requests a review, and two reviewers that race for it.
const TEAM: &str = r#"
[[agents.writer.turns]]
when = "Your task: write"
steps = [
  { call = "request_task", with = { description = "Review the chapter", context = "It is short." }, save = "asked" },
  { wait_for = { request_id = "{{asked.request_id}}", seconds = 60 }, save = "claim" },
  { wait_for = { request_id = "{{asked.request_id}}", seconds = 60 }, save = "verdict" },
  { say = "{{claim.message.content}}: {{verdict.message.content}}" },
]
[[agents.writer.turns]]
when = "Your task: "
steps = [{ say = "{{prompt}}" }]
[[agents.writer.turns]]
steps = [{ call = "send_message", with = { to = "orchestrator", content = "writer has heard" } }]

[[agents.reviewer.turns]]
when = "Your task: "
steps = [
  { wait_for = { seconds = 60 }, save = "offer" },
  { call = "claim_request", with = { request_id = "{{offer.message.request_id}}" }, save = "claim" },
  { if = "{{claim.claimed}}", steps = [
    { call = "send_message", with = { to = "{{claim.request.from}}", content = "{{claim.request.description}}? {{claim.request.context}}", reply_to = "{{claim.request.request_id}}" } },
    { say = "won" },
  ], else = [{ say = "{{claim.reason}}" }] },
]
[[agents.reviewer.turns]]
steps = [{ call = "send_message", with = { to = "orchestrator", content = "{{name}} has heard" } }]
"#;

/// Gives both racers the same turns under their own names.
fn team() -> String {
    let racer = TEAM.split_once("[[agents.reviewer").unwrap().1;
    let verifier =
        format!("[[agents.reviewer{racer}").replace("agents.reviewer", "agents.verifier");
    format!("{TEAM}{verifier}")
}

fn is_notice_of(message: &Value, task: &str) -> bool {
    message["type"] == "notice" && message["content"].as_str().unwrap().contains(task)
}

#[tokio::test]
async fn an_orchestrator_and_three_agents_do_their_work_and_go() {
    let stage = Stage::new(&team());
    let lead = stage.orchestrator().await;
    let racers = [lead.start("reviewer", "review").await, lead.start("verifier", "review").await];
    for name in ["reviewer", "verifier"] {
        lead.until_waiting(name).await;
    }
    let write = lead.start("writer", "write").await;

    let said = [lead.done(&racers[0]).await, lead.done(&racers[1]).await];
    let winner = usize::from(said[0] != "won");
    let name = ["reviewer", "verifier"][winner];
    let request = stage.events_of("request_opened")[0]["id"].clone();
    let request = request.as_str().unwrap();
    assert_eq!(said[winner], "won");
    let lost = &said[1 - winner];
    assert!(
        lost.starts_with(&format!("the request `{request}` is "))
            && lost.ends_with(&format!(" by {name}")),
        "{lost}"
    );
    assert_eq!(
        lead.done(&write).await,
        format!("claimed by {name}: Review the chapter? It is short.")
    );
    assert_eq!(stage.events_of("request_claimed").len(), 1);
    assert_eq!(stage.events_of("request_completed").len(), 1);

    for name in ["reviewer", "verifier", "writer"] {
        lead.until_idle(name).await;
    }
    let receipt = lead.call("broadcast", json!({ "content": "well done" })).await;
    assert_eq!(
        receipt,
        json!({ "delivered_to": ["reviewer", "verifier", "writer"], "failed": [] })
    );
    for name in ["reviewer", "verifier", "writer"] {
        assert_eq!(lead.hear_from(name).await, format!("{name} has heard"));
    }
    for name in ["reviewer", "verifier", "writer"] {
        lead.until_idle(name).await;
    }
    let gone = lead.call("shutdown_agent", json!({ "agent": "verifier", "reason": "done" }));
    assert_eq!(gone.await, json!({ "acknowledged": true }));
    lead.until("list_agents", json!({}), |all| all["agents"].as_array().unwrap().len() == 3).await;
    assert!(lead.stderr().is_empty(), "{}", lead.stderr());
    lead.close().await;
    stage.check_nobody_is_left();
}

#[tokio::test]
async fn the_end_of_a_task_is_reported_once_and_not_to_a_client_that_has_its_result() {
    let stage = Stage::new(&team());
    let lead = stage.orchestrator().await;

    let waited = json!({ "agent": "scripted", "name": "writer", "prompt": "one", "wait": true });
    let waited = lead.call("assign_task", waited).await;
    assert_eq!(waited["status"], "done", "{waited}");
    let output = waited["output"].as_str().unwrap();
    assert!(output.ends_with("Your task: one"), "{waited}");
    let with_result = waited["task_id"].as_str().unwrap();

    let fetched = lead.assign("writer", "two").await;
    lead.call("get_task_status", json!({ "task_id": fetched })).await;
    let reported = lead.assign("writer", "three").await;
    lead.hear(|message| is_notice_of(message, &reported)).await;
    // A notice that was delivered, or whose result was fetched, does not come again.
    lead.call("get_task_result", json!({ "task_id": fetched })).await;
    lead.call("get_task_result", json!({ "task_id": reported })).await;
    for _ in 0..3 {
        lead.names().await;
    }
    let heard = lead.all_heard().await;
    let count = |task: &str| heard.iter().filter(|heard| is_notice_of(heard, task)).count();
    assert_eq!(count(with_result), 0, "{heard:#?}");
    assert_eq!(count(&reported), 0, "it was reported before: {heard:#?}");
    assert!(count(&fetched) <= 1, "{heard:#?}");

    let text = format!("{reported} of writer is done: \"Your task: three\"");
    let notices: Vec<_> = stage
        .events_of("message_sent")
        .into_iter()
        .filter(|sent| sent["body"]["text"] == text.as_str())
        .collect();
    assert_eq!(notices.len(), 1);
    let handed = stage.events_of("message_handed");
    let times = handed
        .iter()
        .filter(|handed| handed["ids"].as_array().unwrap().contains(&notices[0]["id"]))
        .count();
    assert_eq!(times, 1, "{handed:#?}");
    lead.close().await;
}
