//! Claims with leases, lanes, topics, and threads that are resolved: what the tools of members do, done by programs.

use serde_json::{Value, json};

use crate::steer::done;
use crate::support::Stage;
use crate::web::api_client::{ApiClient, founded};
use crate::web::http_client::WebServer;

async fn program<'a>(stage: &Stage, web: &'a WebServer, name: &str) -> ApiClient<'a> {
    let program = ApiClient::new(stage, web, name, &["--read", "--write"]).await;
    program.get("/inbox", 200).await;
    program
}

#[tokio::test]
async fn the_owner_of_a_request_reports_keeps_releases_hands_over_completes_and_fails_it() {
    let stage = founded().await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let asker = program(&stage, &web, "asker").await;
    let one = program(&stage, &web, "one").await;
    let two = program(&stage, &web, "two").await;
    let opened = async |description: &str| {
        let new = json!({ "description": description, "lease_seconds": 60 });
        asker.post("/requests", &new, 201).await["request_id"].as_str().unwrap().to_owned()
    };
    let update = async |who: &ApiClient<'_>, id: &str, body: Value, status: u16| {
        who.post(&format!("/requests/{id}/update"), &body, status).await
    };
    let id = opened("paint").await;
    one.post(&format!("/requests/{id}/claim"), &Value::Null, 200).await;
    let renewed = update(&one, &id, json!({ "action": "renew" }), 200).await;
    let expected = json!({
        "request_id": id, "status": "claimed", "owner": "one", "lease_seconds": 60,
    });
    assert_eq!(renewed, expected);
    let progress = json!({ "action": "progress", "content": "half of it" });
    update(&one, &id, progress, 200).await;
    let heard = asker.get("/inbox?limit=100", 200).await;
    let heard = heard["messages"].as_array().unwrap();
    assert!(heard.iter().any(|message| message["content"] == "half of it"), "{heard:?}");

    for (who, body, status, kind) in [
        (&two, json!({ "action": "renew" }), 409, "not-claimed"),
        (&one, json!({ "action": "renew", "content": "x" }), 422, "wrong-action"),
        (&one, json!({ "action": "progress" }), 422, "wrong-action"),
        (&one, json!({ "action": "complete" }), 422, "wrong-action"),
        (&one, json!({ "action": "hand_over" }), 422, "wrong-action"),
        (&one, json!({ "action": "release", "to": "two" }), 422, "wrong-action"),
        (&one, json!({ "action": "hand_over", "to": "asker" }), 422, "wrong-recipient"),
        (&one, json!({ "action": "hand_over", "to": "nobody" }), 404, "no-such-member"),
        (&one, json!({ "action": "dance" }), 400, "wrong-body"),
    ] {
        let problem = update(who, &id, body.clone(), status).await;
        assert_eq!(problem["type"], kind, "{body}: {problem}");
    }
    let unknown = update(&one, "req-aaaaaaaaaaaa", json!({ "action": "renew" }), 404).await;
    assert_eq!(unknown["type"], "no-such-request");

    let handed = json!({ "action": "hand_over", "to": "two", "content": "the rest is yours" });
    let handed = update(&one, &id, handed, 200).await;
    assert_eq!((&handed["owner"], handed.get("lease_seconds")), (&json!("two"), None));
    let complete = json!({ "action": "complete", "content": "painted" });
    assert_eq!(update(&one, &id, complete.clone(), 409).await["type"], "not-claimed");
    assert_eq!(update(&two, &id, complete, 200).await["status"], "completed");
    let thread = asker.get(&format!("/threads/{id}"), 200).await;
    assert!(thread.to_string().contains("painted"), "{thread}");

    let id = opened("sweep").await;
    one.post(&format!("/requests/{id}/claim"), &Value::Null, 200).await;
    let released = update(&one, &id, json!({ "action": "release" }), 200).await;
    assert_eq!(released, json!({ "request_id": id, "status": "open" }));
    two.post(&format!("/requests/{id}/claim"), &Value::Null, 200).await;
    let failed = json!({ "action": "fail", "content": "there is no broom" });
    assert_eq!(update(&two, &id, failed, 200).await["status"], "failed");
    web.end().await;
}

