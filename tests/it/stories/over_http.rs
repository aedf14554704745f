//! The third and the fourth specification once more, played by programs that use the HTTP API.

use serde_json::json;

use super::kept_trace::{assert_kept, peer, read_all, text_of, traced};
use crate::support::{Stage, until};
use crate::web::api_client::ApiClient;
use crate::web::http_client::WebServer;

/// Lets a program acknowledge all that it has.
async fn acknowledge_all(program: &ApiClient<'_>) {
    let inbox = program.get("/inbox?limit=100", 200).await;
    for message in inbox["messages"].as_array().unwrap() {
        let path = format!("/messages/{}/ack", message["message_id"].as_str().unwrap());
        program.post(&path, &json!(null), 200).await;
    }
}

#[tokio::test]
async fn programs_propose_to_a_role_and_a_topic_and_the_user_decides_what_they_disagree_about() {
    let stage = Stage::new("");
    let cay = peer(&stage, &["--name", "cay", "--role", "reviewer", "--topic", "storage"]).await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let scopes = ["--read", "--write"];
    let ann = ApiClient::new(&stage, &web, "ann", &scopes).await;
    let ben = ApiClient::new(&stage, &web, "ben", &scopes).await;
    // A program joins with its first request.
    for program in [&ann, &ben] {
        program.get("/inbox", 200).await;
    }
    let proposed = json!({
        "recipient": { "name": "ben" }, "content": "One log for everything.",
        "action": "propose_approach",
    });
    let first = text_of(&ann.post("/messages/send", &proposed, 201).await, "message_id");
    let review = json!({
        "recipient_role": "reviewer", "content": "What do you think?", "action": "request_review",
        "in_response_to": first, "metadata": { "response_timeout_seconds": 600 },
    });
    ann.post("/messages/send", &review, 201).await;
    let finding = json!({
        "to": "#storage", "content": "A log is ten times as fast.", "signal": "share_finding",
        "reply_to": first,
    });
    ann.post("/messages", &finding, 201).await;
    acknowledge_all(&ben).await;

    let mut last = first.clone();
    for (from, to, content) in [
        (&ben, "ann", "A queue for each."),
        (&ann, "ben", "Who keeps them in step?"),
        (&ben, "ann", "The leader does."),
        (&ann, "ben", "It may be gone."),
        (&ben, "ann", "Then the next one."),
        (&ann, "ben", "One log needs none."),
    ] {
        let position = json!({
            "to": to, "content": content, "signal": "disagree_with", "reply_to": last,
        });
        last = text_of(&from.post("/messages", &position, 201).await, "message_id");
    }
    let project = stage.project().to_str().unwrap();
    let decision = ["send", "ben", "One log.", "--reply-to", &last, "--project", project];
    let (exit, said) = stage.ended(&decision, None).await;
    assert_eq!(exit.code, Some(0), "{said}");
    for program in [&ann, &ben] {
        acknowledge_all(program).await;
    }
    read_all(&stage, &[&cay]).await;
    let thread = ann.get(&format!("/messages/conversation/{first}"), 200).await;
    assert!(thread.to_string().contains("One log."), "{thread}");
    assert_kept("decided_over_http.txt", &[traced(&stage, &[&first]).await]);
    web.end().await;
    cay.close().await;
}

#[tokio::test]
async fn a_signal_of_a_program_is_claimed_lapses_with_its_owner_and_is_claimed_again() {
    let stage = Stage::new("");
    let watcher = stage.peer("watcher").await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let scopes = ["--read", "--write"];
    let coordinator = ApiClient::new(&stage, &web, "coordinator", &scopes).await;
    let one = ApiClient::new(&stage, &web, "one", &scopes).await;
    let two = ApiClient::new(&stage, &web, "two", &scopes).await;
    for program in [&coordinator, &one, &two] {
        program.get("/inbox", 200).await;
    }
    let task = json!({
        "signal_type": "task", "content": "Check the new parser.", "from_role": "coordinator",
        "urgency": 0.8, "ttl_seconds": 3600,
    });
    let task = text_of(&coordinator.post("/emit", &task, 201).await, "signal_id");
    let named = json!({ "signal_id": task });
    one.post("/claim", &named, 200).await;
    two.post("/claim", &named, 409).await;
    one.post("/leave", &json!(null), 204).await;
    until("its claim lapses", || !stage.events_of("request_reopened").is_empty()).await;
    two.post("/claim", &named, 200).await;
    two.post("/ack", &named, 200).await;

    let sense = json!({
        "signal_type": "sense", "content": "The build is green.",
        "from_role": "coordinator", "to_role": "two", "ttl_seconds": 1,
    });
    let sense = text_of(&coordinator.post("/emit", &sense, 201).await, "signal_id");
    until("nobody saw it", || !stage.events_of("message_expired").is_empty()).await;

    // The inbox in pages: each cursor goes on where the page before it ends.
    let mut texts = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = coordinator.get(&format!("/inbox/coordinator?limit=1{cursor}"), 200).await;
        let messages = page["messages"].as_array().unwrap();
        texts.extend(messages.iter().map(|message| text_of(message, "content")));
        if page["has_more"] != true {
            break;
        }
        cursor = format!("&cursor={}", page["next_cursor"]);
    }
    let claims: Vec<_> = texts.iter().filter(|text| text.starts_with("claimed by ")).collect();
    assert_eq!(claims, ["claimed by one", "claimed by two"], "{texts:?}");
    for program in [&coordinator, &two] {
        acknowledge_all(program).await;
    }
    read_all(&stage, &[&watcher]).await;
    let traces = [traced(&stage, &[&task]).await, traced(&stage, &[&sense]).await];
    assert_kept("lapsed_over_http.txt", &traces);
    web.end().await;
    watcher.close().await;
}
