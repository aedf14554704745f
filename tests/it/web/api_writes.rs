//! What programs do through the API: each is a member of the team under the name of its key, and stays one no longer than it lives.

use serde_json::{Value, json};

use super::api_client::ApiClient;
use super::http_client::WebServer;
use crate::steer::{done, json_of};
use crate::support::{Stage, until};

const SCRIPT: &str = r#"
[[agents.default.turns]]
when = "Your task: ask"
steps = [
  { ask_permission = "make all", kind = "execute", on_reject = "go_on", save = "answer" },
  { say = "{{answer.option}}" },
]
[[agents.default.turns]]
steps = [{ say = "done" }]
"#;

/// Returns a member as the board shows it; null if it is not there.
fn member(board: &Value, name: &str) -> Value {
    let rows = board["members"].as_array().unwrap();
    rows.iter().find(|row| row["name"] == name).cloned().unwrap_or_default()
}

#[tokio::test]
async fn a_program_writes_as_the_member_of_its_key_and_reads_its_inbox_by_cursor() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    lead.start_and_wait("ann", "look at the roof").await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let ci = ApiClient::new(&stage, &web, "ci", &["--read", "--write"]).await;

    let sent =
        ci.post("/messages", &json!({ "to": "ann", "content": "<b>hi</b>\n\"you\"" }), 201).await;
    assert_eq!((&sent["to"], &sent["live"]), (&json!("ann"), &json!(true)), "{sent}");
    let board = ci.get("/status", 200).await;
    let me = member(&board, "ci");
    assert_eq!((&me["kind"], &me["state"]), (&json!("peer"), &json!("idle")), "{me}");
    let joined = stage.events_of("member_joined").pop().unwrap();
    assert_eq!(joined["name"], "ci", "{joined}");
    assert!(
        joined.get("client").is_none(),
        "no hook of the server's client takes its mail: {joined}"
    );
    let messages = ci.get("/messages", 200).await;
    let letters = messages["messages"].as_array().unwrap();
    let letter = letters.iter().find(|letter| letter["message_id"] == sent["message_id"]).unwrap();
    assert_eq!((&letter["from"], &letter["to"]), (&json!("ci"), &json!("ann")));

    for number in 0..3 {
        let content = format!("number {number}");
        lead.call("send_message", json!({ "to": "ci", "content": content })).await;
    }
    let first = ci.get("/inbox?limit=2", 200).await;
    assert_eq!(first["messages"][0]["content"], "number 0", "{first}");
    assert_eq!(first["messages"][1]["content"], "number 1");
    assert_eq!(first["has_more"], true);
    assert_eq!(ci.get("/inbox?limit=2", 200).await, first, "looking reads nothing away");
    let next = format!("/inbox?cursor={}", first["next_cursor"]);
    let second = ci.get(&next, 200).await;
    assert_eq!(second["messages"][0]["content"], "number 2", "{second}");
    assert_eq!(second["has_more"], false);
    let last = ci.get(&format!("/inbox?cursor={}", second["next_cursor"]), 200).await;
    assert_eq!((&last["messages"], &last["next_cursor"]), (&json!([]), &second["next_cursor"]));

    let read = first["messages"][0]["message_id"].as_str().unwrap();
    for _ in 0..2 {
        let acknowledged = ci.post(&format!("/messages/{read}/ack"), &Value::Null, 200).await;
        assert_eq!(acknowledged["status"], "acked", "{acknowledged}");
    }
    assert!(!stage.events_of("message_seen").is_empty());
    let said = stage.events_of("message_acknowledged");
    let ids: Vec<_> = said.iter().map(|said| &said["ids"]).collect();
    assert_eq!(ids, [&json!([read])], "once: the same again writes nothing");
    let receipts = lead.call("check_messages", json!({ "id": read })).await;
    let receipt = &receipts["receipts"][0];
    assert_eq!(
        (&receipt["state"], &receipt["way"]),
        (&json!("acked"), &json!("pull")),
        "{receipt}"
    );
    let rest = ci.get("/inbox", 200).await;
    assert_eq!(rest["messages"].as_array().unwrap().len(), 2, "{rest}");
    let answer =
        json!({ "to": "orchestrator", "content": "ok", "reply_to": read, "priority": "urgent" });
    ci.post("/messages", &answer, 201).await;
    let heard = lead.call("check_messages", json!({})).await;
    let heard = &heard["messages"][0];
    assert_eq!((&heard["content"], &heard["reply_to"]), (&json!("ok"), &json!(read)), "{heard}");
    assert_eq!(heard["priority"], "urgent");

    let all = ci.post("/broadcast", &json!({ "content": "soon over" }), 201).await;
    assert_eq!(all["delivered_to"], json!(["ann", "orchestrator"]), "{all}");
    web.end().await;
    let left = stage.events_of("member_left");
    assert_eq!(left.len(), 1, "the member ends with the server: {left:?}");
    lead.close().await;
}

