//! Waiting for a message.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::bus::rules::{Operation, Pick};
use crate::domain::messaging::DeliveryMethod;
use crate::domain::name::Name;
use crate::mcp::LazyMembership;
use crate::mcp::tests::fixture::{Client, Team, shape};
use crate::mcp::tools::endpoint_tools;
use crate::sys::random_ids;

#[tokio::test]
async fn a_wait_ends_with_the_next_message() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let id = bob.begin_call("wait_for_message", json!({ "timeout_seconds": 60 })).await;
    until_waiting(&mut ann, "bob").await;
    ann.call("send_message", json!({ "to": "bob", "content": "now" })).await;
    let expected = json!({
        "message": {
            "id": "a message",
            "type": "message",
            "from": "ann",
            "to": "bob",
            "content": "now",
            "timestamp": "a time",
            "thread_id": "a message",
        },
        "timed_out": false,
    });
    assert_eq!(shape(&bob.result(&id).await), expected);
}

/// Waits until the list shows the member as waiting.
async fn until_waiting(client: &mut crate::mcp::tests::fixture::Client, name: &str) {
    loop {
        let listed = client.call("list_agents", json!({})).await;
        let mut agents = listed["agents"].as_array().unwrap().iter();
        if agents.any(|agent| agent["name"] == name && agent["status"] == "waiting") {
            return;
        }
    }
}

#[tokio::test]
async fn a_wait_of_zero_seconds_returns_the_oldest_matching_message() {
    let team = Team::new();
    let (mut ann, mut bob, mut eve) =
        (team.member("ann").await, team.member("bob").await, team.member("eve").await);
    let look = json!({ "timeout_seconds": 0, "from": "eve" });
    assert_eq!(
        bob.call("wait_for_message", look.clone()).await,
        json!({ "message": null, "timed_out": true })
    );
    ann.call("send_message", json!({ "to": "bob", "content": "a" })).await;
    eve.call("send_message", json!({ "to": "bob", "content": "e" })).await;
    let found = bob.call("wait_for_message", look).await;
    assert_eq!(found["message"]["content"], "e");
    let found = bob.call("wait_for_message", json!({ "timeout_seconds": 0 })).await;
    assert_eq!(found["message"]["content"], "a");
}

#[tokio::test]
async fn a_wait_ends_at_its_timeout() {
    let team = Team::new();
    let mut bob = team.member("bob").await;
    assert_eq!(
        bob.call("wait_for_message", json!({ "timeout_seconds": 1 })).await,
        json!({ "message": null, "timed_out": true })
    );
}

#[tokio::test]
async fn an_impossible_wait_is_refused() {
    let team = Team::new();
    let mut bob = team.member("bob").await;
    let checks = [
        (json!({ "from": "bobb" }), "no member is named `bobb`: did you mean `bob`?"),
        (
            json!({ "reply_to": "msg-aaaaaaaaaaaa" }),
            "there is no message `msg-aaaaaaaaaaaa` that you sent or received, or it is too old to be found",
        ),
        (
            json!({ "reply_to": "req-aaaaaaaaaaaa" }),
            "`reply_to` is a message of yours: for the answer to a request, give request_id",
        ),
        (
            json!({ "request_id": "req-aaaaaaaa" }),
            "there is no request `req-aaaaaaaa`, or it is too old to be found: check_messages shows the open ones",
        ),
    ];
    for (arguments, expected) in checks {
        assert_eq!(bob.refused("wait_for_message", arguments).await, expected);
    }
}

#[tokio::test]
async fn a_time_over_its_limit_is_shortened_and_the_answer_says_so() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    ann.call("send_message", json!({ "to": "bob", "content": "now" })).await;
    let waited = bob.call("wait_for_message", json!({ "timeout_seconds": 600 })).await;
    assert_eq!(waited["message"]["content"], "now");
    assert_eq!(waited["note"], "timeout_seconds was shortened to 120, the most it can be");
    let request = json!({ "description": "x", "timeout_seconds": 86_401, "ttl_seconds": 86_402 });
    let opened = ann.call("request_task", request).await;
    assert_eq!(
        opened["note"],
        "timeout_seconds was shortened to 86400, the most it can be; ttl_seconds was shortened to \
            86400, the most it can be"
    );
}

