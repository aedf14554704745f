//! The stories of the two specifications, by their own paths and fields.

use serde_json::{Value, json};

use cli_team_bridge::domain::time::iso8601;
use cli_team_bridge::sys::clock;

use super::api_client::ApiClient;
use super::http_client::WebServer;
use crate::support::Stage;

const SCRIPT: &str = "[[agents.default.turns]]\nsteps = [{ say = \"done\" }]\n";

/// Returns the messages of an inbox of some kind.
fn of_kind(inbox: &Value, kind: &str) -> Vec<Value> {
    let messages = inbox["messages"].as_array().unwrap().iter();
    messages.filter(|message| message["kind"] == kind).cloned().collect()
}

#[tokio::test]
async fn signals_are_emitted_claimed_by_one_and_acknowledged() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let scopes = ["--read", "--write"];
    let coordinator = ApiClient::new(&stage, &web, "coordinator", &scopes).await;
    let reviewer = ApiClient::new(&stage, &web, "reviewer", &scopes).await;
    let other = ApiClient::new(&stage, &web, "other", &scopes).await;
    let programs = [(&coordinator, "coordinator"), (&reviewer, "reviewer"), (&other, "other")];
    for (program, name) in programs {
        program.get(&format!("/inbox/{name}"), 200).await;
    }
    // The news that the other one has come.
    let news = reviewer.get("/inbox/reviewer", 200).await;
    let news = news["next_cursor"].as_str().unwrap();
    let query = json!({
        "signal_type": "query", "content": "What is the deployment status?", "from_role": "coordinator",
        "to_role": "reviewer", "urgency": 0.8,
    });
    let emitted = coordinator.post("/emit", &query, 201).await;
    assert_eq!((&emitted["stored_as"], &emitted["urgent"]), (&json!("message"), &json!(true)));
    let inbox = reviewer.get(&format!("/inbox/reviewer?limit=1&cursor={news}"), 200).await;
    let signal = &inbox["messages"][0];
    assert_eq!(signal["message_id"], emitted["signal_id"], "{inbox}");
    assert_eq!((&signal["from"], &signal["urgent"]), (&json!("coordinator"), &json!(true)));
    let acknowledged =
        reviewer.post("/ack", &json!({ "signal_id": emitted["signal_id"] }), 200).await;
    assert_eq!(acknowledged["status"], "acknowledged");
    let cursor = inbox["next_cursor"].as_str().unwrap();
    let rest = reviewer.get(&format!("/inbox/reviewer?cursor={cursor}"), 200).await;
    assert_eq!(rest["messages"], json!([]));
    let answer = json!({
        "signal_type": "sense", "content": "It is up.", "from_role": "reviewer", "to_role": "coordinator",
        "thread_id": emitted["signal_id"],
    });
    reviewer.post("/emit", &answer, 201).await;
    let thread =
        coordinator.get(&format!("/thread/{}", emitted["signal_id"].as_str().unwrap()), 200).await;
    let texts: Vec<_> =
        thread["messages"].as_array().unwrap().iter().map(|one| &one["text"]).collect();
    assert_eq!(texts, ["What is the deployment status?", "It is up."], "{thread}");

    let task = json!({
        "signal_type": "task", "content": "Review the latest deployment", "from_role": "coordinator", "ttl_seconds": 3600,
    });
    let task = coordinator.post("/emit", &task, 201).await;
    assert_eq!(task["stored_as"], "request", "{task}");
    let named = json!({ "signal_id": task["signal_id"] });
    let early = reviewer.post("/ack", &named, 409).await;
    assert_eq!(early["type"], "not-claimed", "{early}");
    let (one, two) =
        tokio::join!(reviewer.post_any("/claim", &named), other.post_any("/claim", &named));
    let mut statuses = [one.0, two.0];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409], "{one:?} {two:?}");
    let winner = if one.0 == 200 { &reviewer } else { &other };
    let acked = winner.post("/ack", &named, 200).await;
    // Who does not know whether it was done may say it again.
    assert_eq!(winner.post("/ack", &named, 200).await, acked);
    let loser = if one.0 == 200 { &other } else { &reviewer };
    let late = loser.post("/ack", &named, 409).await;
    assert_eq!((&late["detail"], late.get("hint")), (&json!("it is completed"), None), "{late}");
    let answered = coordinator.get("/inbox/coordinator", 200).await;
    let response = of_kind(&answered, "response").pop().unwrap();
    assert_eq!(
        (&response["content"], &response["request_id"]),
        (&json!("done"), &task["signal_id"])
    );
    assert_eq!(coordinator.get("/requests", 200).await["requests"], json!([]));

    let artifact = json!({ "signal_type": "artifact", "content": "x", "from_role": "coordinator" });
    let alone = coordinator.post("/emit", &artifact, 422).await;
    assert_eq!(alone["detail"], "`artifact` needs `thread_id`", "{alone}");
    let alert = json!({ "signal_type": "alert", "content": "errors", "from_role": "coordinator" });
    let alert = coordinator.post("/emit", &alert, 201).await;
    assert_eq!((&alert["stored_as"], &alert["urgent"]), (&json!("message"), &json!(true)));
    let told = reviewer.get("/inbox/reviewer", 200).await;
    let told = &told["messages"][0];
    assert_eq!((&told["message_id"], &told["to"]), (&alert["signal_id"], &json!("all")), "{told}");
    web.end().await;
    lead.close().await;
}

