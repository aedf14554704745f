//! The description of the API (`OpenAPI`), held against a real server with a real team: each operation answers as it says, and there is none
//! without an example here.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::api_client::ApiClient;
use super::http_client::WebServer;
use crate::support::schema_check::misfit;
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

/// The ids that the examples need.
struct Ids {
    task: String,
    question: String,
    thread: String,
    /// Messages in the inbox of the program.
    unread: Vec<String>,
    /// Requests that the program may claim.
    requests: Vec<String>,
}

/// Returns the path and the body of an example for each operation.
fn examples(ids: &Ids) -> BTreeMap<&'static str, (String, Value)> {
    let get = |path: &str| (path.to_owned(), Value::Null);
    let message = json!({ "to": "ann", "content": "hi", "priority": "high", "signal": "sense", "ttl_seconds": 60, "payload": { "build": 7 }, "attachments": [{ "name": "log", "content": "red" }], "ref": "src" });
    let signal = json!({ "signal_type": "query", "content": "hi", "from_role": "ci", "to_role": "ann", "urgency": 0.8 });
    let named = |id: &str| json!({ "signal_id": id });
    let agent_message = json!({ "recipient": { "name": "ann" }, "content": "hi", "metadata": { "priority": "high" }, "type": "notification", "context": { "issue_id": "45" }, "attachments": [{ "type": "code", "name": "a.py", "content": "x" }] });
    BTreeMap::from([
        ("get /status", get("/status")),
        ("get /members", get("/members")),
        ("get /tasks", get("/tasks")),
        ("get /tasks/{id}", get(&format!("/tasks/{}", ids.task))),
        ("get /requests", get("/requests")),
        ("get /permissions", get("/permissions")),
        ("get /workflows", get("/workflows")),
        ("get /messages", get("/messages?after=0")),
        ("get /threads/{id}", get(&format!("/threads/{}", ids.thread))),
        ("get /usage", get("/usage?by=profile")),
        ("get /search", get("/search?q=roof")),
        ("get /openapi.json", get("/openapi.json")),
        ("get /inbox", get("/inbox?cursor=0&limit=500")),
        ("post /messages", ("/messages".into(), message)),
        ("post /broadcast", ("/broadcast".into(), json!({ "content": "hi" }))),
        (
            "post /messages/{id}/ack",
            (
                format!("/messages/{}/ack", ids.unread[0]),
                json!({ "status": "resolved", "note": "done" }),
            ),
        ),
        ("post /wait", ("/wait".into(), json!({ "timeout_seconds": 0 }))),
        ("get /lanes", get("/lanes")),
        ("get /conflicts", get("/conflicts")),
        ("get /decisions", get("/decisions")),
        ("post /lanes/{lane}/claim", ("/lanes/roof/claim".into(), Value::Null)),
        ("post /lanes/{lane}/release", ("/lanes/roof/release".into(), Value::Null)),
        ("post /topics/{topic}/follow", ("/topics/news/follow".into(), Value::Null)),
        ("post /topics/{topic}/leave", ("/topics/news/leave".into(), Value::Null)),
        (
            "post /requests/{id}/update",
            (format!("/requests/{}/update", ids.requests[0]), json!({ "action": "renew" })),
        ),
        ("post /requests", ("/requests".into(), json!({ "description": "paint" }))),
        ("post /requests/{id}/claim", (format!("/requests/{}/claim", ids.requests[0]), json!({}))),
        ("post /leave", ("/leave".into(), Value::Null)),
        ("post /tasks", ("/tasks".into(), json!({ "agent": "ann", "prompt": "more" }))),
        (
            "post /permissions/{id}",
            (format!("/permissions/{}", ids.question), json!({ "decision": "allow_once" })),
        ),
        ("post /emit", ("/emit".into(), signal)),
        ("post /claim", ("/claim".into(), named(&ids.requests[1]))),
        ("post /ack", ("/ack".into(), named(&ids.unread[1]))),
        ("get /thread/{id}", get(&format!("/thread/{}", ids.thread))),
        ("get /inbox/{role}", get("/inbox/ci")),
        ("post /messages/send", ("/messages/send".into(), agent_message)),
        (
            "post /messages/broadcast",
            ("/messages/broadcast".into(), json!({ "content": "hi", "recipient_all": true })),
        ),
        ("get /messages/conversation/{id}", get(&format!("/messages/conversation/{}", ids.thread))),
        ("get /messages/agent/{name}/inbox", get("/messages/agent/ci/inbox")),
    ])
}

