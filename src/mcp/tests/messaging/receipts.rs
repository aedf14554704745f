//! Acknowledging messages, and the receipts that their sender reads.

use serde_json::{Value, json};

use crate::bus::rules::Operation;
use crate::domain::limits;
use crate::mcp::LazyMembership;
use crate::mcp::tests::fixture::{Client, Team};
use crate::mcp::tools::endpoint_tools;

/// Reads the receipts of one's own message.
async fn receipts(sender: &mut Client, id: &Value) -> Vec<Value> {
    let read = sender.call("check_messages", json!({ "id": id })).await;
    assert_eq!(read["messages"][0]["id"], *id, "{read}");
    read["receipts"].as_array().unwrap_or_else(|| panic!("{read}")).clone()
}

/// Returns the state of the only receipt, and checks that it has a time.
async fn state(sender: &mut Client, id: &Value) -> String {
    let [receipt] = &receipts(sender, id).await[..] else { panic!("not one receipt") };
    assert!(receipt["at"].as_str().is_some_and(|at| at.ends_with('Z')), "{receipt}");
    receipt["state"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_sender_reads_how_far_its_message_has_come_with_ways_and_times() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let sent = ann.call("send_message", json!({ "to": "bob", "content": "well?" })).await;
    let id = &sent["message_id"];
    assert_eq!(state(&mut ann, id).await, "unread");
    bob.call("check_messages", json!({})).await;
    assert_eq!(state(&mut ann, id).await, "handed");
    // The next call proves that the answer has arrived.
    bob.call("list_agents", json!({})).await;
    assert_eq!(state(&mut ann, id).await, "seen");
    let acked = bob.call("acknowledge", json!({ "ids": [id], "note": "on it" })).await;
    assert_eq!(acked["receipts"], json!([{ "id": id, "status": "acked", "changed": true }]));
    assert_eq!(state(&mut ann, id).await, "acked");
    let answer = json!({ "to": "ann", "content": "yes", "reply_to": id });
    let answer = bob.call("send_message", answer).await;
    let resolve = json!({ "ids": [id], "status": "resolved", "note": "merged:\nall of it" });
    bob.call("acknowledge", resolve.clone()).await;
    assert_eq!(state(&mut ann, id).await, "resolved");

    let again = bob.call("acknowledge", json!({ "ids": [id], "status": "superseded" })).await;
    let unchanged = json!([{ "id": id, "status": "resolved", "changed": false }]);
    assert_eq!(again["receipts"], unchanged, "the first of the two last ones stays");
    let [receipt] = &receipts(&mut ann, id).await[..] else { panic!("not one receipt") };
    let expected = json!({
        "name": "bob",
        "state": "resolved",
        "way": "pull",
        "at": receipt["at"],
        "answer": answer["message_id"],
        "note": "merged:\nall of it",
    });
    assert_eq!(*receipt, expected);
    // Its recipient has no receipts of it.
    let read = bob.call("check_messages", json!({ "id": id })).await;
    assert_eq!(read.get("receipts"), None, "{read}");
}

#[tokio::test]
async fn an_unread_message_is_acknowledged_by_whoever_knows_its_id_and_is_not_delivered_any_more() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let sent = ann.call("send_message", json!({ "to": "bob", "content": "well?" })).await;
    let id = &sent["message_id"];
    let past = bob.call("check_messages", json!({ "cursor": "0" })).await;
    assert_eq!(past["messages"][0]["id"], *id, "it looks back, which delivers nothing");
    bob.call("acknowledge", json!({ "ids": [id], "status": "superseded" })).await;
    assert_eq!(bob.call("check_messages", json!({})).await, json!({ "messages": [] }));
    assert_eq!(state(&mut ann, id).await, "superseded");
}

#[tokio::test]
async fn each_recipient_of_a_request_has_a_receipt_of_its_own() {
    let team = Team::new();
    let (mut ann, mut bob, mut cay) =
        (team.member("ann").await, team.member("bob").await, team.member("cay").await);
    let _dan = team.membership("dan").await;
    let opened = ann.call("request_task", json!({ "description": "look" })).await;
    let read = bob.call("check_messages", json!({})).await;
    let id = read["messages"][0]["id"].clone();
    cay.call("check_messages", json!({})).await;
    bob.call("claim_request", json!({ "request_id": opened["request_id"] })).await;
    let answer = json!({ "to": "ann", "content": "done", "reply_to": opened["request_id"] });
    let answer = bob.call("send_message", answer).await;
    cay.call("acknowledge", json!({ "ids": [id], "note": "not mine" })).await;
    let receipts = receipts(&mut ann, &id).await;
    let of = |name: &str| receipts.iter().find(|one| one["name"] == name).unwrap();
    assert_eq!(
        (&of("bob")["state"], &of("bob")["answer"]),
        (&json!("seen"), &answer["message_id"])
    );
    assert_eq!((&of("cay")["state"], &of("cay")["note"]), (&json!("acked"), &json!("not mine")));
    assert_eq!(of("dan")["state"], "withdrawn");
    assert_eq!(receipts.len(), 3);
}