#[tokio::test]
async fn a_waiting_client_that_asked_for_progress_hears_that_the_wait_goes_on() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let params = json!({
        "name": "wait_for_message",
        "arguments": { "timeout_seconds": 120 },
        "_meta": { "progressToken": "p-1" },
    });
    let id = bob.begin("tools/call", params).await;
    let mut last = 0.0;
    for _ in 0..2 {
        let report = bob.next().await;
        assert_eq!(report["method"], "notifications/progress", "{report}");
        assert_eq!(report["params"]["progressToken"], "p-1");
        assert!(report["params"].get("total").is_none(), "{report}");
        let message = report["params"]["message"].as_str().unwrap();
        assert!(message.ends_with(" of at most 120 s)"), "{message}");
        let progress = report["params"]["progress"].as_f64().unwrap();
        assert!(progress > last, "{report}");
        last = progress;
    }
    ann.call("send_message", json!({ "to": "bob", "content": "now" })).await;
    loop {
        let answer = bob.next().await;
        if answer["id"] == id {
            assert_eq!(answer["result"]["structuredContent"]["message"]["content"], "now");
            break;
        }
        assert_eq!(answer["method"], "notifications/progress", "{answer}");
    }
}

#[tokio::test]
async fn a_wait_for_the_answer_to_a_request_uses_its_id() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let request =
        ann.call("request_task", json!({ "description": "check it" })).await["request_id"].clone();
    bob.call("claim_request", json!({ "request_id": request })).await;
    let wait = json!({ "request_id": request, "timeout_seconds": 20 });
    let claimed = ann.call("wait_for_message", wait.clone()).await;
    assert_eq!(claimed["message"]["claimed_by"], "bob");
    let answer = json!({ "to": "ann", "content": "fine", "reply_to": request });
    bob.call("send_message", answer).await;
    let answered = ann.call("wait_for_message", wait).await;
    assert_eq!(answered["message"]["content"], "fine");
    assert_eq!(answered["message"]["type"], "response");
    assert_eq!(answered["message"]["request_id"], request);
}

#[tokio::test]
async fn a_wait_ends_at_once_with_a_message_in_the_turn_and_begins_once_that_was_seen() {
    let team = Team::new();
    let (mut ann, membership) = (team.member("ann").await, team.membership("bob").await);
    let mut bob = Client::of(endpoint_tools::server(LazyMembership::taken(membership.clone())));
    bob.initialize().await;
    let session = membership.session();
    let steer = |call| Operation::Take {
        session,
        call,
        method: DeliveryMethod::Steer,
        pick: Pick::any(10, 1000, 1000),
    };
    let settle = |call, seen| Operation::Settle { session, call, seen };
    let wait = json!({ "timeout_seconds": 60 });
    ann.call("send_message", json!({ "to": "bob", "content": "one" })).await;
    let call = random_ids::call();
    membership.ask(steer(call)).await.unwrap();
    let other = json!({ "from": "ann", "timeout_seconds": 60 });
    let waited = bob.call("wait_for_message", other).await;
    assert_eq!(waited["message"]["content"], "one");
    assert!(waited["note"].is_string(), "{waited}");
    membership.ask(settle(call, false)).await.unwrap();

    ann.call("send_message", json!({ "to": "bob", "content": "two" })).await;
    let call = random_ids::call();
    membership.ask(steer(call)).await.unwrap();
    membership.ask(settle(call, true)).await.unwrap();
    let waiting = bob.begin_call("wait_for_message", wait).await;
    until_waiting(&mut ann, "bob").await;
    ann.call("send_message", json!({ "to": "bob", "content": "three" })).await;
    assert_eq!(bob.result(&waiting).await["message"]["content"], "three");
}

/// Answers the next message with that text, as soon as there is one.
async fn answer_next(client: &mut Client, content: &str) {
    let asked = client.call("wait_for_message", json!({ "timeout_seconds": 60 })).await;
    let message = &asked["message"];
    let answer = json!({ "to": message["from"], "content": content, "reply_to": message["id"] });
    client.call("send_message", answer).await;
}

