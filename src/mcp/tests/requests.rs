//! Offering work and claiming it.

use serde_json::json;

use super::fixture::{Team, shape};
use crate::bus::rules::{Description, NameChoice, Operation};
use crate::bus::{Joining, Membership};
use crate::domain::limits::TeamLimits;
use crate::domain::member::MemberKind;
use crate::domain::name::Name;

#[tokio::test]
async fn a_request_is_claimed_once_and_the_other_member_gets_the_claimer() {
    let team = Team::new();
    let (mut ann, mut bob, mut eve) =
        (team.member("ann").await, team.member("bob").await, team.member("eve").await);
    let offered = json!({ "description": "review it", "context": "the parser" });
    let opened = ann.call("request_task", offered).await;
    assert_eq!(shape(&opened), json!({ "request_id": "a request", "status": "open" }));
    let read = bob.call("check_messages", json!({})).await;
    let expected = json!({ "messages": [{
        "id": "a message",
        "type": "request",
        "from": "ann",
        "to": "all",
        "content": "review it\n\nContext: the parser",
        "timestamp": "a time",
        "request_id": "a request",
        "thread_id": "a message",
    }] });
    assert_eq!(shape(&read), expected);

    let claim = json!({ "request_id": opened["request_id"] });
    let won = bob.call("claim_request", claim.clone()).await;
    let expected = json!({
        "claimed": true,
        "request": {
            "request_id": "a request",
            "from": "ann",
            "description": "review it",
            "context": "the parser",
            "status": "claimed",
            "claimed_by": "bob",
            "timestamp": "a time",
        },
    });
    assert_eq!(shape(&won), expected);
    let again = bob.call("claim_request", claim.clone()).await;
    assert_eq!(shape(&again), expected);

    let lost = eve.call("claim_request", claim.clone()).await;
    assert_eq!(lost["claimed"], false);
    assert_eq!(lost["request"]["claimed_by"], "bob");
    let reason = lost["reason"].as_str().unwrap();
    assert!(reason.ends_with("is claimed by bob"), "{reason}");

    let own = ann.refused("claim_request", claim).await;
    assert!(own.contains("is your own"), "{own}");
}

#[tokio::test]
async fn the_owners_answer_completes_the_request() {
    let team = Team::new();
    let (mut ann, mut bob, mut eve) =
        (team.member("ann").await, team.member("bob").await, team.member("eve").await);
    let opened = ann.call("request_task", json!({ "description": "review it" })).await;
    let claim = json!({ "request_id": opened["request_id"] });
    bob.call("claim_request", claim.clone()).await;
    let answer = json!({ "to": "ann", "content": "done", "reply_to": opened["request_id"] });
    bob.call("send_message", answer).await;
    let lost = eve.call("claim_request", claim).await;
    assert_eq!(lost["claimed"], false);
    assert_eq!(lost["request"]["status"], "completed");
    assert_eq!(lost["request"].get("context"), None);
}

#[tokio::test]
async fn the_rest_of_a_long_request_is_read_in_its_message() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let context = "long ".repeat(20_000);
    let opened =
        ann.call("request_task", json!({ "description": "what", "context": context })).await;
    let won = bob.call("claim_request", json!({ "request_id": opened["request_id"] })).await;
    let request = &won["request"];
    let shown = request["context"].as_str().unwrap().to_owned();
    assert!(shown.len() < context.len());
    let (mut whole, mut offset) = (shown, request["next_offset"].clone());
    while offset.is_u64() {
        let rest = json!({ "id": request["message_id"], "offset": offset });
        let part = bob.call("check_messages", rest).await["messages"][0].clone();
        whole += part["content"].as_str().unwrap();
        offset = part["next_offset"].clone();
    }
    assert!(whole == context);
}

#[tokio::test]
async fn an_owner_reports_hands_over_and_completes() {
    let team = Team::new();
    let (mut ann, mut bob, mut eve) =
        (team.member("ann").await, team.member("bob").await, team.member("eve").await);
    let opened =
        ann.call("request_task", json!({ "description": "review it", "lease_seconds": 60 })).await;
    let id = &opened["request_id"];
    bob.call("claim_request", json!({ "request_id": id })).await;
    let half = json!({ "id": id, "action": "progress", "content": "half of it" });
    let told = bob.call("update_claim", half).await;
    let expected = json!({
        "id": "a request",
        "status": "claimed",
        "owner": "bob",
        "lease_seconds": 60,
    });
    assert_eq!(shape(&told), expected);
    let read = ann.call("check_messages", json!({})).await;
    let contents: Vec<_> =
        read["messages"].as_array().unwrap().iter().map(|one| one["content"].clone()).collect();
    assert_eq!(contents, ["claimed by bob", "half of it"]);

    let over =
        json!({ "id": id, "action": "hand_over", "to": "eve", "content": "the tests are left" });
    let given = bob.call("update_claim", over).await;
    let expected = json!({ "id": "a request", "status": "claimed", "owner": "eve" });
    assert_eq!(shape(&given), expected);
    let late = bob
        .refused("update_claim", json!({ "id": id, "action": "complete", "content": "mine" }))
        .await;
    assert!(late.ends_with("is not yours: `eve` owns it"), "{late}");
    let read = eve.call("check_messages", json!({})).await;
    let contents = read["messages"].to_string();
    for part in ["review it", "you own it now", "the tests are left"] {
        assert!(contents.contains(part), "{contents}");
    }
    let done = json!({ "id": id, "action": "complete", "content": "all fine" });
    assert_eq!(eve.call("update_claim", done).await["status"], "completed");
    let read = ann.call("check_messages", json!({})).await.to_string();
    assert!(read.contains("handed over to eve") && read.contains("all fine"), "{read}");
}