/// What is asked for, and the problem that answers it: path, body, status and type.
type Refused = (&'static str, Value, u16, &'static str);

/// Returns an object with changed fields.
fn changed(mut object: Value, changes: &Value) -> Value {
    object.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    object
}

fn refused_signals() -> Vec<Refused> {
    let signal = |changes: Value| {
        let signal = json!({ "signal_type": "query", "content": "x", "from_role": "ci", "to_role": "orchestrator" });
        changed(signal, &changes)
    };
    vec![
        (
            "/emit",
            signal(json!({ "signal_type": "task", "thread_id": "msg-aaaaaaaaaaaa" })),
            422,
            "wrong-thread",
        ),
        ("/emit", signal(json!({ "to_ring": "all" })), 422, "wrong-recipient"),
        ("/emit", signal(json!({ "to_role": null, "to_ring": "news" })), 404, "nobody-fits"),
        ("/emit", signal(json!({ "to_role": "roofer" })), 404, "nobody-fits"),
        (
            "/emit",
            signal(json!({ "signal_type": "task", "to_role": "roofer" })),
            404,
            "nobody-fits",
        ),
        ("/emit", signal(json!({ "ttl_seconds": 0 })), 422, "wrong-time"),
        ("/emit", signal(json!({ "signal_type": "artifact" })), 422, "needs-reply-to"),
        (
            "/emit",
            signal(json!({ "to_role": null, "thread_id": "msg-aaaaaaaaaaaa" })),
            404,
            "no-such-message",
        ),
        ("/emit", signal(json!({ "from_role": "orchestrator" })), 403, "not-you"),
        ("/emit", signal(json!({ "urgency": 1.5 })), 422, "wrong-urgency"),
        ("/emit", signal(json!({ "signal_type": "moon" })), 400, "wrong-body"),
        ("/claim", json!({ "signal_id": "signal:abc123" }), 404, "no-such-id"),
        ("/ack", json!({ "signal_id": "signal:abc123" }), 404, "no-such-id"),
    ]
}

fn refused_kinds_and_times() -> Vec<Refused> {
    let to_lead = |changes: Value| {
        changed(json!({ "content": "x", "recipient": { "name": "orchestrator" } }), &changes)
    };
    vec![
        ("/messages/send", json!({ "content": "x" }), 422, "wrong-recipient"),
        ("/messages/send", to_lead(json!({ "id": "uuid" })), 422, "not-yours"),
        ("/messages/send", to_lead(json!({ "type": "response" })), 422, "wrong-type"),
        ("/messages/send", to_lead(json!({ "type": "broadcast" })), 422, "wrong-type"),
        ("/messages/send", to_lead(json!({ "type": "letter" })), 400, "wrong-body"),
        (
            "/messages/send",
            to_lead(json!({ "metadata": { "created_at": "2026-01-01T00:00:00Z" } })),
            422,
            "not-yours",
        ),
        (
            "/messages/send",
            to_lead(json!({ "metadata": { "max_retries": 5 } })),
            422,
            "wrong-retries",
        ),
        (
            "/messages/send",
            to_lead(json!({ "metadata": { "expires_at": "2026-01-01T00:00:00Z" } })),
            422,
            "wrong-time",
        ),
        (
            "/messages/send",
            to_lead(json!({ "metadata": { "expires_at": "soon" } })),
            422,
            "wrong-time",
        ),
    ]
}

