//! The second specification: a member that is away finds its mail when it comes back, under its name and under its session's id; a
//! claim is handed over to it, and it resolves the thread.

use serde_json::json;

use super::kept_trace::{assert_kept, read_all, text_of, traced};
use crate::support::{Stage, of_name};

#[tokio::test]
async fn a_member_that_was_away_finds_its_mail_takes_over_a_claim_and_resolves_the_thread() {
    let stage = Stage::new("");
    let cedar = stage.peer("Cedar").await;
    let birch = stage.peer("Birch").await;
    let atlas = stage.peer("Atlas").await;
    cedar.close().await;

    // Mail for a chosen name waits.
    let away = json!({
        "to": "cedar", "content": "The storage work will be yours.", "signal": "msg",
        "more": { "ref": "src/storage" },
    });
    let sent = birch.call("send_message", away).await;
    assert_eq!(sent["recipients"][0]["state"], "absent", "{sent}");
    let first = text_of(&sent, "message_id");
    let wanted = json!({ "description": "write the storage part", "context": "src/storage" });
    let request = text_of(&atlas.call("request_task", wanted).await, "request_id");
    let claimed = birch.call("claim_request", json!({ "request_id": request })).await;
    assert_eq!(claimed["claimed"], true, "{claimed}");

    let cedar = stage.peer("Cedar").await;
    let drained = cedar.all_heard().await;
    let drained: Vec<_> = drained.iter().map(|message| message["content"].clone()).collect();
    assert!(drained.contains(&json!("The storage work will be yours.")), "{drained:?}");
    let all = birch.call("list_agents", json!({})).await;
    let number = text_of(of_name(&all, "Cedar").unwrap(), "id");
    let handed = json!({
        "to": number, "content": "Take it over: the index is done.", "signal": "handoff",
        "reply_to": first, "more": { "payload": { "claim": request } },
    });
    birch.call("send_message", handed).await;
    let refused = json!({ "id": request, "action": "complete", "content": "too late" });
    let refused = birch.refused("update_claim", refused).await;
    assert!(refused.contains("Cedar"), "{refused}");

    cedar.call("check_messages", json!({})).await;
    let done =
        json!({ "id": request, "action": "complete", "content": "The storage part is there." });
    let done = cedar.call("update_claim", done).await;
    assert_eq!(done["status"], "completed", "{done}");
    let resolved = json!({
        "ids": [first], "status": "resolved", "note": "storage is written, index included",
    });
    cedar.call("acknowledge", resolved).await;
    read_all(&stage, &[&cedar, &birch, &atlas]).await;

    let of_thread = traced(&stage, &[&first]).await;
    let of_request = traced(&stage, &[&request]).await;
    assert_kept("absent_member.txt", &[of_thread, of_request]);
    for member in [cedar, birch, atlas] {
        member.close().await;
    }
}