#[tokio::test]
async fn invalid_requests_are_refused() {
    let team = Team::new();
    let mut ann = team.member("ann").await;
    let checks = [
        ("request_task", json!({ "description": " " }), "description is empty: give it some text"),
        (
            "request_task",
            json!({ "description": "x", "ttl_seconds": 0 }),
            "ttl_seconds is 0; it must be 1 to 86400",
        ),
        (
            "claim_request",
            json!({ "request_id": "msg-aaaaaaaa" }),
            "\"msg-aaaaaaaa\" is not a request id: one looks like `req-k3j7x2abq5wt`",
        ),
        (
            "claim_request",
            json!({ "request_id": "req-aaaaaaaa" }),
            "there is no request `req-aaaaaaaa`, or it is too old to be found: check_messages shows the open ones",
        ),
    ];
    for (tool, arguments, expected) in checks {
        assert_eq!(ann.refused(tool, arguments).await, expected);
    }
}

#[tokio::test]
async fn a_claim_with_a_cancelled_answer_is_released_but_an_earlier_one_is_not() {
    let team = Team::new();
    let (mut ann, mut bob, mut eve) =
        (team.member("ann").await, team.member("bob").await, team.member("eve").await);
    let opened = ann.call("request_task", json!({ "description": "review it" })).await;
    let claim = json!({ "request_id": opened["request_id"] });
    let id = bob.begin_call("claim_request", claim.clone()).await;
    assert_eq!(bob.result(&id).await["claimed"], true);
    bob.notify("notifications/cancelled", json!({ "requestId": id })).await;
    // The claim, and its release.
    for words in ["claimed by bob", "is open again"] {
        let news = json!({ "timeout_seconds": 10, "request_id": opened["request_id"] });
        let answer = ann.call("wait_for_message", news).await;
        let content = answer["message"]["content"].as_str();
        assert!(content.is_some_and(|content| content.contains(words)), "{answer}");
    }

    let id = eve.begin_call("claim_request", claim.clone()).await;
    assert_eq!(eve.result(&id).await["claimed"], true);
    let again = eve.begin_call("claim_request", claim.clone()).await;
    assert_eq!(eve.result(&again).await["claimed"], true);
    eve.notify("notifications/cancelled", json!({ "requestId": again })).await;
    eve.call("list_agents", json!({})).await;
    assert_eq!(bob.call("claim_request", claim).await["claimed"], false);
}

#[tokio::test]
async fn the_same_work_offered_twice_at_once_is_one_request() {
    let team = Team::at_rest();
    let joining = Joining {
        choice: NameChoice::Chosen(Name::parse("boss").unwrap()),
        kind: MemberKind::Orchestrator,
        roles: Vec::new(),
        description: Description::default(),
    };
    let boss = Membership::join(&team.bus(), joining).await.unwrap();
    let limits = TeamLimits { messages_per_minute: 60, message_burst: 20, ..TeamLimits::default() };
    boss.ask(Operation::Limit(limits)).await.unwrap();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);

    let offered = json!({ "description": "review it", "to": "bob" });
    let first = ann.call("request_task", offered.clone()).await;
    let id = &first["request_id"];
    let expected = json!({ "request_id": id, "status": "open", "duplicate": true });
    assert_eq!(ann.call("request_task", offered.clone()).await, expected);
    bob.call("claim_request", json!({ "request_id": id })).await;
    ann.call("check_messages", json!({})).await;
    let expected = json!({ "request_id": id, "status": "claimed", "duplicate": true });
    assert_eq!(ann.call("request_task", offered).await, expected);

    let work = json!({ "to": "all", "signal": "task", "content": "review it" });
    let first = ann.call("send_message", work.clone()).await;
    assert_eq!(first["duplicate"], json!(null), "{first}");
    let mut again = ann.call("send_message", work).await;
    assert_eq!(again["duplicate"].take(), true, "{again}");
    let mut expected = first.clone();
    expected["duplicate"] = json!(null);
    assert_eq!(again, expected);
}