#[tokio::test]
async fn of_two_programs_one_gets_the_request_and_its_answer_ends_the_claim() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let asker = ApiClient::new(&stage, &web, "asker", &["--read", "--write"]).await;
    let one = ApiClient::new(&stage, &web, "one", &["--write"]).await;
    let two = ApiClient::new(&stage, &web, "two", &["--write"]).await;
    for program in [&asker, &one, &two] {
        program.get("/inbox", 200).await;
    }
    let opened = asker
        .post("/requests", &json!({ "description": "paint", "context": "the fence" }), 201)
        .await;
    let id = opened["request_id"].as_str().unwrap();
    let offered = two.get("/inbox", 200).await;
    assert_eq!(offered["messages"][0]["request_id"], *id, "{offered}");
    assert_eq!(offered["messages"][0]["kind"], "request");

    let path = format!("/requests/{id}/claim");
    let own = asker.post(&path, &json!({}), 409).await;
    assert_eq!(own["type"], "own-request");
    let (first, second) =
        tokio::join!(one.post_any(&path, &Value::Null), two.post_any(&path, &Value::Null));
    let (winner, loser, won, lost) =
        if first.0 == 200 { (&one, &two, first, second) } else { (&two, &one, second, first) };
    assert_eq!((won.0, lost.0), (200, 409), "{won:?} {lost:?}");
    assert_eq!(won.1["description"], "paint");
    assert_eq!((&won.1["context"], &won.1["from"]), (&json!("the fence"), &json!("asker")));
    assert_eq!(lost.1["type"], "claim-lost", "{lost:?}");
    assert!(lost.1["detail"].as_str().unwrap().contains("claimed by"), "{lost:?}");
    assert_eq!(winner.post(&path, &Value::Null, 200).await, won.1, "it may ask again");

    // Leaving gives it back.
    winner.post("/leave", &Value::Null, 204).await;
    loser.post(&path, &Value::Null, 200).await;
    let answer = json!({ "to": "asker", "content": "painted", "reply_to": id });
    loser.post("/messages", &answer, 201).await;
    let answered = asker.get("/inbox", 200).await;
    let answered = answered["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&answered["kind"], &answered["content"]), (&json!("response"), &json!("painted")));
    assert_eq!(asker.get("/requests", 200).await["requests"], json!([]));
    let thread = asker.get(&format!("/threads/{id}"), 200).await;
    let texts: Vec<_> =
        thread["messages"].as_array().unwrap().iter().map(|letter| &letter["text"]).collect();
    assert!(texts.contains(&&json!("painted")), "{texts:?}");
    web.end().await;
    lead.close().await;
}

#[tokio::test]
async fn the_claims_of_a_program_end_with_the_server_and_with_its_key() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let asked = lead.call("request_task", json!({ "description": "paint" })).await;
    let path = format!("/requests/{}/claim", asked["request_id"].as_str().unwrap());
    let web = WebServer::start(&stage, &["--write"]).await;
    let ci = ApiClient::new(&stage, &web, "ci", &["--write"]).await;
    ci.post(&path, &Value::Null, 200).await;
    web.kill().await;
    // Nobody ran its farewell: those who live see that it is dead.
    until("its claim is open again", || stage.events_of("request_reopened").len() == 1).await;

    let web = WebServer::start(&stage, &["--write"]).await;
    let ci = ApiClient::new(&stage, &web, "ci", &["--write"]).await;
    ci.post(&path, &Value::Null, 200).await;
    done(&stage, &["key", "revoke", &ci.key_id]).await;
    // The first key of the same name makes it no exception.
    for key in json_of(&stage, &["key", "list"]).await.as_array().unwrap() {
        done(&stage, &["key", "revoke", key["key_id"].as_str().unwrap()]).await;
    }
    assert_eq!(ci.post(&path, &Value::Null, 401).await["type"], "wrong-key");
    until("its claim is open again", || stage.events_of("request_reopened").len() == 2).await;
    web.end().await;
    lead.close().await;
}

