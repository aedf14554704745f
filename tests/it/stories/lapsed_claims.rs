//! The fourth specification: work for a role is claimed by one, lapses with it and with its lease, and is claimed again; a signal
//! expires unseen; an inbox is read in pages.

use serde_json::json;

use super::kept_trace::{assert_kept, peer, read_all, text_of, traced};
use crate::support::{Stage, until};

#[tokio::test]
async fn work_for_a_role_lapses_is_claimed_again_and_a_signal_expires_unseen() {
    let stage = Stage::new("");
    let lead = peer(&stage, &["--name", "coordinator"]).await;
    let one = peer(&stage, &["--name", "one", "--role", "reviewer"]).await;
    let two = peer(&stage, &["--name", "two", "--role", "reviewer"]).await;

    let emitted =
        json!({ "to": "@reviewer", "content": "Check the new parser.", "signal": "task" });
    let request = text_of(&lead.call("send_message", emitted).await, "request_id");
    let claim = json!({ "request_id": request });
    assert_eq!(one.call("claim_request", claim.clone()).await["claimed"], true);
    assert_eq!(two.call("claim_request", claim.clone()).await["claimed"], false);
    one.die().await;
    until("its claim lapses", || !stage.events_of("request_reopened").is_empty()).await;
    assert_eq!(two.call("claim_request", claim).await["claimed"], true);
    let done = json!({
        "to": "coordinator", "content": "It is fine.", "signal": "task_completed", "reply_to": request,
    });
    two.call("send_message", done).await;
    read_all(&stage, &[&lead, &two]).await;

    // A silent owner loses its claim with its lease.
    let leased =
        json!({ "description": "Watch the queue.", "to": "@reviewer", "lease_seconds": 10 });
    let leased = text_of(&lead.call("request_task", leased).await, "request_id");
    let claim = json!({ "request_id": leased });
    assert_eq!(two.call("claim_request", claim.clone()).await["claimed"], true);
    let brief = json!({
        "to": "two", "content": "The build is green.", "signal": "sense",
        "more": { "urgency": 0.8, "ttl_seconds": 1 },
    });
    let brief = text_of(&lead.call("send_message", brief).await, "message_id");
    until("nobody saw it", || !stage.events_of("message_expired").is_empty()).await;
    until("its lease ends", || stage.events_of("request_reopened").len() == 2).await;
    assert_eq!(two.call("claim_request", claim).await["claimed"], true);
    let done = json!({ "id": leased, "action": "complete", "content": "It is empty." });
    two.call("update_claim", done).await;
    read_all(&stage, &[&lead, &two]).await;

    // The inbox in pages, most urgent first.
    for (content, urgency) in [("low", 0.2), ("urgent", 0.95), ("usual", 0.5)] {
        let pulse = json!({ "to": "two", "content": content, "more": { "urgency": urgency } });
        lead.call("send_message", pulse).await;
    }
    let mut pages = Vec::new();
    for _ in 0..3 {
        let page = two.call("check_messages", json!({ "limit": 1 })).await;
        pages.push(text_of(&page["messages"][0], "content"));
    }
    assert_eq!(pages, ["urgent", "usual", "low"]);

    let traces = [
        traced(&stage, &[&request]).await,
        traced(&stage, &[&leased]).await,
        traced(&stage, &[&brief]).await,
    ];
    assert_kept("lapsed_claims.txt", &traces);
    for member in [lead, two] {
        member.close().await;
    }
}
