//! Signals and the other rare fields of messages, as the tools take and show them.

use serde_json::{Value, json};

use crate::mcp::tests::fixture::{Client, Team};

async fn send(by: &mut Client, to: &str, mut fields: Value) -> Value {
    fields["to"] = json!(to);
    fields["content"] = json!("what I say");
    by.call("send_message", fields).await["message_id"].clone()
}

/// Reads the only unread message.
async fn read(by: &mut Client) -> Value {
    let read = by.call("check_messages", json!({})).await;
    let [message] = read["messages"].as_array().unwrap().as_slice() else { panic!("{read}") };
    message.clone()
}

#[tokio::test]
async fn a_signal_and_its_payload_reach_the_reader_as_they_were_sent() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let payload = json!({ "spec_id": "SPEC-033", "instructions": "Sum it up.", "other": null });
    let more = json!({ "payload": payload, "ref": "docs/spec.md", "urgency": 0.8 });
    let fields = json!({ "signal": "reviewrequested", "more": more });
    let id = send(&mut ann, "bob", fields).await;
    let message = read(&mut bob).await;
    assert_eq!(message["id"], id);
    assert_eq!(message["signal"], "ReviewRequested");
    assert_eq!(message["payload"], payload);
    assert_eq!(message["ref"], "docs/spec.md");
    assert_eq!((&message["priority"], &message["urgency"]), (&json!("high"), &json!(0.8)));
    assert_eq!(message["response_seconds"], 300);
    let done = json!({
        "spec_id": "SPEC-033", "summary": "s", "gaps": ["a"], "recommendation": "Accept"
    });
    let fields =
        json!({ "signal": "ReviewCompleted", "reply_to": id, "more": { "payload": done } });
    let answer = send(&mut bob, "ann", fields).await;
    let message = read(&mut ann).await;
    assert_eq!((&message["signal"], &message["reply_to"]), (&json!("ReviewCompleted"), &id));
    assert_eq!(message["payload"], done);
    let thanks = json!({ "message": "Thanks." });
    let more = json!({ "payload": thanks });
    let fields = json!({ "signal": "Acknowledgment", "reply_to": answer, "more": more });
    send(&mut ann, "bob", fields).await;
    let receipts = bob.call("check_messages", json!({ "id": answer })).await;
    assert_eq!(receipts["receipts"][0]["state"], "acked", "{receipts}");
    assert_eq!(read(&mut bob).await["payload"], thanks);
}

#[tokio::test]
async fn a_message_without_rare_fields_is_shown_as_it_always_was() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let id = send(&mut ann, "bob", json!({})).await;
    let message = read(&mut bob).await;
    let expected = json!({
        "id": id,
        "type": "message",
        "from": "ann",
        "to": "bob",
        "content": "what I say",
        "timestamp": message["timestamp"],
        "thread_id": id,
    });
    assert_eq!(message, expected);
}

#[tokio::test]
async fn a_long_payload_is_read_by_an_id_of_its_own() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let payload = json!({ "table": "x".repeat(60_000) });
    let id = send(&mut ann, "bob", json!({ "more": { "payload": payload } })).await;
    let message = read(&mut bob).await;
    let bytes = payload.to_string().len();
    assert_eq!((message.get("payload"), &message["payload_bytes"]), (None, &json!(bytes)));
    let of_payload = format!("{}/payload", id.as_str().unwrap());
    let (mut whole, mut offset) = (String::new(), json!(0));
    while !offset.is_null() {
        let asked = json!({ "id": of_payload, "offset": offset });
        let part = bob.call("check_messages", asked).await;
        let part = &part["messages"][0];
        assert_eq!((&part["id"], &part["content_bytes"]), (&json!(of_payload), &json!(bytes)));
        whole.push_str(part["content"].as_str().unwrap());
        offset = part["next_offset"].clone();
    }
    assert_eq!(whole, payload.to_string());
    let plain = send(&mut ann, "bob", json!({})).await;
    let asked = json!({ "id": format!("{}/payload", plain.as_str().unwrap()) });
    let refused = bob.refused("check_messages", asked).await;
    assert_eq!(refused, format!("`{}` has no payload", plain.as_str().unwrap()));
}

#[tokio::test]
async fn wrong_signals_and_fields_are_refused_with_what_to_do() {
    let team = Team::new();
    let (mut ann, _bob) = (team.member("ann").await, team.member("bob").await);
    for (fields, expected) in [
        (
            json!({ "signal": "request_reviw" }),
            "\"request_reviw\" is not a signal: did you mean `request_review`? The signals are \
             request_review, msg, ",
        ),
        (json!({ "signal": "PeerLeft" }), "the signal `PeerLeft` is reserved for the bus itself"),
        (json!({ "signal": "RELAY" }), "the signal `relay` is reserved for the person at"),
        (json!({ "signal": "answer" }), "`answer` replies to another message: give the id of"),
        (
            json!({ "priority": "high", "more": { "urgency": 0.3 } }),
            "give `priority` or `urgency`, not both: they are one scale",
        ),
        (json!({ "more": { "urgency": 2 } }), "`urgency` of `more` is 2; it must be 0 to 1"),
        (json!({ "more": { "ttl_seconds": 0 } }), "ttl_seconds is 0; it must be 1 to 86400"),
        (json!({ "more": { "ref": " " } }), "ref is empty: give it some text"),
        (json!({ "more": { "supersedes": "x" } }), "\"x\" is not a "),
        (
            json!({ "signal": "TaskAssigned", "more": { "payload": { "priority": "high" } } }),
            "the payload of `TaskAssigned` has no `description`: its shape is {description: a ",
        ),
        (
            json!({ "more": { "payload": [] } }),
            "`payload` of `more` must be an object, not an array",
        ),
        (json!({ "more": { "paylod": {} } }), "`more` has no argument `paylod` (use `payload`)"),
    ] {
        let mut call = fields.clone();
        call["to"] = json!("bob");
        call["content"] = json!("x");
        let refused = ann.refused("send_message", call).await;
        assert!(refused.starts_with(expected), "{fields}: {refused}");
    }
}