#[tokio::test]
async fn what_a_killed_server_has_left_goes_with_the_next_start() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let ci = ApiClient::new(&stage, &web, "ci", &["--read", "--write"]).await;
    ci.post("/requests", &json!({ "description": "paint" }), 201).await;
    let bearer = ci.bearer.clone();
    lead.close().await;
    let token =
        stage.home().join(format!(".local/state/cli-team-bridge/web/web-{}.token", web.port));
    assert!(token.exists());
    web.kill().await;
    assert!(token.exists());
    let joined = stage.events_of("member_joined");
    let session = joined.iter().find(|joined| joined["name"] == "ci").unwrap()["session"].clone();
    let has_left = || stage.events_of("member_left").iter().any(|left| left["session"] == session);
    // One that only looks changes nothing on the bus.
    let web = WebServer::start(&stage, &[]).await;
    assert!(!token.exists(), "a new server sweeps");
    assert_eq!(web.get("/api/v1/status", &bearer).await.status, 200);
    web.end().await;
    assert!(!has_left());
    let web = WebServer::start(&stage, &["--write"]).await;
    until("its death is on the bus", has_left).await;
    web.end().await;
}

#[tokio::test]
async fn a_claim_ends_with_the_last_key_that_may_claim() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    lead.start_and_wait("ann", "look at the roof").await;
    let asked = lead.call("request_task", json!({ "description": "paint" })).await;
    let path = format!("/requests/{}/claim", asked["request_id"].as_str().unwrap());
    let web = WebServer::start(&stage, &["--write"]).await;
    let claimer = ApiClient::new(&stage, &web, "ci", &["--write"]).await;
    let assigner = ApiClient::new(&stage, &web, "ci", &["--assign"]).await;
    claimer.post(&path, &Value::Null, 200).await;
    done(&stage, &["key", "revoke", &claimer.key_id]).await;
    until("its claim is open again", || stage.events_of("request_reopened").len() == 1).await;
    // The other key still makes a member.
    let task = json!({ "agent": "ann", "prompt": "look at the door" });
    assigner.post("/tasks", &task, 201).await;
    web.end().await;
    lead.close().await;
}