#[tokio::test]
async fn a_lane_has_one_owner_who_gets_its_mail_and_a_topic_has_followers() {
    let stage = founded().await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let one = program(&stage, &web, "one").await;
    let two = program(&stage, &web, "two").await;
    let claimed = one.post("/lanes/storage/claim", &Value::Null, 200).await;
    assert_eq!(claimed, json!({ "lane": "@storage", "owner": "one" }));
    assert_eq!(one.post("/lanes/@storage/claim", &json!({}), 200).await, claimed, "once more");
    let taken = two.post("/lanes/storage/claim", &Value::Null, 409).await;
    assert_eq!(taken["type"], "lane-taken", "{taken}");
    let lanes = two.get("/lanes", 200).await;
    assert_eq!(lanes["lanes"], json!([claimed]), "{lanes}");
    for (content, urgency) in [("low", 0.2), ("urgent", 0.95), ("usual", 0.5)] {
        let pulse = json!({
            "signal_type": "pulse", "content": content, "from_role": "two", "to_role": "storage",
            "urgency": urgency,
        });
        two.post("/emit", &pulse, 201).await;
    }
    let direct = json!({ "to": "one", "content": "to the name" });
    two.post("/messages", &direct, 201).await;
    let texts = |inbox: &Value| -> Vec<String> {
        let messages = inbox["messages"].as_array().unwrap().iter();
        messages.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
    };
    // The inbox of the role, the most urgent first, in pages: what comes meanwhile follows.
    let (mut pages, mut cursor) = (Vec::new(), String::new());
    for _ in 0..3 {
        let page = one.get(&format!("/inbox/storage?limit=1{cursor}"), 200).await;
        assert_eq!(page["has_more"], pages.len() < 2, "{page}");
        pages.extend(texts(&page));
        cursor = format!("&cursor={}", page["next_cursor"].as_str().unwrap());
    }
    assert_eq!(pages, ["urgent", "usual", "low"]);
    let rest = one.get(&format!("/inbox/storage?limit=9{cursor}"), 200).await;
    assert_eq!(texts(&rest).len(), 0, "{rest}");
    let late = json!({ "to": "@storage", "content": "late", "priority": "urgent" });
    two.post("/messages", &late, 201).await;
    for path in ["/inbox/@storage?limit=9", "/inbox/STORAGE?limit=9"] {
        let page = one.get(&format!("{path}{cursor}"), 200).await;
        assert_eq!(texts(&page), ["late"], "{path}: {page}");
    }
    assert_eq!(one.get("/inbox/storage?cursor=7", 400).await["type"], "wrong-query");
    let by_age = one.get("/inbox?to=@storage", 200).await;
    assert_eq!(texts(&by_age), ["low", "urgent", "usual", "late"]);
    assert_eq!(by_age["messages"][1]["priority"], "urgent");
    assert_eq!(by_age["messages"][0]["signal"], "pulse");
    assert_eq!(one.get("/inbox?to=two", 400).await["type"], "wrong-query");
    assert_eq!(two.get("/inbox/storage", 403).await["type"], "not-you");

    let not_mine = two.post("/lanes/storage/release", &Value::Null, 409).await;
    assert_eq!(not_mine["type"], "not-your-lane", "{not_mine}");
    let released = one.post("/lanes/storage/release", &Value::Null, 200).await;
    assert_eq!(released, json!({ "lane": "@storage" }));
    assert_eq!(two.get("/lanes", 200).await["lanes"], json!([]));
    for (lane, kind) in [("all", "wrong-word"), ("two", "wrong-word"), ("a%20b", "wrong-word")] {
        let refused = one.post(&format!("/lanes/{lane}/claim"), &Value::Null, 422).await;
        assert_eq!(refused["type"], kind, "{lane}: {refused}");
    }

    let follows = two.post("/topics/news/follow", &Value::Null, 200).await;
    assert_eq!(follows, json!({ "topic": "#news", "follows": true }));
    let sent = json!({ "to": "#news", "content": "read all about it" });
    let sent = one.post("/messages", &sent, 201).await;
    assert_eq!(sent["recipients"], json!([{ "name": "two", "live": true }]), "{sent}");
    assert_eq!(texts(&two.get("/inbox?to=%23news", 200).await), ["read all about it"]);
    two.post("/topics/news/leave", &Value::Null, 200).await;
    let again = two.post("/topics/news/leave", &Value::Null, 409).await;
    assert_eq!(again["type"], "not-followed", "{again}");
    web.end().await;
}