#[tokio::test]
async fn every_operation_answers_as_its_description_says() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    lead.start_and_wait("ann", "look at the roof").await;
    let ask = json!({ "agent": "scripted", "name": "ben", "prompt": "ask", "permissions": "ask" });
    lead.call("assign_task", ask).await;
    until("it asks", || !stage.events_of("permission_asked").is_empty()).await;
    let web = WebServer::start(&stage, &["--write", "--answer"]).await;
    let all = ["--read", "--write", "--assign", "--answer"];
    let ci = ApiClient::new(&stage, &web, "ci", &all).await;
    let document = ci.get("/openapi.json", 200).await;
    assert_eq!(document["openapi"], "3.1.1");
    ci.get("/inbox", 200).await;
    for content in ["one", "two"] {
        lead.call("send_message", json!({ "to": "ci", "content": content })).await;
        lead.call("request_task", json!({ "description": content })).await;
    }
    let inbox = ci.get("/inbox", 200).await;
    let ids_of = |field: &str, kind: &str| -> Vec<String> {
        let messages = inbox["messages"].as_array().unwrap().iter();
        let of_kind = messages.filter(|message| message["kind"] == kind);
        of_kind.map(|message| message[field].as_str().unwrap().to_owned()).collect()
    };
    let unread = ids_of("message_id", "message");
    let ids = Ids {
        task: ci.get("/tasks", 200).await["tasks"][0]["task_id"].as_str().unwrap().to_owned(),
        question: stage.events_of("permission_asked")[0]["id"].as_str().unwrap().to_owned(),
        thread: unread[0].clone(),
        requests: ids_of("request_id", "request"),
        unread,
    };
    let examples = examples(&ids);
    let problem = &document["components"]["responses"]["Problem"]["content"]["application/problem+json"]
        ["schema"];
    let mut described = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let name = format!("{method} {path}");
            described.insert(name.clone());
            if ["/events", "/messages/events"].contains(&path.as_str()) {
                let refused = ci.get(&format!("{path}?moon=1"), 400).await;
                assert_eq!(refused["type"], "wrong-query", "{name}: {refused}");
                continue;
            }
            let (target, body) =
                examples.get(name.as_str()).unwrap_or_else(|| panic!("no example of {name}"));
            let statuses: Vec<_> = operation["responses"].as_object().unwrap().keys().collect();
            let [status, "default"] =
                statuses.iter().map(|status| status.as_str()).collect::<Vec<_>>()[..]
            else {
                panic!("{name}: {statuses:?}")
            };
            if let Some(schema) = operation.pointer("/requestBody/content/application~1json/schema")
            {
                assert_eq!(misfit(body, schema, &document), None, "the example of {name}");
                let mut other = body.clone();
                other["moon"] = json!(1);
                assert!(misfit(&other, schema, &document).is_some(), "{name}");
                let refused = ci.post(target, &other, 400).await;
                assert_eq!(refused["type"], "wrong-body", "{name}: {refused}");
            }
            // A parameter that is not described is refused everywhere.
            let mark = if target.contains('?') { '&' } else { '?' };
            let odd = format!("{target}{mark}moon=1");
            let refused = if method == "get" {
                ci.get(&odd, 400).await
            } else {
                ci.post(&odd, body, 400).await
            };
            assert_eq!(refused["type"], "wrong-query", "{name}: {refused}");
            let number = status.parse().unwrap();
            let answer = if method == "get" {
                ci.get(target, number).await
            } else {
                ci.post(target, body, number).await
            };
            let schema =
                operation.pointer(&format!("/responses/{status}/content/application~1json/schema"));
            match schema {
                Some(schema) => assert_eq!(misfit(&answer, schema, &document), None, "{name}"),
                None => assert_eq!(answer, Value::Null, "{name}"),
            }
            // Without a key each of them is closed, and says so as described.
            let closed = if method == "get" {
                web.get(&format!("/api/v1{target}"), "").await
            } else {
                ci.without_key().raw(target, "Content-Type: application/json\r\n", "{}").await
            };
            assert_eq!(closed.status, 401, "{name}: {closed:?}");
            let closed = serde_json::from_str(&closed.body).unwrap();
            assert_eq!(misfit(&closed, problem, &document), None, "{name}");
        }
    }
    let mut shown: BTreeSet<_> = examples.into_keys().map(str::to_owned).collect();
    shown.extend(["get /events", "get /messages/events"].map(str::to_owned));
    assert_eq!(described, shown);
    web.end().await;
    lead.close().await;
}