fn refused_recipients_and_contents() -> Vec<Refused> {
    let to_lead = |changes: Value| {
        changed(json!({ "content": "x", "recipient": { "name": "orchestrator" } }), &changes)
    };
    vec![
        (
            "/messages/send",
            to_lead(json!({ "recipient": { "name": "orchestrator", "agent_id": "s99" } })),
            422,
            "wrong-recipient",
        ),
        (
            "/messages/send",
            to_lead(json!({ "recipient": { "name": "orchestrator", "role": "roofer" } })),
            422,
            "wrong-recipient",
        ),
        ("/messages/send", to_lead(json!({ "recipient": {} })), 422, "wrong-recipient"),
        (
            "/messages/send",
            to_lead(json!({ "sender": { "agent_id": "s99" } })),
            422,
            "wrong-recipient",
        ),
        (
            "/messages/send",
            to_lead(json!({ "context": { "conversation_id": "conv-789" } })),
            404,
            "no-such-id",
        ),
        (
            "/messages/send",
            to_lead(json!({ "context": { "conversation_id": "msg-aaaaaaaaaaaa" } })),
            404,
            "no-such-message",
        ),
        (
            "/messages/send",
            to_lead(json!({ "context": { "knowledge_base": "x" } })),
            400,
            "wrong-body",
        ),
        (
            "/messages/send",
            to_lead(json!({ "attachments": [{ "url": "../outside.txt" }] })),
            422,
            "wrong-attachment",
        ),
        (
            "/messages/send",
            to_lead(json!({ "attachments": [{ "name": "x" }] })),
            422,
            "wrong-attachment",
        ),
        (
            "/messages",
            json!({ "to": "orchestrator", "content": "x", "attachments": [{ "path": "nowhere.rs" }] }),
            422,
            "wrong-attachment",
        ),
        (
            "/messages",
            json!({ "to": "orchestrator", "content": "x", "payload": { "x": "y".repeat(70_000) } }),
            422,
            "wrong-payload",
        ),
        (
            "/messages",
            json!({ "to": "orchestrator", "content": "x", "ref": " " }),
            422,
            "empty-text",
        ),
        ("/messages/send", to_lead(json!({ "sender": { "name": "ann" } })), 403, "not-you"),
        ("/messages/broadcast", to_lead(json!({})), 422, "wrong-recipient"),
        ("/messages/broadcast", json!({ "content": "x", "action": "dance" }), 422, "wrong-signal"),
        ("/messages/send", to_lead(json!({ "recipient_all": true })), 422, "wrong-recipient"),
        (
            "/messages/send",
            json!({ "content": "x", "recipient_role": "roofer" }),
            404,
            "nobody-fits",
        ),
        ("/messages/send", to_lead(json!({ "action": "dance" })), 422, "wrong-signal"),
        (
            "/messages",
            json!({ "content": "x", "to": "orchestrator", "priority": "low", "urgency": 1 }),
            422,
            "wrong-urgency",
        ),
    ]
}

#[tokio::test]
async fn what_no_team_can_do_is_said_and_nobody_speaks_for_another() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let ci = ApiClient::new(&stage, &web, "ci", &["--write"]).await;
    let refused = [refused_signals(), refused_kinds_and_times(), refused_recipients_and_contents()];
    for (path, body, status, kind) in refused.concat() {
        let problem = ci.post(path, &body, status).await;
        assert_eq!(problem["type"], kind, "{path} {body}: {problem}");
    }
    for path in ["/inbox/orchestrator", "/messages/agent/orchestrator/inbox"] {
        assert_eq!(ci.get(path, 403).await["type"], "not-you");
    }
    assert_eq!(
        stage.events_of("message_sent").iter().filter(|sent| sent["from"] == "ci").count(),
        0
    );
    let message = json!({
        "recipient": { "name": "orchestrator" }, "sender": { "name": "ci" }, "content": "hi",
        "metadata": { "priority": "low" },
    });
    ci.post("/messages/send", &message, 201).await;
    let heard = lead.all_heard().await;
    assert_eq!(heard[0]["content"], "hi", "{heard:?}");
    web.end().await;
    lead.close().await;
}