#[tokio::test]
async fn a_message_that_waits_has_its_answer_in_the_result() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let ask = json!({ "to": "bob", "content": "which colour?", "wait_seconds": 60 });
    let (asked, ()) = tokio::join!(ann.call("send_message", ask), answer_next(&mut bob, "green"));
    assert_eq!(asked["reply"]["content"], "green");
    assert_eq!(asked["reply"]["reply_to"], asked["message_id"]);
    assert_eq!(asked["timed_out"], false);
    assert_eq!(asked.get("note"), None, "{asked}");

    let expected = json!({
        "message_id": "a message",
        "delivered": true,
        "recipients": [{ "name": "bob", "id": "s2", "state": "live" }],
        "reply": null,
        "timed_out": true,
    });
    let ask = json!({ "to": "bob", "content": "and the size?", "wait_seconds": 1 });
    let unanswered = ann.call("send_message", ask).await;
    assert_eq!(shape(&unanswered), expected);
    // It comes later, among other messages.
    bob.call("send_message", json!({ "to": "ann", "content": "by the way" })).await;
    let wait = json!({ "reply_to": unanswered["message_id"], "timeout_seconds": 60 });
    let answer = async {
        let (to, reply_to) = ("ann", &unanswered["message_id"]);
        let answer = json!({ "to": to, "content": "large", "reply_to": reply_to });
        bob.call("send_message", answer).await;
    };
    let (answered, ()) = tokio::join!(ann.call("wait_for_message", wait), answer);
    assert_eq!(answered["message"]["content"], "large");
}

#[tokio::test]
async fn a_wait_for_an_answer_has_one_recipient_and_a_time() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    for to in ["all", "@bob", "#news"] {
        let ask = json!({ "to": to, "content": "ready?", "wait_seconds": 5 });
        let said = ann.refused("send_message", ask).await;
        let expected =
            format!("wait_seconds waits for the answer of one member, and `{to}` is a group: ");
        assert!(said.starts_with(&expected), "{said}");
    }
    let ask = json!({ "to": "bob", "content": "ready?", "wait_seconds": 0 });
    let said = ann.refused("send_message", ask).await;
    assert_eq!(said, "wait_seconds is 0: leave it out to return at once");
    let nothing = bob.call("check_messages", json!({})).await;
    assert_eq!(nothing["messages"], json!([]), "nothing is sent");

    let ask = json!({ "to": "bob", "content": "ready?", "wait_seconds": 600 });
    let (asked, ()) = tokio::join!(ann.call("send_message", ask), answer_next(&mut bob, "yes"));
    assert_eq!(asked["note"], "wait_seconds was shortened to 120, the most it can be");
}

#[tokio::test]
async fn the_answer_to_a_cancelled_wait_is_unread() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let ask = json!({ "to": "bob", "content": "which colour?", "wait_seconds": 60 });
    let mut watcher = team.member("watcher").await;
    let id = ann.begin_call("send_message", ask).await;
    until_waiting(&mut watcher, "ann").await;
    ann.notify("notifications/cancelled", json!({ "requestId": id })).await;
    let asked = bob.call("wait_for_message", json!({ "timeout_seconds": 60 })).await;
    let reply_to = &asked["message"]["id"];
    let answer = json!({ "to": "ann", "content": "green", "reply_to": reply_to });
    bob.call("send_message", answer).await;
    let found = ann.call("wait_for_message", json!({ "timeout_seconds": 60 })).await;
    assert_eq!(found["message"]["content"], "green");
}

