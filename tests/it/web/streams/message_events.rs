//! The stream under the names of the other specification; and that no stream tells later what nobody was ever shown.

use serde_json::{Value, json};

use super::event_reader::{Event, EventReader};
use crate::support::schema_check::misfit;
use crate::web::api_client::{ApiClient, founded};
use crate::web::http_client::WebServer;

/// Returns the kinds of the events that are about a message, or its conversation.
fn kinds_about(events: &[Event], id: &Value) -> Vec<String> {
    let is_about =
        |event: &&Event| event.data["message_id"] == *id || event.data["conversation_id"] == *id;
    events.iter().filter(is_about).map(|event| event.kind.clone()).collect()
}

#[tokio::test]
async fn messages_conversations_and_disagreements_are_told_under_the_other_names() {
    let stage = founded().await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let scopes = ["--read", "--write"];
    let ann = ApiClient::new(&stage, &web, "ann", &scopes).await;
    let ben = ApiClient::new(&stage, &web, "ben", &scopes).await;
    for program in [&ann, &ben] {
        program.get("/inbox", 200).await;
    }
    let mut stream = EventReader::connect(&web, "/messages/events", &ann.bearer).await;
    let hello = stream.next().await.unwrap();
    assert_eq!(hello.kind, "hello");
    let message = json!({
        "recipient": { "name": "ben" }, "content": "One log for everything.",
        "action": "propose_approach", "metadata": { "priority": "high" },
    });
    let first = ann.post("/messages/send", &message, 201).await["message_id"].clone();
    let path = format!("/messages/{}/ack", first.as_str().unwrap());
    ben.post(&path, &json!({}), 200).await;
    let answer = json!({ "to": "ann", "content": "A queue for each.", "reply_to": first });
    let answer = ben.post("/messages", &answer, 201).await["message_id"].clone();
    let resolved = json!({ "status": "resolved", "note": "one log it is" });
    assert_eq!(ben.post(&path, &resolved, 200).await["status"], "resolved");
    let told = stream.up_to_kind("conversation_resolved", |_| true).await;
    assert_eq!(
        kinds_about(&told, &first),
        [
            "conversation_started",
            "message_sent",
            "message_received",
            "message_read",
            "message_acknowledged",
            "message_sent",
            "message_responded",
            "message_acknowledged",
            "conversation_resolved",
        ],
        "{told:?}"
    );
    let sent = told.iter().find(|event| event.kind == "message_sent").unwrap();
    assert_eq!(
        (&sent.data["from"]["name"], &sent.data["to"]["name"], &sent.data["action"]),
        (&json!("ann"), &json!("ben"), &json!("propose_approach"))
    );
    assert_eq!(sent.data["preview"], "One log for everything.");
    assert_eq!(told.last().unwrap().data["summary"], "one log it is");
    let responded = told.iter().find(|event| event.kind == "message_responded").unwrap();
    assert_eq!(responded.data["response_id"], answer);

    // Several things that one event of the log says have one id, with the last of them.
    let started = told.iter().find(|event| event.kind == "conversation_started").unwrap();
    assert_eq!((started.id, sent.id), (None, started.data["seq"].as_u64()));
    let document = ann.get("/openapi.json", 200).await;
    let content = &document["paths"]["/messages/events"]["get"]["responses"]["200"]["content"];
    let schema = &content["text/event-stream"]["x-data"];
    for event in &told {
        assert_eq!(misfit(&event.data, schema, &document), None, "{event:?}");
    }

    // Whoever connects again goes on after the last id.
    let headers = format!("{}Last-Event-ID: {}\r\n", ann.bearer, sent.id.unwrap());
    let mut resumed = EventReader::connect(&web, "/messages/events", &headers).await;
    assert_eq!(resumed.next().await.unwrap().id, sent.id);
    let rest = resumed.up_to_kind("conversation_resolved", |_| true).await;
    let after = told.iter().position(|event| event == sent).unwrap() + 1;
    assert_eq!(rest, told[after..]);

    let position = json!({
        "to": "ben", "content": "One log.", "signal": "disagree_with", "reply_to": answer,
    });
    ann.post("/messages", &position, 201).await;
    let told = stream.up_to_kind("conflict_detected", |_| true).await;
    let detected = &told.last().unwrap().data;
    assert_eq!(detected["conversation_id"], first, "{detected}");
    assert_eq!(detected["participants"].as_array().unwrap().len(), 2, "{detected}");
    let position = json!({
        "to": "ann", "content": "One log.", "signal": "agree_with",
        "reply_to": told.iter().rfind(|event| event.kind == "message_sent").unwrap().data["message_id"],
    });
    ben.post("/messages", &position, 201).await;
    let told = stream.up_to_kind("conflict_resolved", |_| true).await;
    let settled = &told.last().unwrap().data;
    assert_eq!((&settled["status"], &settled["from"]["name"]), (&json!("agreed"), &json!("ben")));
    web.end().await;
}

#[tokio::test]
async fn no_stream_tells_later_what_was_taken_back_before_anybody_was_shown_it() {
    let stage = founded().await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let scopes = ["--read", "--write"];
    let ann = ApiClient::new(&stage, &web, "ann", &scopes).await;
    let ben = ApiClient::new(&stage, &web, "ben", &scopes).await;
    for program in [&ann, &ben] {
        program.get("/inbox", 200).await;
    }
    let first = json!({ "to": "ben", "content": "the old secret", "ref": "vault" });
    let first = ann.post("/messages", &first, 201).await["message_id"].clone();
    let second = json!({ "to": "ben", "content": "the new words", "supersedes": first });
    let second = ann.post("/messages", &second, 201).await["message_id"].clone();
    let mut events = EventReader::connect(&web, "/events?after=0", &ann.bearer).await;
    let told = events.up_to("the new words").await;
    let of_first = |event: &&Event| event.data["ids"][0] == first && event.kind == "message";
    let words = &told.iter().find(of_first).unwrap().data["words"];
    assert_eq!(words, "ann → ben: (taken back, or expired unread)");
    let mut events = EventReader::connect(&web, "/messages/events?after=0", &ann.bearer).await;
    let is_second = |data: &Value| data["message_id"] == second;
    let told = events.up_to_kind("message_sent", is_second).await;
    assert!(!format!("{told:?}").contains("secret"), "{told:?}");
    assert!(told.iter().any(|event| event.data["message_id"] == first), "{told:?}");
    web.end().await;
}
