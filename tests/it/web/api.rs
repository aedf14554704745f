//! The API: a key that reads, what it reads, and what is answered to others.

use serde_json::{Value, json};

use super::http_client::{Answer, WebServer};
use crate::steer::{done, json_of};
use crate::support::Stage;

const SCRIPT: &str = "[[agents.default.turns]]\nsteps = [{ say = \"done\" }]\n";

/// Returns the body of an answer as JSON, after a look at its status.
fn body(answer: &Answer, status: u16) -> Value {
    assert_eq!(answer.status, status, "{answer:?}");
    serde_json::from_str(&answer.body).unwrap_or_else(|_| panic!("{answer:?}"))
}

#[tokio::test]
async fn a_key_reads_the_team_until_it_is_revoked() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    lead.start_and_wait("ann", "look at the roof").await;
    let sent =
        lead.call("send_message", json!({ "to": "ann", "content": "<b>well done</b>" })).await;
    let key = json_of(&stage, &["key", "new", "dashboard"]).await;
    let bearer = format!("Authorization: Bearer {}\r\n", key["secret"].as_str().unwrap());
    let web = WebServer::start(&stage, &[]).await;

    let status = body(&web.get("/api/v1/status", &bearer).await, 200);
    assert_eq!(status["version"], 1);
    for part in ["members", "tasks", "requests", "permissions", "workflows"] {
        let answer = body(&web.get(&format!("/api/v1/{part}"), &bearer).await, 200);
        assert_eq!(answer[part], status[part], "{part}");
    }
    assert!(status["members"].as_array().unwrap().iter().any(|row| row["name"] == "ann"));
    let task = status["tasks"][0]["task_id"].as_str().unwrap();
    let task = body(&web.get(&format!("/api/v1/tasks/{task}"), &bearer).await, 200);
    assert_eq!(
        (&task["whole_prompt"], &task["output"]),
        (&json!("look at the roof"), &json!("done"))
    );
    let messages = body(&web.get("/api/v1/messages", &bearer).await, 200);
    let id = &sent["message_id"];
    let letters = messages["messages"].as_array().unwrap();
    let letter = letters.iter().find(|letter| letter["message_id"] == *id).unwrap();
    assert_eq!(
        (&letter["text"], &letter["from"]),
        (&json!("<b>well done</b>"), &json!("orchestrator"))
    );
    let after = format!("/api/v1/messages?after={}", letter["seq"]);
    assert_eq!(body(&web.get(&after, &bearer).await, 200)["messages"], json!([]));
    let thread = format!("/api/v1/threads/{}", letter["thread_id"].as_str().unwrap());
    assert_eq!(body(&web.get(&thread, &bearer).await, 200)["messages"][0], *letter);
    let usage = body(&web.get("/api/v1/usage?by=profile", &bearer).await, 200);
    assert_eq!(usage["usage"][0]["name"], "scripted", "{usage}");
    let found = body(&web.get("/api/v1/search?q=roof", &bearer).await, 200);
    assert!(!found["hits"].as_array().unwrap().is_empty(), "{found}");

    done(&stage, &["key", "revoke", key["key_id"].as_str().unwrap()]).await;
    let refused = web.get("/api/v1/status", &bearer).await;
    assert_eq!(body(&refused, 401)["type"], "wrong-key");
    web.end().await;
    lead.close().await;
}