#[tokio::test]
async fn a_circle_of_three_is_named_and_its_message_is_sent() {
    let team = Team::new();
    let (mut ann, mut bob, mut cay) =
        (team.member("ann").await, team.member("bob").await, team.member("cay").await);
    let mut watcher = team.member("watcher").await;
    let ask = |to: &str| json!({ "to": to, "content": "ready?", "wait_seconds": 60 });
    let of_ann = ann.begin_call("send_message", ask("bob")).await;
    until_waiting(&mut watcher, "ann").await;
    let of_bob = bob.begin_call("send_message", ask("cay")).await;
    until_waiting(&mut watcher, "bob").await;
    let refused = cay.call("send_message", ask("ann")).await;
    let from_bob = refused["inbox"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(refused["reply"], json!(null));
    assert_eq!(refused["timed_out"], false);
    assert_eq!(
        refused["note"],
        format!(
            "sent, but not waited: you would wait in a circle, because `ann` waits for `bob` and `bob` \
                waits for you: answer `bob` first, with `{from_bob}` as reply_to"
        )
    );
    // It answers, and so do the others.
    let answer =
        |to: &str, reply_to: &str| json!({ "to": to, "content": "yes", "reply_to": reply_to });
    cay.call("send_message", answer("bob", &from_bob)).await;
    let answered = bob.result(&of_bob).await;
    assert_eq!(answered["reply"]["content"], "yes");
    let from_ann = answered["inbox"][0]["id"].as_str().unwrap();
    bob.call("send_message", answer("ann", from_ann)).await;
    let answered = ann.result(&of_ann).await;
    assert_eq!(answered["reply"]["content"], "yes");
    assert_eq!(answered["inbox"][0]["from"], "cay");
}

#[tokio::test]
async fn an_answer_that_was_read_before_is_the_answer_of_a_later_wait_too() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let ask = json!({ "to": "bob", "content": "which colour?" });
    let asked = ann.call("send_message", ask).await;
    answer_next(&mut bob, "green").await;
    let read = ann.call("check_messages", json!({})).await;
    assert_eq!(read["messages"][0]["content"], "green");
    for _ in 0..2 {
        let wait = json!({ "reply_to": asked["message_id"], "timeout_seconds": 120 });
        let waited = ann.call("wait_for_message", wait).await;
        assert_eq!(waited["message"]["content"], "green");
        assert_eq!(
            (&waited["message"]["again"], &waited["timed_out"]),
            (&json!(true), &json!(false))
        );
    }
}

/// Returns the results of two calls by their ids, in whatever order they come.
async fn two_results(client: &mut Client) -> BTreeMap<String, Value> {
    let mut results = BTreeMap::new();
    while results.len() < 2 {
        let answer = client.next().await;
        results.insert(answer["id"].to_string(), answer["result"]["structuredContent"].clone());
    }
    results
}

#[tokio::test]
async fn of_two_waits_for_one_answer_both_get_it() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let ask = json!({ "to": "bob", "content": "which colour?" });
    let asked = ann.call("send_message", ask).await;
    let wait = json!({ "reply_to": asked["message_id"], "timeout_seconds": 120 });
    let first = ann.begin_call("wait_for_message", wait.clone()).await;
    let second = ann.begin_call("wait_for_message", wait).await;
    let bus = team.bus();
    let both_wait = || {
        bus.look(|state| {
            let session = state.live(&Name::parse("ann").unwrap()).unwrap();
            session.waits.len() == 2
        })
    };
    let mut changes = bus.changes();
    while !both_wait() {
        changes.changed().await.unwrap();
    }
    answer_next(&mut bob, "green").await;
    let answers = two_results(&mut ann).await;
    for id in [first, second] {
        assert_eq!(answers[&id.to_string()]["message"]["content"], "green", "{answers:?}");
    }
}

#[tokio::test]
async fn a_wait_for_the_answer_to_a_superseded_question_names_the_new_one() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let ask = json!({ "to": "bob", "content": "which colour?" });
    let asked = ann.call("send_message", ask).await["message_id"].clone();
    let wait = json!({ "reply_to": asked, "timeout_seconds": 120 });
    let waiting = ann.begin_call("wait_for_message", wait.clone()).await;
    until_waiting(&mut bob, "ann").await;
    // bob has seen the first one.
    bob.call("check_messages", json!({})).await;
    bob.call("check_messages", json!({})).await;
    let better =
        json!({ "to": "bob", "content": "and which size?", "more": { "supersedes": asked } });
    let id = ann.begin_call("send_message", better).await;
    let answers = two_results(&mut ann).await;
    let by = &answers[&id.to_string()]["message_id"];
    let note = format!(
        "you have sent `{}` in the place of `{}`: wait for the answer to that one",
        by.as_str().unwrap(),
        asked.as_str().unwrap()
    );
    let expected = json!({ "message": null, "timed_out": false, "note": note });
    assert_eq!(answers[&waiting.to_string()], expected);
    // So does a wait that begins later.
    assert_eq!(ann.call("wait_for_message", wait).await, expected);
}
