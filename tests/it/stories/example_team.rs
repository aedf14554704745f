//! The example of a team (`examples/team.toml`) plays what members do with signals, lanes and claims.

use serde_json::json;

use crate::steer::json_of;
use crate::support::Stage;

const SCRIPT: &str = include_str!("../../../examples/team.toml");

#[tokio::test]
async fn the_example_asks_in_a_thread_reports_progress_and_owns_a_lane() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let editor = lead.start("editor", "answer").await;
    lead.until_said(&editor, "I listen.").await;
    let writer = lead.start("writer", "ask the editor").await;
    assert_eq!(lead.done(&writer).await, "The editor says: ten pages");
    assert_eq!(lead.done(&editor).await, "I listen. \n\nAnswered.");

    let sent = stage.events_of("message_sent");
    let of_signal = |signal: &str| {
        let mut found = sent.iter().filter(|sent| sent["more"]["signal"] == signal);
        found.next().unwrap_or_else(|| panic!("nobody sends {signal}: {sent:?}")).clone()
    };
    let (question, answer) = (of_signal("question"), of_signal("answer"));
    let trace = json_of(&stage, &["trace", question["id"].as_str().unwrap()]).await;
    assert_eq!(trace["nodes"].as_array().unwrap().len(), 2, "{trace}");
    let edge = json!({ "from": question["id"], "to": answer["id"], "type": "response" });
    assert!(trace["edges"].as_array().unwrap().contains(&edge), "{trace}");
    assert_eq!(of_signal("report_progress")["from"], "writer");
    let agents = lead.call("list_agents", json!({})).await;
    let mut agents = agents["agents"].as_array().unwrap().iter();
    let writer = agents.find(|agent| agent["name"] == "writer").unwrap();
    assert!(writer["holds"].to_string().contains("chapters"), "{writer}");
    lead.close().await;
}

#[tokio::test]
async fn the_example_renews_a_claim_and_hands_it_over() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let reviewer = lead.start("reviewer", "proofread").await;
    lead.until_said(&reviewer, "I am free.").await;
    let verifier = lead.start("verifier", "take over").await;
    lead.until_said(&verifier, "I am free.").await;
    let writer = lead.start("writer", "have it proofread").await;
    assert_eq!(lead.done(&writer).await, "The verdict: no mistakes");
    assert_eq!(lead.done(&reviewer).await, "I am free. \n\nHanded over.");
    assert_eq!(lead.done(&verifier).await, "I am free. \n\nDone.");
    let opened = &stage.events_of("request_opened")[0];
    assert_eq!(opened["lease_ms"], 60_000);
    // Progress renews the claim, too.
    assert_eq!(stage.events_of("request_renewed").len(), 2);
    let over = &stage.events_of("request_handed_over")[0];
    assert_eq!((&over["by"], &over["to"]), (&json!("reviewer"), &json!("verifier")));
    assert_eq!(stage.events_of("request_completed").len(), 1);
    lead.close().await;
}