#[tokio::test]
async fn a_key_does_what_it_may_where_the_server_allows_it_and_nothing_else() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    lead.start_and_wait("ann", "look at the roof").await;
    let web = WebServer::start(&stage, &[]).await;
    let reader = ApiClient::new(&stage, &web, "reader", &[]).await;
    let writer = ApiClient::new(&stage, &web, "writer", &["--write"]).await;
    let message = json!({ "to": "ann", "content": "hi" });
    assert_eq!(reader.post("/messages", &message, 403).await["type"], "wrong-scope");
    assert_eq!(reader.get("/inbox", 403).await["type"], "wrong-scope");
    assert_eq!(writer.get("/status", 403).await["type"], "wrong-scope");
    let refused = writer.post("/messages", &message, 403).await;
    assert_eq!(refused["type"], "read-only");
    assert!(refused["hint"].as_str().unwrap().contains("--write"), "{refused}");
    web.end().await;

    let web = WebServer::start(&stage, &["--write"]).await;
    let all = ["--read", "--write", "--assign", "--answer"];
    let ann = ApiClient::new(&stage, &web, "ann", &all).await;
    let taken = ann.post("/messages", &json!({ "to": "orchestrator", "content": "I" }), 409).await;
    assert_eq!(taken["type"], "name-taken", "{taken}");
    let ci = ApiClient::new(&stage, &web, "ci", &all).await;
    let answer = json!({ "decision": "allow_once" });
    assert_eq!(ci.post("/permissions/perm-aaaaaaaaaaaa", &answer, 403).await["type"], "read-only");
    for (path, body, status, kind) in [
        ("/messages", json!({ "to": "nobody", "content": "x" }), 404, "no-such-member"),
        ("/messages", json!({ "to": "ci", "content": "x" }), 422, "wrong-recipient"),
        ("/messages", json!({ "to": "@nobody", "content": "x" }), 404, "nobody-fits"),
        ("/messages", json!({ "to": "ann,ben", "content": "x" }), 422, "wrong-recipient"),
        ("/messages", json!({ "to": "ann", "content": " " }), 422, "empty-text"),
        (
            "/messages",
            json!({ "to": "ann", "content": "x", "reply_to": "task-aaaaaaaaaaaa" }),
            422,
            "not-answerable",
        ),
        (
            "/messages",
            json!({ "to": "ann", "content": "x", "from": "orchestrator" }),
            400,
            "wrong-body",
        ),
        ("/messages", json!({ "to": "ann" }), 400, "wrong-body"),
        (
            "/messages",
            json!({ "to": "ann", "content": "x".repeat((1 << 20) + 1) }),
            413,
            "too-long",
        ),
        ("/messages", json!({ "to": "ann", "content": "x".repeat(3 << 20) }), 413, "too-long"),
        ("/messages/msg-aaaaaaaaaaaa/ack", json!({}), 404, "no-such-message"),
        ("/messages/x/ack", json!({}), 404, "no-such-id"),
        ("/requests", json!({ "description": "x", "ttl_seconds": 0 }), 422, "wrong-time"),
        ("/requests/req-aaaaaaaaaaaa/claim", json!({}), 404, "no-such-request"),
        ("/requests/req-aaaaaaaaaaaa/claim", json!({ "by": "ann" }), 400, "wrong-body"),
        ("/tasks", json!({ "agent": "nobody", "prompt": "x" }), 404, "no-such-agent"),
        ("/tasks", json!({ "agent": "orchestrator", "prompt": "x" }), 409, "no-agent"),
        (
            "/tasks",
            json!({ "agent": "ann", "prompt": "x", "permissions": "allow" }),
            400,
            "wrong-body",
        ),
        ("/status", json!({}), 405, "wrong-method"),
    ] {
        let problem = ci.post(path, &body, status).await;
        assert_eq!(problem["type"], kind, "{path}: {problem}");
    }
    assert_eq!(
        stage.events_of("message_sent").iter().filter(|sent| sent["from"] == "ci").count(),
        0
    );
    web.end().await;
    lead.close().await;
}

#[tokio::test]
async fn a_program_assigns_a_task_and_answers_what_its_agent_asks() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    lead.start_and_wait("ann", "look at the roof").await;
    let ask = json!({ "agent": "scripted", "name": "ben", "prompt": "ask", "permissions": "ask" });
    lead.call("assign_task", ask).await;
    until("it asks", || !stage.events_of("permission_asked").is_empty()).await;
    let question = stage.events_of("permission_asked").pop().unwrap()["id"].clone();
    let web = WebServer::start(&stage, &["--write", "--answer"]).await;
    let ci =
        ApiClient::new(&stage, &web, "ci", &["--read", "--assign", "--answer", "--write"]).await;

    let assigned =
        ci.post("/tasks", &json!({ "agent": "ann", "prompt": "mend the roof" }), 201).await;
    let path = format!("/tasks/{}", assigned["task_id"].as_str().unwrap());
    until("it is done", || stage.events_of("task_finished").len() == 2).await;
    let task = ci.get(&path, 200).await;
    assert_eq!((&task["assigned_by"], &task["output"]), (&json!("ci"), &json!("done")), "{task}");
    let told = ci.get("/inbox", 200).await;
    assert_eq!(told["messages"][0]["task_id"], assigned["task_id"], "{told}");

    let path = format!("/permissions/{}", question.as_str().unwrap());
    assert_eq!(ci.post(&path, &json!({ "decision": "maybe" }), 400).await["type"], "wrong-body");
    let answered = ci.post(&path, &json!({ "decision": "allow_once" }), 200).await;
    assert_eq!(answered["outcome"], "done", "{answered}");
    let again = ci.post(&path, &json!({ "decision": "reject" }), 409).await;
    assert_eq!(again["type"], "not-done", "{again}");
    let [given] = stage.events_of("permission_answered").try_into().unwrap();
    assert_eq!(given["decision"], "allow_once");
    web.end().await;
    lead.close().await;
}
