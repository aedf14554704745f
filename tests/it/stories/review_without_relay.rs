//! The first specification: one session asks another to review, gets the review and acknowledges it. Nobody relays.

use serde_json::{Value, json};

use super::kept_trace::{assert_kept, peer, read_all, text_of, traced};
use crate::support::Stage;

#[tokio::test]
async fn a_review_is_asked_for_done_and_acknowledged_without_a_relay() {
    let stage = Stage::new("");
    let lola = peer(&stage, &["--name", "Lola", "--surface", "claude-desktop"]).await;
    let donna = peer(&stage, &["--name", "Donna", "--surface", "claude-code"]).await;
    let asked = json!({
        "to": "donna",
        "content": "Please review SPEC-033, and reply with your gaps.",
        "signal": "ReviewRequested",
        "more": { "payload": { "spec_id": "SPEC-033", "instructions": "summarize, then review" } },
    });
    let first = text_of(&lola.call("send_message", asked).await, "message_id");

    // It comes with the next answer that Donna gets, whatever she asked for.
    donna.call("list_agents", json!({})).await;
    let got = donna.hear(|message| message["signal"] == "ReviewRequested").await;
    assert_eq!(got["id"].as_str().or(got["message_id"].as_str()), Some(&*first), "{got}");
    let review = json!({
        "to": "Lola",
        "content": "Accept with amendments.\nTwo gaps.",
        "signal": "ReviewCompleted",
        "reply_to": first,
        "more": { "payload": {
            "spec_id": "SPEC-033", "summary": "five layers",
            "gaps": ["no Windows path", "no offline agents"], "recommendation": "accept",
        } },
    });
    let review = text_of(&donna.call("send_message", review).await, "message_id");

    lola.call("list_agents", json!({})).await;
    let got = lola.hear(|message| message["signal"] == "ReviewCompleted").await;
    assert_eq!(got["reply_to"], *first, "{got}");
    // What is in an answer that may not have arrived, nobody acknowledges.
    read_all(&stage, &[&lola, &donna]).await;
    let thanks = json!({
        "to": "Donna",
        "content": "Thanks. You hear from me about the gaps.",
        "signal": "Acknowledgment",
        "reply_to": first,
        "more": { "payload": { "message": "received" } },
    });
    lola.call("send_message", thanks).await;
    donna.call("list_agents", json!({})).await;
    donna.hear(|message| message["signal"] == "Acknowledgment").await;
    read_all(&stage, &[&lola, &donna]).await;

    let lines = traced(&stage, &[&first]).await;
    // Any message of the thread shows all of it.
    assert_eq!(traced(&stage, &[&review]).await, lines);
    let json: Value = serde_json::from_str(&traced(&stage, &[&first, "--json"]).await).unwrap();
    let nodes = json["nodes"].as_array().unwrap();
    let agents: Vec<_> = nodes.iter().map(|node| node["agent"].as_str().unwrap()).collect();
    assert_eq!(agents, ["Lola", "Donna", "Lola"], "nobody relays: {json}");
    let edges = json["edges"].as_array().unwrap();
    let kinds: Vec<_> = edges.iter().map(|edge| edge["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["response", "thread", "response", "thread"], "{json}");
    let diagram = traced(&stage, &[&first, "--mermaid"]).await;
    assert_kept("review_without_relay.txt", &[lines, diagram]);
    for member in [lola, donna] {
        member.close().await;
    }
}
