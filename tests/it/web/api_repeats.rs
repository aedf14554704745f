//! Requests that are repeated with their `Idempotency-Key`, as after a broken connection: each is done once.

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::api_client::ApiClient;
use super::http_client::WebServer;
use crate::support::{Stage, until};

/// The headers of a request with JSON that may be repeated.
fn headers(key: &str) -> String {
    format!("Content-Type: application/json\r\nIdempotency-Key: {key}\r\n")
}

/// Returns how many messages of members there are.
fn sent(stage: &Stage) -> usize {
    let sent = stage.events_of("message_sent").into_iter();
    sent.filter(|sent| sent["from"] != "bridge").count()
}

#[tokio::test]
async fn a_request_that_is_repeated_is_done_once() {
    let stage = Stage::new("");
    let lead = stage.orchestrator().await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let ci = ApiClient::new(&stage, &web, "ci", &["--write"]).await;
    let other = ApiClient::new(&stage, &web, "other", &["--write"]).await;
    let message = json!({ "to": "orchestrator", "content": "red" }).to_string();

    let first = ci.raw("/messages", &headers("build-1"), &message).await;
    assert_eq!(first.status, 201, "{first:?}");
    let again = ci.raw("/messages", &headers("build-1"), &message).await;
    assert_eq!((again.status, &again.body), (201, &first.body));
    assert!(again.head.contains("content-type: application/json"), "{again:?}");
    assert_eq!(sent(&stage), 1);
    // The key of one program says nothing about another one's.
    assert_eq!(other.raw("/messages", &headers("build-1"), &message).await.status, 201);
    assert_eq!(sent(&stage), 2);
    for (key, body, status, kind) in [
        ("build-1", json!({ "to": "orchestrator", "content": "green" }), 422, "reused-key"),
        ("", json!({ "to": "orchestrator", "content": "x" }), 400, "wrong-idempotency-key"),
        (
            &"x".repeat(256),
            json!({ "to": "orchestrator", "content": "x" }),
            400,
            "wrong-idempotency-key",
        ),
        ("build-2", json!({ "to": "nobody", "content": "x" }), 404, "no-such-member"),
    ] {
        let refused = ci.raw("/messages", &headers(key), &body.to_string()).await;
        let problem: Value = serde_json::from_str(&refused.body).unwrap();
        assert_eq!((refused.status, &problem["type"]), (status, &json!(kind)), "{problem}");
    }
    // What was refused is no answer to what is tried next.
    let other_words = message.replace("content\":\"", "content\":\"now ");
    assert_eq!(ci.raw("/messages", &headers("build-2"), &other_words).await.status, 201);
    assert_eq!(sent(&stage), 3);
    web.end().await;
    lead.close().await;
}

#[tokio::test]
async fn a_request_whose_connection_breaks_goes_on_and_its_repetition_gets_its_answer() {
    let stage = Stage::new("");
    let lead = stage.orchestrator().await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let ci = ApiClient::new(&stage, &web, "ci", &["--write"]).await;
    let body = json!({ "description": "paint the fence" }).to_string();
    let request = format!(
        "POST /api/v1/requests HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Length: {}\r\n{}{}\r\n{body}",
        web.port,
        body.len(),
        headers("paint-1"),
        ci.bearer,
    );
    // Some break at once, and may never have begun; others are waited for by nobody.
    let mut unread = Vec::new();
    for number in 0..10 {
        let mut stream = TcpStream::connect(("127.0.0.1", web.port)).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        if number % 2 == 1 {
            unread.push(stream);
        }
    }
    until("it is opened", || !stage.events_of("request_opened").is_empty()).await;
    let answer = ci.raw("/requests", &headers("paint-1"), &body).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let answer: Value = serde_json::from_str(&answer.body).unwrap();
    let opened = stage.events_of("request_opened");
    assert_eq!((opened.len(), &opened[0]["id"]), (1, &answer["request_id"]), "{opened:?}");
    web.end().await;
    lead.close().await;
}
