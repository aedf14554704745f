//! Texts that cannot be read: the tools' results, and no message counts as seen without being shown.

use std::io;

use serde_json::{Value, json};

use super::fixture::{Client, Team};
use crate::bus::storage::LogError;

/// The error of a process without a free descriptor.
fn no_descriptor() -> LogError {
    LogError::Io {
        action: "read",
        path: "/project/.claude/bridge/blobs/x".into(),
        source: io::Error::from_raw_os_error(24).into(),
    }
}

async fn send(from: &mut Client, text: &str) -> String {
    let sent = json!({ "to": "bob", "content": text });
    let sent = from.call("send_message", sent).await;
    sent["message_id"].as_str().unwrap().to_owned()
}

fn contents(messages: &Value) -> Vec<&str> {
    let messages = messages.as_array().unwrap().iter();
    messages.map(|message| message["content"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn messages_that_cannot_be_read_now_do_not_ride_along_and_stay_unread() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    for text in ["one", "two", "three"] {
        send(&mut ann, text).await;
    }
    team.fail_reads([no_descriptor(), no_descriptor(), no_descriptor()]);
    let listed = bob.call("list_agents", json!({})).await;
    assert_eq!(listed.get("inbox"), None, "{listed}");
    // The next call would prove the messages of the one before.
    let checked = bob.call("check_messages", json!({})).await;
    assert_eq!(contents(&checked["messages"]), ["one", "two", "three"]);
}

#[tokio::test]
async fn readable_messages_are_shown_and_the_others_with_a_later_call() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    for text in ["one", "two", "three"] {
        send(&mut ann, text).await;
    }
    team.fail_reads([no_descriptor()]);
    let listed = bob.call("list_agents", json!({})).await;
    assert_eq!(contents(&listed["inbox"]), ["two", "three"]);
    team.fail_reads([no_descriptor()]);
    let refused = bob.refused("check_messages", json!({})).await;
    assert!(refused.contains("Too many open files"), "{refused}");
    let checked = bob.call("check_messages", json!({})).await;
    assert_eq!(contents(&checked["messages"]), ["one"]);
}

#[tokio::test]
async fn another_message_takes_the_place_of_one_that_cannot_be_read_now() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    for text in ["one", "two"] {
        send(&mut ann, text).await;
    }
    team.fail_reads([no_descriptor()]);
    let checked = bob.call("check_messages", json!({ "limit": 1 })).await;
    assert_eq!(contents(&checked["messages"]), ["two"]);
    let checked = bob.call("check_messages", json!({})).await;
    assert_eq!(contents(&checked["messages"]), ["one"]);
}

#[tokio::test]
async fn a_message_with_a_lost_text_is_shown_with_the_reason_and_blocks_nothing() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let id = send(&mut ann, "one").await;
    send(&mut ann, "two").await;
    team.fail_reads([LogError::Gone]);
    let checked = bob.call("check_messages", json!({})).await;
    assert_eq!(contents(&checked["messages"]), ["", "two"]);
    let lost = &checked["messages"][0];
    assert_eq!(lost["id"], id.as_str());
    assert_eq!(lost["lost"], "the log no longer holds this");
    let checked = bob.call("check_messages", json!({})).await;
    assert_eq!(checked["messages"], json!([]), "it has been shown");
}

#[tokio::test]
async fn a_wait_requeues_a_message_that_cannot_be_read_now() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    send(&mut ann, "one").await;
    let wait = json!({ "timeout_seconds": 20 });
    team.fail_reads([no_descriptor()]);
    let refused = bob.refused("wait_for_message", wait.clone()).await;
    assert!(refused.contains("Too many open files"), "{refused}");
    let waited = bob.call("wait_for_message", wait.clone()).await;
    assert_eq!(waited["message"]["content"], "one");
    send(&mut ann, "two").await;
    team.fail_reads([LogError::Gone]);
    let waited = bob.call("wait_for_message", wait).await;
    assert_eq!(waited["message"]["lost"], "the log no longer holds this");
}
