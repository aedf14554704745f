//! Pushes: messages as notifications to a client that shows them its model, or drops them without a word.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::domain::wait_times;
use crate::mcp::tests::fixture::{Client, PATIENCE, Team};
use crate::mcp::tools::endpoint_tools;
use crate::mcp::{LazyMembership, Pushing, Server};

async fn pushing(team: &Team, name: &str) -> Server {
    let membership = LazyMembership::taken(team.membership(name).await);
    endpoint_tools::server_of_peer(membership, Path::new("/project"), Pushing::ByChannel)
}

async fn sent(client: &mut Client, to: &str, content: &str) -> String {
    let sent = client.call("send_message", json!({ "to": to, "content": content })).await;
    sent["message_id"].as_str().unwrap().to_owned()
}

/// Reads the next push.
async fn pushed(client: &mut Client) -> Value {
    let push = client.next().await;
    assert_eq!(push["method"], "notifications/claude/channel", "{push}");
    push["params"].clone()
}

/// Returns the first messages that `check_messages` brings, without a push in between.
async fn read(client: &mut Client) -> Vec<Value> {
    let reading = async {
        loop {
            let answer = client.call("check_messages", json!({})).await;
            let messages = answer["messages"].as_array().unwrap();
            if !messages.is_empty() {
                return messages.clone();
            }
        }
    };
    tokio::time::timeout(PATIENCE, reading).await.expect("messages come again")
}

#[tokio::test]
async fn each_message_is_pushed_in_its_frame_as_it_comes() {
    let team = Team::new();
    let mut ann = team.member("ann").await;
    let mut bob = Client::of(pushing(&team, "bob").await);
    let about = bob.initialize().await;
    let capabilities = &about["result"]["capabilities"];
    assert_eq!(capabilities["experimental"], json!({ "claude/channel": {} }), "{about}");
    assert!(about["result"]["instructions"].as_str().unwrap().contains("<channel>"));

    let id = sent(&mut ann, "bob", "look at </channel> this").await;
    let push = pushed(&mut bob).await;
    let content = push["content"].as_str().unwrap();
    let frame = format!(
        "--- Messages from other agents ---\n{id} [ann → you] look at &lt;/channel> this\n--- End"
    );
    assert!(content.starts_with(&frame), "{content}");
    assert!(content.contains(&format!("acknowledge with {id}")), "{content}");
    let meta = json!({
        "message_id": id, "from": "ann", "to": "bob", "type": "message", "priority": "normal",
        "thread_id": id,
    });
    assert_eq!(push["meta"], meta);

    bob.call("acknowledge", json!({ "ids": [id], "status": "acked" })).await;
    let receipts = ann.call("check_messages", json!({ "id": id })).await;
    let receipt = &receipts["receipts"][0];
    assert_eq!((&receipt["state"], &receipt["way"]), (&json!("acked"), &json!("channel")));
}

#[tokio::test]
async fn a_server_that_pushes_serves_no_stateless_client() {
    let team = Team::new();
    let mut bob = Client::of(pushing(&team, "bob").await);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "0" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let refused = bob.request("tools/list", json!({ "_meta": meta })).await;
    assert!(refused["error"].is_object(), "{refused}");
    let found = bob.request("server/discover", json!({ "_meta": meta })).await;
    assert_eq!(found["error"]["code"], -32022, "{found}");
    let versions = found["error"]["data"]["supported"].to_string();
    assert!(versions.contains("2025-11-25") && !versions.contains("2026-07-28"), "{found}");
    // The client falls back.
    let about = bob.initialize().await;
    assert_eq!(about["result"]["protocolVersion"], "2025-11-25");
    assert!(bob.call("list_agents", json!({})).await["agents"].is_array());
}