#[tokio::test]
async fn receipts_are_read_from_the_log_once_the_state_has_forgotten_the_message() {
    let team = Team::new();
    let (mut ann, bob) = (team.member("ann").await, team.membership("bob").await);
    let sent = ann.call("send_message", json!({ "to": "bob", "content": "old" })).await;
    let id = &sent["message_id"];
    let mut client = Client::of(endpoint_tools::server(LazyMembership::taken(bob.clone())));
    client.initialize().await;
    client.call("check_messages", json!({})).await;
    client.call("acknowledge", json!({ "ids": [id], "status": "resolved" })).await;
    let eve = team.membership("eve").await;
    for number in 0..limits::KEPT_ENDED {
        let body = crate::bus::event::Body::Text(number.to_string());
        let priority = crate::domain::messaging::Priority::Normal;
        let operation =
            Operation::Send { to: "bob".into(), body, reply_to: None, priority, more: None };
        let receipt = eve.ask(operation).await.unwrap();
        let newest = receipt.events.iter().find_map(|event| match event {
            crate::bus::event::Event::MessageSent(sent) => Some(sent.id.clone()),
            _ => None,
        });
        let status = crate::domain::messaging::Acknowledgement::Acked;
        let ids = vec![newest.unwrap()];
        bob.ask(Operation::Acknowledge { ids, status, note: None }).await.unwrap();
    }
    let refused = client.refused("acknowledge", json!({ "ids": [id] })).await;
    assert!(refused.starts_with("there is no message `msg-"), "{refused}");
    assert_eq!(state(&mut ann, id).await, "resolved");
}

#[tokio::test]
async fn receipts_of_long_notes_are_cut_to_the_room_of_an_answer() {
    let team = Team::new();
    let ann = team.membership("ann").await;
    let mut bobs = Vec::new();
    for number in 0..9 {
        bobs.push(team.member(&format!("bob-{number}")).await);
    }
    let mut call = ann.call();
    let all = call.broadcast("x".repeat(limits::HEAD_BYTES)).await.unwrap().unwrap();
    call.answered().await;
    let id = json!(all.id.to_string());
    for bob in &mut bobs {
        bob.call("check_messages", json!({})).await;
        let note = "\u{1}".repeat(limits::ACKNOWLEDGEMENT_NOTE_BYTES);
        bob.call("acknowledge", json!({ "ids": [id], "note": note })).await;
    }
    let mut ann = Client::of(endpoint_tools::server(LazyMembership::taken(ann)));
    ann.initialize().await;
    let read = ann.call("check_messages", json!({ "id": id })).await;
    let shown = read["receipts"].as_array().unwrap();
    assert_eq!((shown.len(), read.get("more_receipts")), (9, None), "states come before notes");
    for receipt in shown {
        assert_eq!(receipt["state"], "acked");
        let note = receipt["note"].as_str().unwrap();
        assert!(note.ends_with("\u{fffd}…") && note.len() > 1_000, "{} bytes", note.len());
    }
    let bytes = read.to_string().len();
    assert!(bytes <= limits::ANSWER_BYTES, "{bytes} bytes");
    // One of them alone has room for its whole note.
    let read = ann.call("check_messages", json!({ "id": id, "agent_id": "Bob-7" })).await;
    let [receipt] = &read["receipts"].as_array().unwrap()[..] else { panic!("{read}") };
    let whole = "\u{fffd}".repeat(limits::ACKNOWLEDGEMENT_NOTE_BYTES);
    assert_eq!((&receipt["name"], &receipt["note"]), (&json!("bob-7"), &json!(whole)));
    let refused = ann.refused("check_messages", json!({ "id": id, "agent_id": "cay" })).await;
    assert_eq!(refused, "your message did not go to \"cay\": leave out agent_id");
    let refused = bobs[0].refused("check_messages", json!({ "id": id, "agent_id": "ann" })).await;
    assert_eq!(refused, "with the id of a message to you, leave out agent_id");
}

#[tokio::test]
async fn a_note_has_no_letters_that_act_on_a_terminal_or_deceive_its_reader() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let sent = ann.call("send_message", json!({ "to": "bob", "content": "well?" })).await;
    let id = &sent["message_id"];
    let note = "a\u{1b}[2J\u{202e}b\0c\r\nnext\tline";
    bob.call("acknowledge", json!({ "ids": [id], "note": note })).await;
    let [receipt] = &receipts(&mut ann, id).await[..] else { panic!("not one receipt") };
    assert_eq!(receipt["note"], "a\u{fffd}[2J\u{fffd}b\u{fffd}c\nnext\tline");
}

#[tokio::test]
async fn too_many_ids_and_a_note_that_is_too_long_are_refused() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let sent = ann.call("send_message", json!({ "to": "bob", "content": "well?" })).await;
    let id = sent["message_id"].as_str().unwrap();
    let many = vec![id; limits::ACKNOWLEDGED_AT_ONCE + 1];
    let refused = bob.refused("acknowledge", json!({ "ids": many })).await;
    let expected = "101 messages in one call; the limit is 100: make a call for each part of them";
    assert_eq!(refused, expected);
    let note = "x".repeat(limits::ACKNOWLEDGEMENT_NOTE_BYTES + 1);
    let refused = bob.refused("acknowledge", json!({ "ids": [id], "note": note })).await;
    assert!(refused.starts_with("note is 2001 bytes long; the limit is 2000 bytes: "), "{refused}");
    assert_eq!(state(&mut ann, &sent["message_id"]).await, "unread", "nothing was stored");
}