#[tokio::test]
async fn a_message_and_its_thread_are_resolved_with_a_note() {
    let stage = founded().await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let ann = program(&stage, &web, "ann").await;
    let ben = program(&stage, &web, "ben").await;
    let sent = json!({ "to": "ben", "content": "which parser?" });
    let id = ann.post("/messages", &sent, 201).await["message_id"].as_str().unwrap().to_owned();
    let path = format!("/messages/{id}/ack");
    let acked = ben.post(&path, &Value::Null, 200).await;
    assert_eq!(acked, json!({ "message_id": id, "status": "acked", "changed": true }));
    let resolved = json!({ "status": "resolved", "note": "the new one" });
    assert_eq!(ben.post(&path, &resolved, 200).await["status"], "resolved");
    let back = ben.post(&path, &json!({ "status": "acked" }), 200).await;
    assert_eq!((&back["status"], &back["changed"]), (&json!("resolved"), &json!(false)));
    let thread = ann.get(&format!("/threads/{id}"), 200).await;
    let first = &thread["messages"][0];
    assert_eq!(first["resolved"]["summary"], "the new one", "{first}");
    assert_eq!(first["receipts"][0]["status"], "resolved", "{first}");
    for (body, status, kind) in [
        (json!({ "note": "x".repeat(2_001) }), 422, "wrong-note"),
        (json!({ "note": " " }), 422, "empty-text"),
        (json!({ "status": "read" }), 400, "wrong-body"),
    ] {
        assert_eq!(ben.post(&path, &body, status).await["type"], kind, "{body}");
    }
    assert_eq!(ann.post(&path, &Value::Null, 409).await["type"], "own-message");
    web.end().await;
}

#[tokio::test]
async fn a_program_is_in_the_team_what_its_key_says() {
    let stage = founded().await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let boss = ApiClient::new(&stage, &web, "boss", &["--write"]).await;
    let labels = ["--write", "--role", "builder", "--capability", "rust", "--topic", "news"];
    let one = ApiClient::new(&stage, &web, "one", &labels).await;
    let two = ApiClient::new(&stage, &web, "two", &labels).await;
    let other = ApiClient::new(&stage, &web, "other", &["--write"]).await;
    for program in [&one, &two, &other] {
        program.get("/inbox", 200).await;
    }
    let sent = json!({ "to": "#news", "content": "It is out." });
    let sent = boss.post("/messages", &sent, 201).await;
    assert_eq!(sent["recipients"].as_array().unwrap().len(), 2, "{sent}");
    let asked = json!({ "to": "@builders", "description": "Build it." });
    let asked = boss.post("/requests", &asked, 201).await;
    let claim = format!("/requests/{}/claim", asked["request_id"].as_str().unwrap());
    assert_eq!(other.post(&claim, &json!(null), 409).await["type"], "not-for-you");
    one.post(&claim, &json!(null), 200).await;
    let inbox = two.get("/inbox?to=@rust", 200).await;
    assert_eq!(inbox["messages"], json!([]), "{inbox}");
    web.end().await;
}

#[tokio::test]
async fn what_a_revoked_key_said_of_its_program_ends_with_it() {
    let stage = founded().await;
    let web = WebServer::start(&stage, &["--write"]).await;
    let boss = ApiClient::new(&stage, &web, "boss", &["--write"]).await;
    let first = ApiClient::new(&stage, &web, "ci", &["--write", "--role", "builder"]).await;
    let second = ApiClient::new(&stage, &web, "ci", &["--write", "--role", "tester"]).await;
    first.get("/inbox", 200).await;
    second.get("/inbox", 200).await;
    boss.post("/messages", &json!({ "to": "@builder", "content": "Build it." }), 201).await;
    done(&stage, &["key", "revoke", &first.key_id]).await;
    second.get("/inbox", 200).await;
    boss.post("/messages", &json!({ "to": "@tester", "content": "Test it." }), 201).await;
    let lost = boss.post_any("/messages", &json!({ "to": "@builder", "content": "Again." })).await;
    assert_eq!(lost.0, 404, "{lost:?}");
    web.end().await;
}