/// A role is a lane, role or capability where no member has that name, and a ring is a topic.
#[tokio::test]
async fn signals_and_agent_messages_reach_roles_and_rings_with_urgency_and_an_end() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let ci = ApiClient::new(&stage, &web, "ci", &["--write"]).await;
    lead.call("claim_request", json!({ "lane": "storage" })).await;
    lead.call("check_messages", json!({ "to": "#news" })).await;
    let from_ci = |fields: Value| {
        let mut signal = json!({ "content": "x", "from_role": "ci" });
        signal.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        signal
    };
    let pulse = from_ci(json!({ "signal_type": "pulse", "to_role": "storage" }));
    ci.post("/emit", &pulse, 201).await;
    let sense = json!({
        "signal_type": "sense", "to_ring": "news", "urgency": 0.8, "ttl_seconds": 3600,
    });
    let emitted = ci.post("/emit", &from_ci(sense), 201).await;
    assert_eq!((&emitted["stored_as"], &emitted["urgent"]), (&json!("message"), &json!(true)));
    let task = from_ci(json!({ "signal_type": "task", "to_role": "Storage", "urgency": 0.95 }));
    let task = ci.post("/emit", &task, 201).await;
    assert_eq!((&task["stored_as"], &task["urgent"]), (&json!("request"), &json!(true)));
    let message = json!({
        "content": "y", "recipient_role": "storage", "action": "request_review",
        "metadata": { "priority": "low", "response_timeout_seconds": 60 },
    });
    ci.post("/messages/send", &message, 201).await;
    let plain = json!({ "to": "#news", "content": "z", "signal": "x-own", "ttl_seconds": 60 });
    ci.post("/messages", &plain, 201).await;
    let heard = lead.all_heard().await;
    let mut shown: Vec<_> = heard
        .iter()
        .map(|one| {
            let text = |field: &str| one[field].as_str().unwrap_or("-").to_owned();
            [text("type"), text("to"), text("signal"), text("priority")].join(" ")
        })
        .collect();
    shown.sort();
    let expected = [
        "message #news sense high",
        "message #news x-own -",
        "message @storage pulse -",
        "message @storage request_review low",
        "request @Storage - urgent",
    ];
    assert_eq!(shown, expected, "{heard:?}");
    let review = heard.iter().find(|one| one["signal"] == "request_review").unwrap();
    assert_eq!(review["response_seconds"], 60);
    web.end().await;
    lead.close().await;
}