#[tokio::test]
async fn a_result_says_how_many_unread_messages_had_no_room_in_its_inbox() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    for number in 0..8 {
        let text = format!("message {number}");
        ann.call("send_message", json!({ "to": "bob", "content": text })).await;
    }
    let listed = bob.call("list_agents", json!({})).await;
    assert_eq!(listed["inbox"].as_array().unwrap().len(), 5);
    assert_eq!(listed["unread"], 3);
    let listed = bob.call("list_agents", json!({})).await;
    assert_eq!(listed["inbox"].as_array().unwrap().len(), 3);
    assert_eq!(listed.get("unread"), None);
}

#[tokio::test]
async fn work_for_a_group_is_a_request_that_one_of_it_claims() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let payload = json!({ "description": "Sum it up.", "priority": "high" });
    let fields = json!({
        "to": "all",
        "content": "Read the log.",
        "signal": "taskassigned",
        "priority": "high",
        "more": { "payload": payload, "ref": "docs/log.md", "ttl_seconds": 60 },
    });
    let sent = ann.call("send_message", fields).await;
    let request = sent["request_id"].clone();
    assert_eq!(sent["recipients"][0]["name"], "bob", "{sent}");
    let message = read(&mut bob).await;
    assert_eq!((&message["id"], &message["type"]), (&sent["message_id"], &json!("request")));
    assert_eq!(message["priority"], "high", "{message}");
    let text = message["content"].as_str().unwrap();
    assert!(text.starts_with("Read the log.") && text.contains("about: docs/log.md"), "{text}");
    assert!(text.contains(&payload.to_string()), "{text}");
    let claimed = bob.call("claim_request", json!({ "request_id": request })).await;
    assert_eq!(claimed["claimed"], true, "{claimed}");
    for (field, value) in [("reply_to", sent["message_id"].clone())] {
        let mut fields = json!({ "to": "all", "content": "x", "signal": "task" });
        fields[field] = value;
        let refused = ann.refused("send_message", fields).await;
        let expected = format!("work for a group opens a request, which has no `{field}`");
        assert!(refused.contains(&expected), "{refused}");
    }
    let fields =
        json!({ "to": "all", "content": "x", "signal": "TaskAssigned", "more": { "payload": {} } });
    let refused = ann.refused("send_message", fields).await;
    assert!(refused.contains("description"), "{refused}");
}

#[tokio::test]
async fn a_mention_is_a_copy_if_its_sender_asks_for_it() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let mut eve = team.member("eve").await;
    let text = "See `@code`, @eve and @nobody.";
    let plain = json!({ "to": "bob", "content": text });
    assert_eq!(ann.call("send_message", plain).await.get("mentions"), None);
    let fields =
        json!({ "to": "bob", "content": text, "signal": "question", "more": { "mention": true } });
    let sent = ann.call("send_message", fields).await;
    assert_eq!(sent["mentions"], json!(["eve"]), "{sent}");
    let copy = read(&mut eve).await;
    assert_eq!((&copy["id"], &copy["to"]), (&sent["message_id"], &json!("bob")));
    assert_eq!(copy["mentions"], json!(["eve"]));
    assert_eq!(copy.get("response_seconds"), None, "who is mentioned owes no answer: {copy}");
    let read = bob.call("check_messages", json!({})).await;
    assert_eq!(read["messages"].as_array().unwrap().len(), 2);
    assert_eq!(read["messages"][1]["response_seconds"], 300);
    let receipts = ann.call("check_messages", json!({ "id": sent["message_id"] })).await;
    assert_eq!(receipts["receipts"].as_array().unwrap().len(), 2, "{receipts}");
}

#[tokio::test]
async fn what_its_sender_took_back_before_it_was_read_nobody_else_can_read() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let send =
        |content: &str, more: Value| json!({ "to": "bob", "content": content, "more": more });
    let id_of = |sent: Value| sent["message_id"].as_str().unwrap().to_owned();
    let old = id_of(ann.call("send_message", send("the old one", json!({}))).await);
    let new = send("the new one", json!({ "supersedes": old }));
    let new = id_of(ann.call("send_message", new).await);
    let unread = bob.call("check_messages", json!({})).await;
    assert_eq!(unread["messages"].as_array().unwrap().len(), 1);
    assert_eq!(unread["messages"][0]["content"], "the new one");
    // It never had the other one, so that its id would say nothing.
    assert_eq!(unread["messages"][0]["supersedes"], Value::Null);
    for ask in [json!({ "id": old }), json!({ "thread": old })] {
        bob.refused("check_messages", ask).await;
    }
    let reply = json!({ "to": "ann", "content": "x", "reply_to": old });
    bob.refused("send_message", reply).await;
    let past = bob.call("check_messages", json!({ "cursor": "0" })).await;
    assert!(!past.to_string().contains("the old one"), "{past}");
    assert!(past.to_string().contains("the new one"), "{past}");
    // Its sender can.
    assert_eq!(
        ann.call("check_messages", json!({ "id": old })).await["messages"][0]["content"],
        "the old one"
    );
    // And so can who was shown it.
    let third = send("the third one", json!({ "supersedes": new }));
    ann.call("send_message", third).await;
    let unread = bob.call("check_messages", json!({})).await;
    assert_eq!(unread["messages"][0]["supersedes"].as_str(), Some(new.as_str()));
    bob.call("check_messages", json!({ "id": new })).await;
}
