//! The first specification: one session asks another to review, gets the review and acknowledges it. Nobody relays.

use serde_json::{Value, json};

use super::kept_trace::{assert_kept, peer, read_all, text_of, traced};
use crate::support::{Raw, Stage};

#[tokio::test]
async fn a_review_is_asked_for_done_and_acknowledged_without_a_relay() {
    let stage = Stage::new("");
    let ann = peer(&stage, &["--name", "Ann", "--surface", "claude-desktop"]).await;
    let ben = ["peer", "--name", "Ben", "--surface", "claude-code", "--channel"];
    let mut ben = Raw::open(stage.start(&ben).await).await;
    ben.call("list_agents", json!({})).await;
    let asked = json!({
        "to": "ben",
        "content": "Please review spec-7, and reply with your gaps.",
        "signal": "ReviewRequested",
        "more": { "payload": { "spec_id": "spec-7", "instructions": "summarize, then review" } },
    });
    let first = text_of(&ann.call("send_message", asked).await, "message_id");

    // It is pushed into Ben's session, in which nobody asks for it.
    let push = ben.pushed().await;
    assert_eq!(push["meta"]["signal"], "ReviewRequested", "{push}");
    assert_eq!(push["meta"]["message_id"], *first, "{push}");
    let review = json!({
        "to": "Ann",
        "content": "Good, with two gaps.\nThe list is below.",
        "signal": "ReviewCompleted",
        "reply_to": first,
        "more": { "payload": {
            "spec_id": "spec-7", "summary": "a log and its readers",
            "gaps": ["no word on limits", "no word on age"], "recommendation": "accept",
        } },
    });
    // That it names the request is the proof that the push was read.
    let sent = ben.call("send_message", review).await;
    let review = text_of(&sent["result"]["structuredContent"], "message_id");

    // It comes with the next answer that Ann gets, whatever he asked for.
    ann.call("list_agents", json!({})).await;
    let got = ann.hear(|message| message["signal"] == "ReviewCompleted").await;
    assert_eq!(got["reply_to"], *first, "{got}");
    // What is in an answer that may not have arrived, nobody acknowledges.
    read_all(&stage, &[&ann]).await;
    let thanks = json!({
        "to": "Ben",
        "content": "Thanks. You hear from me about the gaps.",
        "signal": "Acknowledgment",
        "reply_to": first,
        "more": { "payload": { "message": "received" } },
    });
    let thanks = text_of(&ann.call("send_message", thanks).await, "message_id");
    let push = ben.pushed().await;
    assert_eq!(push["meta"]["message_id"], *thanks, "{push}");
    ben.call("check_messages", json!({ "id": thanks })).await;
    read_all(&stage, &[&ann]).await;

    let lines = traced(&stage, &[&first]).await;
    // Any message of the thread shows all of it.
    assert_eq!(traced(&stage, &[&review]).await, lines);
    let json: Value = serde_json::from_str(&traced(&stage, &[&first, "--json"]).await).unwrap();
    let nodes = json["nodes"].as_array().unwrap();
    let agents: Vec<_> = nodes.iter().map(|node| node["agent"].as_str().unwrap()).collect();
    assert_eq!(agents, ["Ann", "Ben", "Ann"], "nobody relays: {json}");
    let edges = json["edges"].as_array().unwrap();
    let kinds: Vec<_> = edges.iter().map(|edge| edge["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["response", "thread", "response", "thread"], "{json}");
    let diagram = traced(&stage, &[&first, "--mermaid"]).await;
    assert_kept("review_without_relay.txt", &[lines, diagram]);
    ann.close().await;
    ben.close().await;
}
