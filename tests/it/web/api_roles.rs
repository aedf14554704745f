//! A program reads and speaks under the role that its key has, and is found by its session.

use serde_json::{Value, json};

use super::api_client::ApiClient;
use super::http_client::WebServer;
use crate::support::Stage;

#[tokio::test]
async fn a_program_reads_what_came_to_its_role_and_signs_with_it_and_its_session_is_its_agent_id() {
    let stage = Stage::new("");
    let lead = stage.orchestrator().await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let rev = ApiClient::new(&stage, &web, "rev", &["--write", "--role", "checker"]).await;
    rev.get("/inbox/rev", 200).await;
    lead.call("send_message", json!({ "to": "@checker", "content": "for the role" })).await;
    lead.call("send_message", json!({ "to": "rev", "content": "for you" })).await;
    let texts = |inbox: &Value| -> Vec<String> {
        let all = inbox["messages"].as_array().unwrap().iter();
        all.map(|one| one["content"].as_str().unwrap_or_default().to_owned()).collect()
    };
    for path in ["/inbox/checker", "/inbox/@checker", "/inbox/Checkers"] {
        let inbox = rev.get(path, 200).await;
        assert_eq!(texts(&inbox), ["for the role"], "{path}: {inbox}");
    }
    let inbox = rev.get("/inbox/rev", 200).await;
    assert_eq!(texts(&inbox), ["for the role", "for you"], "{inbox}");
    assert_eq!(rev.get("/inbox/roofer", 403).await["type"], "not-you");

    let signal = |from: &str| json!({ "signal_type": "sense", "content": "x", "from_role": from, "to_role": "orchestrator" });
    rev.post("/emit", &signal("checker"), 201).await;
    assert_eq!(rev.post("/emit", &signal("roofer"), 403).await["type"], "not-you");
    let heard = lead.all_heard().await;
    assert!(heard.iter().any(|one| one["signal"] == "sense" && one["from"] == "rev"), "{heard:?}");

    // The lead was the first session here, and the program the second.
    let inbox = rev.get("/messages/agent/s2/inbox", 200).await;
    assert_eq!(texts(&inbox).len(), 2, "{inbox}");
    assert_eq!(rev.get("/messages/agent/s1/inbox", 403).await["type"], "not-you");
    web.end().await;
    lead.close().await;
}