#[tokio::test]
async fn whoever_has_no_key_learns_what_to_do_and_nothing_else() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let key = json_of(&stage, &["key", "new", "dashboard"]).await;
    let bearer = format!("Authorization: Bearer {}\r\n", key["secret"].as_str().unwrap());
    let web = WebServer::start(&stage, &[]).await;
    for path in ["/api/v1/status", "/api/v1/nothing", "/api/v2/status", "/api/", "/api/v1//status"]
    {
        let refused = web.get(path, "").await;
        assert!(refused.head.contains("www-authenticate: bearer"), "{refused:?}");
        assert!(refused.head.contains("content-type: application/problem+json"), "{refused:?}");
        let problem = body(&refused, 401);
        assert_eq!(problem["type"], "no-key");
        assert!(problem["hint"].as_str().unwrap().contains("cli-team-bridge key new NAME"));
    }
    for (path, kind, status) in [
        ("/api/v1/nothing", "no-such-path", 404),
        ("/api/v1/tasks/task-aaaaaaaaaaaa", "no-such-task", 404),
        ("/api/v1/threads/nothing", "no-such-thread", 404),
        ("/api/v1/messages?after=x", "wrong-query", 400),
        ("/api/v1/messages?after=1&before=2", "wrong-query", 400),
        ("/api/v1/usage?by=moon", "wrong-query", 400),
        ("/api/v1/search?q=", "wrong-query", 400),
    ] {
        assert_eq!(body(&web.get(path, &bearer).await, status)["type"], kind, "{path}");
    }
    let port = web.port;
    let written = format!(
        "POST /api/v1/status HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nContent-Length: 0\r\n{bearer}\r\n"
    );
    assert_eq!(body(&web.send(&written).await, 405)["type"], "wrong-method");
    // A page of another origin, and a name that leads here, are refused before any key is looked at.
    let other = format!("{bearer}Origin: http://evil.example\r\n");
    assert_eq!(web.get("/api/v1/status", &other).await.status, 403);
    let rebound = format!(
        "GET /api/v1/status HTTP/1.1\r\nHost: evil.example:{port}\r\nConnection: close\r\n{bearer}\r\n"
    );
    assert_eq!(web.send(&rebound).await.status, 403);

    for _ in 0..100 {
        let wrong = format!("Authorization: Bearer ctb_{}\r\n", "0".repeat(64));
        let status = web.get("/api/v1/status", &wrong).await.status;
        assert!(matches!(status, 401 | 429), "{status}");
    }
    let wrong = web.get("/api/v1/status", "Authorization: Bearer x\r\n").await;
    assert_eq!(body(&wrong, 429)["type"], "locked-out");
    assert_eq!(web.get("/api/v1/status", &bearer).await.status, 200, "a valid key goes on working");
    assert_eq!(web.get(&web.sign_in, "").await.status, 303, "its user is not locked out");
    web.end().await;
    lead.close().await;
}

/// What its sender took back before anybody read it, or what waited for nobody, has words that no key reads, as no member does.
#[tokio::test]
async fn a_key_reads_no_words_that_were_taken_back_before_anybody_read_them() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let ann = stage.peer("ann").await;
    ann.close().await;
    let key = json_of(&stage, &["key", "new", "dashboard"]).await;
    let bearer = format!("Authorization: Bearer {}\r\n", key["secret"].as_str().unwrap());
    let web = WebServer::start(&stage, &[]).await;
    let sent = async |to: &str, content: &str, more: Value| {
        let message = json!({ "to": to, "content": content, "more": more });
        lead.call("send_message", message).await["message_id"].as_str().unwrap().to_owned()
    };
    let about = json!({ "ref": "vault", "attachments": [{ "name": "vault.txt", "content": "x" }] });
    let first = sent("ann", "the code is marigold", about).await;
    let to_nobody = sent("#news", "marigold for all", json!({ "queue": true })).await;
    let found = body(&web.get("/api/v1/search?q=marigold", &bearer).await, 200);
    assert_eq!(found["hits"].as_array().unwrap().len(), 2, "{found}");
    let next = sent("ann", "forget it", json!({ "supersedes": first })).await;
    sent("#news", "nothing new", json!({ "queue": true, "supersedes": to_nobody })).await;

    let found = body(&web.get("/api/v1/search?q=marigold", &bearer).await, 200);
    assert_eq!(found["hits"], json!([]), "{found}");
    let messages = body(&web.get("/api/v1/messages", &bearer).await, 200);
    let older = body(&web.get("/api/v1/messages?before=100000", &bearer).await, 200);
    let thread = body(&web.get(&format!("/api/v1/threads/{first}"), &bearer).await, 200);
    for (answer, ids) in
        [(&messages, [&first, &to_nobody]), (&older, [&first, &to_nobody]), (&thread, [&first; 2])]
    {
        assert!(!answer.to_string().contains("marigold"), "{answer}");
        assert!(!answer.to_string().contains("vault"), "{answer}");
        for id in ids {
            let letters = answer["messages"].as_array().unwrap();
            let letter = letters.iter().find(|letter| letter["message_id"] == **id).unwrap();
            assert_eq!(letter["taken_back"], true, "{letter}");
        }
    }
    let text = |id: &str| {
        let letters = messages["messages"].as_array().unwrap();
        letters.iter().find(|letter| letter["message_id"] == id).unwrap()["text"].clone()
    };
    assert_eq!(text(&next), "forget it");
    // Its user reads all of the log.
    let told = done(&stage, &["messages", "--thread", &first]).await;
    assert!(told.contains("the code is marigold"), "{told}");
    web.end().await;
    lead.close().await;
}
