//! What programs and their user are told when the bus goes away, and a new one takes its place.

use serde_json::json;

use super::api_client::ApiClient;
use super::http_client::WebServer;
use crate::support::Stage;

const SCRIPT: &str = "[[agents.default.turns]]\nsteps = [{ say = \"done\" }]\n";

#[tokio::test]
async fn a_bus_that_is_gone_makes_no_key_wrong_and_locks_nobody_out() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    lead.start_and_wait("ann", "look at the roof").await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let old = ApiClient::new(&stage, &web, "old", &["--read", "--write"]).await;
    old.post("/messages", &json!({ "to": "ann", "content": "hello" }), 201).await;
    lead.close().await;

    std::fs::rename(stage.bus(), stage.project().join("away")).unwrap();
    for _ in 0..20 {
        let gone = old.get("/status", 404).await;
        assert_eq!(gone["type"], "no-team", "{gone}");
    }
    assert_eq!(web.get(&web.sign_in, "").await.status, 303, "their user is not locked out");

    let lead = stage.orchestrator().await;
    lead.start_and_wait("ben", "look at the cellar").await;
    let new = ApiClient::new(&stage, &web, "new", &["--read", "--write"]).await;
    let board = new.get("/status", 200).await;
    assert!(board["members"].to_string().contains("\"ben\""), "{board}");
    new.post("/messages", &json!({ "to": "ben", "content": "hello" }), 201).await;
    let refused = old.get("/status", 401).await;
    assert_eq!(refused["type"], "wrong-key", "it was a key of the other bus");
    web.end().await;
    lead.close().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_program_whose_leaving_cannot_be_written_is_told_so_and_stays() {
    let stage = Stage::new(SCRIPT);
    let bob = stage.peer("bob").await;
    // In blocks of 512 or 1,024 bytes, depending on the shell.
    let limited = ["sh", "-c", "ulimit -f 300; exec \"$0\" \"$@\""];
    let web = WebServer::start_by(&stage, &limited, &["--write"]).await;
    let ci = ApiClient::new(&stage, &web, "ci", &["--read", "--write"]).await;
    ci.post("/messages", &json!({ "to": "bob", "content": "hello" }), 201).await;
    for number in 0..10 {
        bob.send("ci", &format!("{number}{:y>50000}", "")).await;
    }
    for _ in 0..2 {
        let refused = ci.post("/leave", &json!({}), 503).await;
        assert_eq!(refused["type"], "unusable-bus", "{refused}");
        let why = refused["detail"].as_str().unwrap().to_lowercase();
        assert!(why.contains("too large"), "{refused}");
    }
    assert!(bob.names().await.contains(&"ci".to_owned()), "it is as it was");
    assert!(stage.events_of("member_left").is_empty());
    web.kill().await;
    bob.close().await;
}
