//! The third and the fourth specification once more, played by programs that use the HTTP API.

use serde_json::json;

use super::kept_trace::{assert_kept, text_of, traced};
use crate::support::until;
use crate::web::api_client::{ApiClient, founded};
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
async fn programs_propose_ask_wait_and_disagree_and_the_user_decides() {
    let stage = founded().await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let scopes = ["--read", "--write"];
    let ann = ApiClient::new(&stage, &web, "ann", &scopes).await;
    let ben = ApiClient::new(&stage, &web, "ben", &scopes).await;
    let cay = ApiClient::new(&stage, &web, "cay", &scopes).await;
    // A program joins with its first request.
    for program in [&ann, &ben] {
        program.get("/inbox", 200).await;
    }
    cay.post("/lanes/reviewer/claim", &json!(null), 200).await;
    cay.post("/topics/storage/follow", &json!(null), 200).await;
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

    let question = json!({
        "recipient": { "name": "ben" }, "content": "Which reader is in your way?",
        "action": "request_clarification", "in_response_to": first, "wait_seconds": 60,
    });
    let answering = async {
        let asked = ben.post("/wait", &json!({ "from": "ann", "timeout_seconds": 60 }), 200).await;
        let answer = json!({
            "to": "ann", "content": "The one that needs a queue.",
            "signal": "provide_clarification", "reply_to": asked["message"]["message_id"],
        });
        ben.post("/messages", &answer, 201).await;
    };
    let (sent, ()) = tokio::join!(ann.post("/messages/send", &question, 201), answering);
    let answer = &sent["answer"]["message"];
    assert_eq!(answer["content"], "The one that needs a queue.", "{sent}");

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
    for program in [&ann, &ben, &cay] {
        acknowledge_all(program).await;
    }
    let conflict = &ann.get("/conflicts", 200).await["conflicts"][0];
    assert_eq!((&conflict["thread"], &conflict["by"]), (&json!(first), &json!("human")));
    let decided = &ann.get("/decisions", 200).await["decisions"][0];
    assert_eq!((&decided["thread_id"], &decided["by"]), (&json!(first), &json!("human")));
    assert_eq!((&decided["how"], &decided["words"]), (&json!("decided"), &json!("One log.")));
    let (exit, said) = stage.ended(&["messages", "--decided", "--project", project], None).await;
    assert_eq!(exit.code, Some(0), "{said}");
    assert!(
        said.contains("the user decided between ") && said.contains(": \"One log.\"\n"),
        "{said}"
    );
    assert!(said.contains(&format!("cli-team-bridge messages --thread {first}")), "{said}");
    let thread = ann.get(&format!("/messages/conversation/{first}"), 200).await;
    assert!(thread.to_string().contains("One log."), "{thread}");
    assert_kept("decided_over_http.txt", &[traced(&stage, &[&first]).await]);
    web.end().await;
}

#[tokio::test]
async fn a_signal_to_a_role_is_claimed_lapses_is_claimed_again_expires_and_is_read_in_pages() {
    let stage = founded().await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let scopes = ["--read", "--write"];
    let coordinator = ApiClient::new(&stage, &web, "coordinator", &scopes).await;
    let one = ApiClient::new(&stage, &web, "one", &scopes).await;
    let two = ApiClient::new(&stage, &web, "two", &scopes).await;
    for program in [&coordinator, &two] {
        program.get("/inbox", 200).await;
    }
    one.post("/lanes/reviewer/claim", &json!(null), 200).await;
    let task = json!({
        "signal_type": "task", "content": "Check the new parser.", "from_role": "coordinator",
        "to_role": "reviewer", "ttl_seconds": 3600,
    });
    let task = text_of(&coordinator.post("/emit", &task, 201).await, "signal_id");
    let named = json!({ "signal_id": task });
    let pending = one.get("/inbox/reviewer", 200).await;
    assert_eq!(pending["messages"][0]["request_id"], *task, "{pending}");
    assert_eq!(two.post("/claim", &named, 409).await["type"], "not-for-you");
    one.post("/claim", &named, 200).await;
    one.post("/leave", &json!(null), 204).await;
    until("its claim lapses", || !stage.events_of("request_reopened").is_empty()).await;
    two.post("/lanes/reviewer/claim", &json!(null), 200).await;
    two.post("/claim", &named, 200).await;
    two.post("/ack", &named, 200).await;

    // A silent owner loses its claim with its lease.
    let leased = json!({ "description": "Watch the queue.", "to": "two", "lease_seconds": 10 });
    let leased = text_of(&coordinator.post("/requests", &leased, 201).await, "request_id");
    let claim = format!("/requests/{leased}/claim");
    two.post(&claim, &json!(null), 200).await;
    until("its lease ends", || stage.events_of("request_reopened").len() == 2).await;
    two.post(&claim, &json!(null), 200).await;
    let done = json!({ "action": "complete", "content": "It is empty." });
    two.post(&format!("/requests/{leased}/update"), &done, 200).await;

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
        cursor = format!("&cursor={}", text_of(&page, "next_cursor"));
    }
    let claims: Vec<_> = texts.iter().filter(|text| text.starts_with("claimed by ")).collect();
    assert_eq!(
        claims,
        ["claimed by one", "claimed by two", "claimed by two", "claimed by two"],
        "{texts:?}"
    );
    for program in [&coordinator, &two] {
        acknowledge_all(program).await;
    }
    let traces = [
        traced(&stage, &[&task]).await,
        traced(&stage, &[&leased]).await,
        traced(&stage, &[&sense]).await,
    ];
    assert_kept("lapsed_over_http.txt", &traces);
    web.end().await;
}