/// All fields of an agent message, with what its reader has of them.
#[tokio::test]
async fn an_agent_message_has_all_its_fields() {
    let stage = Stage::new(SCRIPT);
    std::fs::create_dir_all(stage.project().join("src")).unwrap();
    std::fs::write(stage.project().join("src/cache.py"), "cache = {}").unwrap();
    let lead = stage.orchestrator().await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let eng = ApiClient::new(&stage, &web, "eng", &["--read", "--write"]).await;
    let asked = lead.call("list_agents", json!({})).await;
    let lead_id = asked["agents"][0]["id"].clone();
    let in_an_hour = iso8601(clock::now().wall_ms + 3_600_000);
    let first = json!({
        "type": "request", "sender": { "name": "eng", "role": "Engineer" },
        "recipient": { "name": "orchestrator", "agent_id": lead_id }, "action": "request_guidance",
        "content": "Write-through or write-behind?",
        "attachments": [
            { "type": "code", "name": "idea.py", "content": "pass", "mime_type": "text/x-python" },
            { "type": "file", "url": "src/cache.py" },
            { "name": "the issue", "url": "https://tracker.example/456" },
        ],
        "context": { "project_id": "proj-123", "issue_id": "issue-456", "sprint_id": "sprint-3" },
        "metadata": {
            "priority": "low", "requires_response": true, "expires_at": in_an_hour, "retry_count": 0,
            "max_retries": 3,
        },
    });
    let first = eng.post("/messages/send", &first, 201).await["message_id"].clone();
    let second = json!({
        "type": "stream", "recipient": { "agent_id": lead_id }, "content": "Half of it is done.",
        "context": { "conversation_id": first, "parent_message_id": first },
    });
    let second = eng.post("/messages/send", &second, 201).await["message_id"].clone();
    let heard = lead.all_heard().await;
    let one = |id: &Value| heard.iter().find(|one| one["id"] == *id).cloned().unwrap();
    let (asks, says) = (one(&first), one(&second));
    assert_eq!(
        (&asks["signal"], &asks["ref"], &asks["response_seconds"], &asks["priority"]),
        (&json!("request_guidance"), &json!("issue-456"), &json!(300), &json!("low"))
    );
    let context = json!({ "project_id": "proj-123", "sprint_id": "sprint-3" });
    assert_eq!(asks["payload"], json!({ "context": context, "sender_role": "Engineer" }), "{asks}");
    let attached: Vec<_> = asks["attachments"].as_array().unwrap().iter().collect();
    let names: Vec<_> = attached.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["idea.py", "cache.py", "the issue"], "{asks}");
    assert!(attached[1].to_string().contains("src/cache.py"), "{asks}");
    let url = json!({ "id": format!("{}/3", first.as_str().unwrap()) });
    let url = lead.call("check_messages", url).await;
    assert_eq!(url["messages"][0]["content"], "https://tracker.example/456");
    assert_eq!(
        (&says["thread_id"], &says["signal"]),
        (&first, &json!("report_progress")),
        "{says}"
    );
    let sent = stage.events_of("message_sent");
    let ttl = sent.iter().find(|sent| sent["id"] == first).unwrap()["more"]["ttl_seconds"].clone();
    assert!((3_500..=3_600).contains(&ttl.as_u64().unwrap()), "{ttl}");

    // Any message of it names the conversation, and the API has the payload of the first.
    for id in [&first, &second] {
        let path = format!("/messages/conversation/{}", id.as_str().unwrap());
        let thread = eng.get(&path, 200).await;
        assert_eq!(thread["messages"][0]["payload"], asks["payload"], "{thread}");
        assert!(thread["messages"].as_array().unwrap().len() > 1, "{thread}");
    }

    // A conversation is one thread.
    let alone = json!({ "to": "orchestrator", "content": "something else" });
    let alone = eng.post("/messages", &alone, 201).await["message_id"].clone();
    let torn = json!({
        "recipient": { "name": "orchestrator" }, "content": "x", "in_response_to": alone,
        "context": { "conversation_id": first },
    });
    assert_eq!(eng.post("/messages/send", &torn, 422).await["type"], "wrong-context");
    web.end().await;
    lead.close().await;
}

#[tokio::test]
async fn a_broadcast_may_have_an_action_and_a_task_has_no_other_thread() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let ann = stage.peer("ann").await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let po = ApiClient::new(&stage, &web, "po", &["--read", "--write"]).await;
    let goals = json!({
        "type": "broadcast", "recipient_all": true, "action": "announce_decision", "content": "Goals: 1) auth",
        "metadata": { "priority": "high", "requires_response": false },
        "attachments": [{ "name": "goals.md", "content": "1) auth" }],
    });
    let sent = po.post("/messages/broadcast", &goals, 201).await;
    assert_eq!(sent["delivered_to"], json!(["ann", "orchestrator"]), "{sent}");
    let asked = json!({
        "content": "Who is free?", "action": "question", "metadata": { "response_timeout_seconds": 60 },
    });
    po.post("/messages/broadcast", &asked, 201).await;
    let work = json!({
        "content": "Implement #45", "action": "delegate_task", "metadata": { "priority": "urgent" },
    });
    let work = po.post("/messages/broadcast", &work, 201).await;
    let heard = ann.all_heard().await;
    let one = |id: &Value| heard.iter().find(|one| one["id"] == *id).cloned().unwrap();
    let decision = one(&sent["message_id"]);
    assert_eq!(
        (&decision["signal"], &decision["priority"], &decision["attachments"][0]["name"]),
        (&json!("announce_decision"), &json!("high"), &json!("goals.md")),
        "{decision}"
    );
    let work_shown = one(&work["message_id"]);
    assert_eq!(
        (&work_shown["request_id"], &work_shown["priority"]),
        (&work["request_id"], &json!("urgent"))
    );

    // A task is in no other thread than its own.
    let task = json!({
        "signal_type": "task", "content": "Test it", "from_role": "po", "thread_id": sent["message_id"],
    });
    assert_eq!(po.post("/emit", &task, 422).await["type"], "wrong-thread");
    web.end().await;
    for member in [lead, ann] {
        member.close().await;
    }
}