#[tokio::test]
async fn a_client_that_swallows_every_push_loses_nothing() {
    let later = Arc::new(AtomicU64::new(0));
    let team = Team::with_time(later.clone());
    let mut ann = team.member("ann").await;
    let mut bob = Client::of(pushing(&team, "bob").await);
    bob.initialize().await;
    let mut ids = Vec::new();
    for number in 1..=3 {
        ids.push(sent(&mut ann, "bob", &format!("message {number}")).await);
        // Its model sees nothing of it.
        pushed(&mut bob).await;
    }
    let unread = bob.call("check_messages", json!({})).await;
    assert_eq!(unread["messages"], json!([]), "other calls prove nothing");

    later.store(wait_times::PUSHED_MS, Ordering::Relaxed);
    let again = read(&mut bob).await;
    assert!(again.iter().all(|message| message["again"] == true), "{again:?}");
    let again: Vec<_> = again.iter().map(|message| message["id"].as_str().unwrap()).collect();
    assert_eq!(again, ids);
}

#[tokio::test]
async fn reading_a_pushed_message_by_its_id_proves_it() {
    let team = Team::new();
    let mut ann = team.member("ann").await;
    let mut bob = Client::of(pushing(&team, "bob").await);
    bob.initialize().await;
    let id = sent(&mut ann, "bob", "read me").await;
    pushed(&mut bob).await;
    let read = bob.call("check_messages", json!({ "id": id })).await;
    assert_eq!(read["messages"][0]["content"], "read me");
    let receipts = ann.call("check_messages", json!({ "id": id })).await;
    assert_eq!(receipts["receipts"][0]["state"], "seen", "{receipts}");
}

#[tokio::test]
async fn asking_for_what_a_pushed_message_has_not_proves_nothing() {
    let team = Team::new();
    let mut ann = team.member("ann").await;
    let mut bob = Client::of(pushing(&team, "bob").await);
    bob.initialize().await;
    let id = sent(&mut ann, "bob", "read me").await;
    pushed(&mut bob).await;
    for (part, why) in [("/payload", "has no payload"), ("/1", "has no attachments")] {
        let asked = json!({ "id": format!("{id}{part}") });
        let error = bob.refused("check_messages", asked).await;
        assert!(error.contains(why), "{error}");
    }
    let asked = json!({ "id": id, "agent_id": "ann" });
    let error = bob.refused("check_messages", asked).await;
    assert!(error.contains("leave out agent_id"), "{error}");
    let receipts = ann.call("check_messages", json!({ "id": id })).await;
    assert_eq!(receipts["receipts"][0]["state"], "handed", "{receipts}");
}

#[tokio::test]
async fn a_wait_gets_the_message_instead_of_a_push() {
    let team = Team::new();
    let mut ann = team.member("ann").await;
    let mut bob = Client::of(pushing(&team, "bob").await);
    bob.initialize().await;
    let id = sent(&mut ann, "bob", "first").await;
    let push = pushed(&mut bob).await;
    assert_eq!(push["meta"]["message_id"], id.as_str());
    let wait = bob.begin_call("wait_for_message", json!({ "timeout_seconds": 20 })).await;
    loop {
        let listed = ann.call("list_agents", json!({})).await;
        let mut agents = listed["agents"].as_array().unwrap().iter();
        if agents.any(|agent| agent["name"] == "bob" && agent["status"] == "waiting") {
            break;
        }
    }
    sent(&mut ann, "bob", "second").await;
    let answer = bob.result(&wait).await;
    assert_eq!(answer["message"]["content"], "second");
}

#[tokio::test]
async fn a_model_gets_no_flood_of_pushes() {
    let team = Team::new();
    let mut ann = team.member("ann").await;
    let mut bob = Client::of(pushing(&team, "bob").await);
    bob.initialize().await;
    let mut sent_ids = Vec::new();
    for number in 0..20 {
        sent_ids.push(sent(&mut ann, "bob", &format!("{number}: {}", "x".repeat(6_000))).await);
    }
    let mut pushes = 0;
    // The answer comes behind all pushes that there are room for.
    let call = bob.begin_call("list_agents", json!({})).await;
    let first = loop {
        let message = bob.next().await;
        if message["id"] == call {
            break message;
        }
        pushes += 1;
    };
    assert!((2..10).contains(&pushes), "{pushes} pushes");
    let inbox = &first["result"]["structuredContent"]["inbox"];
    assert_eq!(inbox.as_array().map_or(0, Vec::len), 1, "the next comes with the call: {first}");
}
