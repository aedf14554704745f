//! The stories of the two specifications, by their own paths and fields.

use serde_json::{Value, json};

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
    let news = reviewer.get("/inbox/reviewer", 200).await["next_cursor"].clone();
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
    let rest = reviewer.get(&format!("/inbox/reviewer?cursor={}", inbox["next_cursor"]), 200).await;
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
    winner.post("/ack", &named, 200).await;
    let answered = coordinator.get("/inbox/coordinator", 200).await;
    let response = of_kind(&answered, "response").pop().unwrap();
    assert_eq!(
        (&response["content"], &response["request_id"]),
        (&json!("done"), &task["signal_id"])
    );
    assert_eq!(coordinator.get("/requests", 200).await["requests"], json!([]));

    let alert = json!({ "signal_type": "alert", "content": "errors", "from_role": "coordinator" });
    let alert = coordinator.post("/emit", &alert, 201).await;
    assert_eq!((&alert["stored_as"], &alert["urgent"]), (&json!("message"), &json!(true)));
    let told = reviewer.get("/inbox/reviewer", 200).await;
    let told = told["messages"].as_array().unwrap().last().unwrap();
    assert_eq!((&told["message_id"], &told["to"]), (&alert["signal_id"], &json!("all")), "{told}");
    web.end().await;
    lead.close().await;
}

#[tokio::test]
async fn what_the_model_has_not_is_said_and_nobody_speaks_for_another() {
    let stage = Stage::new(SCRIPT);
    let lead = stage.orchestrator().await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let ci = ApiClient::new(&stage, &web, "ci", &["--write"]).await;
    let signal = |changes: Value| {
        let mut signal = json!({ "signal_type": "query", "content": "x", "from_role": "ci", "to_role": "orchestrator" });
        signal.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        signal
    };
    let to_lead = |changes: Value| {
        let mut message = json!({ "content": "x", "recipient": { "name": "orchestrator" } });
        message.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        message
    };
    for (path, body, status, kind) in [
        (
            "/emit",
            signal(json!({ "signal_type": "task", "thread_id": "msg-aaaaaaaaaaaa" })),
            501,
            "not-yet",
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
        ("/messages/send", json!({ "content": "x" }), 422, "wrong-recipient"),
        ("/messages/send", to_lead(json!({ "context": {} })), 501, "not-yet"),
        ("/messages/send", to_lead(json!({ "sender": { "name": "ann" } })), 403, "not-you"),
        ("/messages/broadcast", to_lead(json!({})), 422, "wrong-recipient"),
        ("/messages/broadcast", json!({ "content": "x", "action": "report_bug" }), 501, "not-yet"),
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
    ] {
        let problem = ci.post(path, &body, status).await;
        assert_eq!(problem["type"], kind, "{path} {body}: {problem}");
        assert!(status != 501 || problem["hint"].is_string(), "{problem}");
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
    let task = from_ci(json!({ "signal_type": "task", "to_role": "Storage" }));
    assert_eq!(ci.post("/emit", &task, 201).await["stored_as"], "request");
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
        "request @Storage - -",
    ];
    assert_eq!(shown, expected, "{heard:?}");
    let review = heard.iter().find(|one| one["signal"] == "request_review").unwrap();
    assert_eq!(review["response_seconds"], 60);
    web.end().await;
    lead.close().await;
}
