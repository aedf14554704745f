//! Programs that wait: for a message, and for the answer to one. A wait takes no thread, and ends with its program or its server.

use serde_json::{Value, json};

use crate::steer::done;
use crate::support::{Stage, until};
use crate::web::api_client::{ApiClient, founded};
use crate::web::http_client::WebServer;

async fn program<'a>(stage: &Stage, web: &'a WebServer, name: &str) -> ApiClient<'a> {
    let program = ApiClient::new(stage, web, name, &["--read", "--write"]).await;
    program.get("/inbox", 200).await;
    program
}

/// Returns how many waits have begun.
fn begun(stage: &Stage) -> usize {
    stage.events_of("wait_started").len()
}

#[tokio::test]
async fn a_message_waits_for_its_answer_which_is_unread_until_it_is_acknowledged() {
    let stage = founded().await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let ann = program(&stage, &web, "ann").await;
    let ben = program(&stage, &web, "ben").await;
    let question = json!({
        "to": "ben", "content": "which parser?", "signal": "question", "wait_seconds": 60,
    });
    let answering = async {
        until("ann waits", || begun(&stage) == 1).await;
        let asked = ben.post("/wait", &json!({ "from": "ann" }), 200).await;
        let id = asked["message"]["message_id"].clone();
        assert_eq!(asked["message"]["signal"], "question", "{asked}");
        let answer = json!({ "to": "ann", "content": "the new one", "reply_to": id });
        ben.post("/messages", &answer, 201).await;
    };
    let (sent, ()) = tokio::join!(ann.post("/messages", &question, 201), answering);
    let reply = &sent["answer"]["message"];
    assert_eq!(reply["content"], "the new one", "{sent}");
    assert_eq!(
        (&reply["reply_to"], &sent["answer"]["timed_out"]),
        (&sent["message_id"], &json!(false))
    );

    // Who has lost the answer finds it again, until it has acknowledged it.
    let again = ann.post("/wait", &json!({ "reply_to": sent["message_id"] }), 200).await;
    assert_eq!(again["message"]["message_id"], reply["message_id"], "{again}");
    let path = format!("/messages/{}/ack", reply["message_id"].as_str().unwrap());
    assert_eq!(ann.post(&path, &Value::Null, 200).await["status"], "acked");
    let none = ann.post("/wait", &json!({ "timeout_seconds": 0, "from": "ben" }), 200).await;
    assert_eq!(none, json!({ "message": null, "timed_out": true }));
    web.end().await;
}

#[tokio::test]
async fn a_wait_is_bounded_and_ends_with_its_program_and_with_the_server() {
    let stage = founded().await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let ann = program(&stage, &web, "ann").await;
    program(&stage, &web, "ben").await;
    for (path, body, status, kind) in [
        ("/wait", json!({ "timeout_seconds": 121 }), 422, "wrong-time"),
        ("/wait", json!({ "from": "nobody" }), 404, "no-such-member"),
        ("/wait", json!({ "request_id": "req-aaaaaaaaaaaa" }), 404, "no-such-request"),
        ("/wait", json!({ "reply_to": "msg-aaaaaaaaaaaa" }), 404, "no-such-message"),
        ("/wait", json!({ "to": "ann" }), 400, "wrong-body"),
        ("/messages", json!({ "to": "ben", "content": "x", "wait_seconds": 0 }), 422, "wrong-time"),
        ("/messages", json!({ "to": "all", "content": "x", "wait_seconds": 9 }), 422, "wrong-wait"),
    ] {
        let problem = ann.post(path, &body, status).await;
        assert_eq!(problem["type"], kind, "{path} {body}: {problem}");
    }
    let body = r#"{"timeout_seconds":120}"#;
    let request = format!(
        "POST /api/v1/wait HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Length: {}\r\n{}\r\n{body}",
        web.port,
        body.len(),
        ann.bearer,
    );
    let gone = web.open(&request).await;
    until("it waits", || begun(&stage) == 1).await;
    // Others are answered meanwhile.
    ann.get("/status", 200).await;
    drop(gone);
    until("its wait has ended", || stage.events_of("wait_ended").len() == 1).await;

    let _waiting = web.open(&request).await;
    until("it waits again", || begun(&stage) == 2).await;
    web.end().await;
}

#[tokio::test]
async fn a_wait_whose_key_is_revoked_says_that_there_is_no_such_key() {
    let stage = founded().await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let ann = program(&stage, &web, "ann").await;
    let revoking = async {
        until("ann waits", || begun(&stage) == 1).await;
        done(&stage, &["key", "revoke", &ann.key_id]).await;
    };
    let body = json!({ "timeout_seconds": 120 });
    let (refused, ()) = tokio::join!(ann.post("/wait", &body, 401), revoking);
    assert_eq!(refused["type"], "wrong-key", "{refused}");
    web.end().await;
}

#[tokio::test]
async fn two_programs_do_not_wait_for_each_other() {
    let stage = founded().await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let ann = program(&stage, &web, "ann").await;
    let ben = program(&stage, &web, "ben").await;
    let ask = |to: &str| json!({ "to": to, "content": "after you", "signal": "question", "wait_seconds": 60 });
    let other = async {
        until("ann waits", || begun(&stage) == 1).await;
        let sent = ben.post("/messages", &ask("ann"), 201).await;
        let answer = &sent["answer"];
        assert_eq!((&answer["message"], &answer["timed_out"]), (&Value::Null, &json!(false)));
        let note = answer["note"].as_str().unwrap();
        assert!(note.starts_with("sent, but not waited: ") && note.contains("circle"), "{note}");
        let asked = ben.post("/wait", &json!({ "from": "ann" }), 200).await;
        let id = asked["message"]["message_id"].clone();
        let answer = json!({ "to": "ann", "content": "then I", "reply_to": id });
        ben.post("/messages", &answer, 201).await;
        let closed = ben.post("/wait", &json!({ "reply_to": id }), 409).await;
        assert_eq!(closed["type"], "not-your-message", "{closed}");
    };
    let first = ask("ben");
    let (sent, ()) = tokio::join!(ann.post("/messages", &first, 201), other);
    assert_eq!(sent["answer"]["message"]["content"], "then I", "{sent}");
    web.end().await;
}
