//! What hostile programs send to the API: each gets a problem that says what is wrong, and nothing of it reaches the team.

use serde_json::{Value, json};

use super::api_client::ApiClient;
use super::http_client::WebServer;
use crate::support::Stage;

const JSON: &str = "Content-Type: application/json\r\n";

#[tokio::test]
async fn bodies_that_are_no_json_of_the_right_form_change_nothing() {
    let stage = Stage::new("");
    let lead = stage.orchestrator().await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let ci = ApiClient::new(&stage, &web, "ci", &["--write"]).await;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for (headers, body, status, kind) in [
        (JSON, String::new(), 400, "wrong-body"),
        (JSON, "null".to_owned(), 400, "wrong-body"),
        (JSON, "{".to_owned(), 400, "wrong-body"),
        (JSON, "{\"to\":\"orchestrator\",\"content\":\"x\"} {}".to_owned(), 400, "wrong-body"),
        (
            JSON,
            "{\"to\":\"orchestrator\",\"to\":\"ci\",\"content\":\"x\"}".to_owned(),
            400,
            "wrong-body",
        ),
        (JSON, "{\"to\":\"orchestrator\",\"content\":\"\\ud83d\"}".to_owned(), 400, "wrong-body"),
        (JSON, "{\"to\":\"orchestrator\",\"content\":1e999}".to_owned(), 400, "wrong-body"),
        (JSON, "{\"to\":\"orchestrator\",\"content\":[\"x\"]}".to_owned(), 400, "wrong-body"),
        (JSON, deep, 400, "wrong-body"),
        (JSON, format!("{{\"{}\":1}}", "x".repeat(100_000)), 400, "wrong-body"),
        ("", "{\"to\":\"orchestrator\",\"content\":\"x\"}".to_owned(), 415, "not-json"),
        (
            "Content-Type: text/plain\r\n",
            "{\"to\":\"orchestrator\",\"content\":\"x\"}".to_owned(),
            415,
            "not-json",
        ),
        (
            "Content-Type: application/x-www-form-urlencoded\r\n",
            "to=orchestrator&content=x".to_owned(),
            415,
            "not-json",
        ),
    ] {
        let answer = ci.raw("/messages", headers, &body).await;
        let shown: String = body.chars().take(60).collect();
        assert_eq!(answer.status, status, "{shown}: {answer:?}");
        let problem: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(problem["type"], kind, "{shown}: {problem}");
        assert!(answer.body.len() < 2_000, "an error quotes little: {}", answer.body.len());
        assert!(!answer.head.contains("access-control-"), "{answer:?}");
    }
    // By position, a list would be an object.
    for (path, list, words) in [
        ("/messages", json!(["orchestrator", "x"]), "expected an object"),
        ("/requests", json!(["do it", null, null, null, null, null, null]), "invalid type: list"),
        ("/broadcast", json!(["hello all"]), "expected an object"),
        ("/wait", json!([null, null, null, 0]), "expected an object"),
        ("/leave", json!([]), "expected an object"),
        (
            "/messages",
            json!({ "to": "orchestrator", "content": "x", "attachments": [["a", null, null, "b"]] }),
            "expected an object",
        ),
        (
            "/messages/send",
            json!({ "recipient": ["orchestrator", null, null], "content": "x" }),
            "expected an object",
        ),
        ("/wait", json!({ "timeout_seconds": "x" }), "expected a whole number of 0 or more"),
        ("/messages", json!({ "urgency": "x" }), "expected a number"),
    ] {
        let refused = ci.post(path, &list, 400).await;
        assert_eq!(refused["type"], "wrong-body", "{path}: {refused}");
        assert!(refused["detail"].as_str().unwrap().contains(words), "{path}: {refused}");
    }
    let refused = ci.get("/inbox?limit=x", 400).await;
    assert_eq!(refused["detail"], "`limit` is 1 to 500");
    let mut half = b"{\"to\":\"orchestrator\",\"content\":\"".to_vec();
    half.extend([0xf0, 0x9f, 0x92]);
    half.extend(b"\"}");
    assert_eq!(ci.raw_bytes("/messages", JSON, &half).await.status, 400);
    for path in
        ["/messages/..%2f..%2f/ack", "/messages/%00/ack", "/requests/%ff/claim", "//messages"]
    {
        let (status, _) = ci.post_any(path, &json!({})).await;
        assert!(matches!(status, 400 | 404), "{path}: {status}");
    }
    assert_eq!(stage.events_of("message_sent").len(), 0);
    // A browser that is signed in, as a page of another origin would have it, writes nothing either.
    let signed_in = web.get(&web.sign_in, "").await.cookie.unwrap();
    let cookie = format!("Cookie: {}\r\n{JSON}", signed_in.split(';').next().unwrap());
    let refused = ci
        .without_key()
        .raw("/messages", &cookie, "{\"to\":\"orchestrator\",\"content\":\"x\"}")
        .await;
    assert_eq!(refused.status, 401, "{refused:?}");
    assert_eq!(stage.events_of("message_sent").len(), 0);
    web.end().await;
    lead.close().await;
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let stage = Stage::new("");
    let lead = stage.orchestrator().await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let ci = ApiClient::new(&stage, &web, "ci", &["--write"]).await;
    let request = format!(
        "POST /api/v1/messages HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\
         {JSON}Content-Length: 100\r\n{}\r\n{{\"to\"",
        web.port, ci.bearer
    );
    let answer = web.send(&request).await;
    let problem: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!((answer.status, &problem["type"]), (408, &json!("too-slow")), "{answer:?}");
    web.end().await;
    lead.close().await;
}

#[tokio::test]
async fn what_the_gate_refuses_is_a_problem_for_programs_too() {
    let stage = Stage::new("");
    let web = WebServer::start(&stage, &[]).await;
    let port = web.port;
    let asked = |host: &str, headers: &str, end: &str| {
        format!("GET /api/v1/status HTTP/1.1\r\nHost: {host}\r\n{headers}Connection: {end}\r\n\r\n")
    };
    let own = format!("127.0.0.1:{port}");
    for (host, headers, kind) in [
        ("evil.example", "", "wrong-host"),
        (own.as_str(), "Origin: http://evil.example\r\n", "wrong-origin"),
        (own.as_str(), "Sec-Fetch-Site: cross-site\r\n", "wrong-origin"),
    ] {
        let answer = web.send(&asked(host, headers, "close")).await;
        assert!(answer.head.contains("content-type: application/problem+json"), "{answer:?}");
        let problem: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!((answer.status, &problem["type"]), (403, &json!(kind)), "{problem}");
    }
    // More at once than a burst may have, on one connection.
    let flood = [asked(&own, "", "keep-alive").repeat(3_000), asked(&own, "", "close")].concat();
    let answers = web.flood(&flood).await;
    let (_, refused) = answers.split_once("HTTP/1.1 429 ").expect("the flood is slowed down");
    let (head, body) = refused.split_once("\r\n\r\n").unwrap();
    let head = head.to_lowercase();
    assert!(head.contains("content-type: application/problem+json"), "{head}");
    assert!(head.contains("retry-after: 1"), "{head}");
    assert!(body.starts_with(r#"{"type":"too-many""#), "{}", &body[..200]);
    web.end().await;
}
