//! Sending and reading.

use serde_json::{Value, json};

use crate::mcp::LazyMembership;
use crate::mcp::tests::fixture::{Client, Team, shape};
use crate::mcp::tools::endpoint_tools;

fn contents(result: &Value) -> Vec<&str> {
    let messages = result["messages"].as_array().unwrap().iter();
    messages.map(|message| message["content"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_message_is_delivered_and_read_once() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);

    let sent = ann.call("send_message", json!({ "to": "bob", "content": "hello" })).await;
    let expected = json!({
        "message_id": "a message",
        "delivered": true,
        "recipients": [{ "name": "bob", "id": "s2", "state": "live" }],
    });
    assert_eq!(shape(&sent), expected);

    let read = bob.call("check_messages", json!({})).await;
    let expected = json!({ "messages": [{
        "id": "a message",
        "type": "message",
        "from": "ann",
        "to": "bob",
        "content": "hello",
        "timestamp": "a time",
        "thread_id": "a message",
    }] });
    assert_eq!(shape(&read), expected);
    assert_eq!(read["messages"][0]["id"], sent["message_id"]);
    assert_eq!(read["messages"][0]["thread_id"], sent["message_id"]);
    assert_eq!(bob.call("check_messages", json!({})).await, json!({ "messages": [] }));
}

#[tokio::test]
async fn an_urgent_message_is_marked_and_other_priorities_are_refused() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    for priority in ["urgent", "normal"] {
        let message = json!({ "to": "bob", "content": "hello", "priority": priority });
        ann.call("send_message", message).await;
    }
    let read = bob.call("check_messages", json!({})).await;
    assert_eq!(read["messages"][0]["priority"], "urgent");
    assert_eq!(read["messages"][1].get("priority"), None);
    let message = json!({ "to": "bob", "content": "hello", "priority": "asap" });
    let refused = ann.refused("send_message", message).await;
    let expected = "`priority` of `send_message` must be `low`, `normal`, `high` or `urgent`, not the string \"asap\"";
    assert_eq!(refused, expected);
}

#[tokio::test]
async fn an_answer_stays_in_its_thread_and_rides_along_on_the_next_result() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let sent = ann.call("send_message", json!({ "to": "bob", "content": "well?" })).await;
    let answer = json!({ "to": "ann", "content": "yes", "reply_to": sent["message_id"] });
    let answered = bob.call("send_message", answer).await;
    assert_eq!(
        answered["inbox"][0]["content"], "well?",
        "the question itself had not been read: {answered}"
    );

    let listed = ann.call("list_agents", json!({})).await;
    let expected = json!([{
        "id": answered["message_id"],
        "type": "message",
        "from": "bob",
        "to": "ann",
        "content": "yes",
        "timestamp": listed["inbox"][0]["timestamp"],
        "reply_to": sent["message_id"],
        "thread_id": sent["message_id"],
    }]);
    assert_eq!(listed["inbox"], expected);
    assert!(contents(&ann.call("check_messages", json!({})).await).is_empty());
}

#[tokio::test]
async fn a_message_to_an_absent_member_is_kept_and_not_reported_as_delivered() {
    let team = Team::new();
    let mut ann = team.member("ann").await;
    team.member("bob").await.close().await;
    let bob = team.membership("bob").await;
    bob.leave(crate::domain::member::Departure::Closed).await.unwrap();

    let sent = ann.call("send_message", json!({ "to": "bob", "content": "later" })).await;
    assert_eq!(sent["delivered"], false);
    assert_eq!(sent["recipients"], json!([{ "name": "bob", "state": "absent" }]));
    let mut bob = team.member("bob").await;
    assert_eq!(contents(&bob.call("check_messages", json!({})).await), ["later"]);
}

#[tokio::test]
async fn an_unknown_recipient_is_refused_with_the_nearest_name() {
    let team = Team::new();
    let mut ann = team.member("ann").await;
    let _codex = team.membership("codex").await;
    let text = ann.refused("send_message", json!({ "to": "codx", "content": "hello" })).await;
    assert_eq!(text, "no member is named `codx`: did you mean `codex`?");
    for to in ["../../etc/passwd", "", "everyone", "a\u{0}b"] {
        ann.refused("send_message", json!({ "to": to, "content": "hello" })).await;
    }
}

#[tokio::test]
async fn limit_and_sender_select_messages_and_the_others_stay_unread() {
    let team = Team::new();
    let (mut ann, mut bob, mut eve) =
        (team.member("ann").await, team.member("bob").await, team.member("eve").await);
    for content in ["1", "2", "3"] {
        ann.call("send_message", json!({ "to": "bob", "content": content })).await;
    }
    eve.call("send_message", json!({ "to": "bob", "content": "x" })).await;

    let first = bob.call("check_messages", json!({ "agent_id": "ann", "limit": 2 })).await;
    assert_eq!(contents(&first), ["1", "2"]);
    assert!(first["next_cursor"].is_string(), "{first}");
    let rest = bob.call("check_messages", json!({})).await;
    assert_eq!(contents(&rest), ["3", "x"]);
    assert_eq!(rest.get("next_cursor"), None);
    let text = bob.refused("check_messages", json!({ "agent_id": "annn" })).await;
    assert_eq!(text, "no member is named `annn`: did you mean `ann`?");
}

#[tokio::test]
async fn a_cursor_reads_the_whole_history_and_changes_nothing() {
    let team = Team::new();
    let (mut ann, mut bob, mut eve) =
        (team.member("ann").await, team.member("bob").await, team.member("eve").await);
    for content in ["1", "2", "3"] {
        ann.call("send_message", json!({ "to": "bob", "content": content })).await;
    }
    ann.call("send_message", json!({ "to": "eve", "content": "secret" })).await;
    bob.call("check_messages", json!({ "limit": 1 })).await;

    let mut seen = Vec::new();
    let mut cursor = json!("0");
    while cursor.is_string() {
        let page = bob.call("check_messages", json!({ "cursor": cursor, "limit": 1 })).await;
        seen.extend(contents(&page).into_iter().map(str::to_owned));
        cursor = page["next_cursor"].clone();
    }
    assert_eq!(seen, ["1", "2", "3"]);
    assert_eq!(contents(&bob.call("check_messages", json!({})).await), ["2", "3"]);
    let sent = ann.call("check_messages", json!({ "cursor": "0" })).await;
    assert_eq!(contents(&sent), ["1", "2", "3", "secret"]);
    assert_eq!(contents(&eve.call("check_messages", json!({ "cursor": "0" })).await), ["secret"]);
}

#[tokio::test]
async fn a_long_message_comes_in_parts_that_make_up_the_whole() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    let long = "größer ".repeat(30_000);
    let sent = ann.call("send_message", json!({ "to": "bob", "content": long })).await;

    let read = bob.call("check_messages", json!({})).await;
    let mut part = read["messages"][0].clone();
    let mut whole = String::new();
    loop {
        assert_eq!(part["content_bytes"], long.len());
        whole += part["content"].as_str().unwrap();
        let Some(offset) = part["next_offset"].as_u64() else {
            break;
        };
        assert_eq!(offset, whole.len() as u64);
        let rest = json!({ "id": sent["message_id"], "offset": offset });
        part = bob.call("check_messages", rest).await["messages"][0].clone();
    }
    assert!(whole == long);

    let mut eve = team.member("eve").await;
    eve.refused("check_messages", json!({ "id": sent["message_id"] })).await;
}

#[tokio::test]
async fn an_answer_has_no_more_text_than_clients_read() {
    let team = Team::new();
    let (mut ann, mut bob) = (team.member("ann").await, team.member("bob").await);
    for content in ["a", "b", "c"] {
        let content = content.repeat(20 * 1024);
        ann.call("send_message", json!({ "to": "bob", "content": content })).await;
    }
    let mut cursor = json!("0");
    for _ in 0..3 {
        let read = bob.call("check_messages", json!({})).await;
        assert_eq!(contents(&read).len(), 1);
        let back = bob.call("check_messages", json!({ "cursor": cursor }));
        let back = back.await;
        assert_eq!(contents(&back).len(), 1);
        cursor = back["next_cursor"].clone();
    }
}

#[tokio::test]
async fn no_answer_exceeds_the_limit_of_its_reader_whatever_its_content() {
    const SHOWN: usize = 9_000;
    let team = Team::new();
    let (mut ann, membership) = (team.member("ann").await, team.membership("bob").await);
    let membership = membership.with_answers_of(SHOWN);
    let mut bob = Client::of(endpoint_tools::server(LazyMembership::taken(membership)));
    bob.initialize().await;
    let texts = ["plain ", "\"quoted\"\n", "\u{1}.", "grün €", "\\", "\t."];
    let mut messages = 0;
    for text in texts {
        for times in [1, 200, 1500, 20_000] {
            let message = json!({ "to": "bob", "content": text.repeat(times) });
            ann.call("send_message", message).await;
            messages += 1;
        }
    }
    let (mut shown, mut cursor) = (0, json!("0"));
    while shown < messages {
        // Alternating between tools, as models do.
        let tools = [
            ("check_messages", json!({})),
            ("wait_for_message", json!({ "timeout_seconds": 0 })),
            ("list_agents", json!({})),
            ("check_messages", json!({ "cursor": cursor })),
        ];
        for (tool, arguments) in tools {
            let looks_back = arguments.get("cursor").is_some();
            let answer = bob.call(tool, arguments).await;
            let text = serde_json::to_string_pretty(&answer).unwrap();
            assert!(text.len() <= SHOWN, "{tool}: {} bytes", text.len());
            if looks_back {
                cursor = match &answer["next_cursor"] {
                    Value::Null => cursor,
                    next => next.clone(),
                };
                continue;
            }
            let lists = [&answer["messages"], &answer["inbox"]];
            let listed = lists.iter().filter_map(|list| list.as_array());
            shown += listed.map(Vec::len).sum::<usize>();
            shown += usize::from(answer["message"].is_object());
        }
    }
}

#[tokio::test]
async fn invalid_arguments_are_named() {
    let team = Team::new();
    let mut ann = team.member("ann").await;
    let checks = [
        ("send_message", json!({ "content": "x" }), "`send_message` needs `to`, a string"),
        (
            "send_message",
            json!({ "to": "ann", "content": 5 }),
            "`content` of `send_message` must be a string, not 5",
        ),
        (
            "send_message",
            json!({ "to": "ann", "content": "x", "replyto": "m" }),
            "`send_message` has no argument `replyto` (use `reply_to`)",
        ),
        ("check_messages", json!({ "limit": 501 }), "limit is 501; it must be 1 to 500"),
        ("check_messages", json!({ "limit": 0 }), "limit is 0; it must be 1 to 500"),
        (
            "check_messages",
            json!({ "cursor": "x" }),
            "invalid cursor: use a next_cursor, or \"0\" for the oldest",
        ),
        ("check_messages", json!({ "offset": 1 }), "offset needs the id of its message"),
        (
            "check_messages",
            json!({ "id": "msg-1", "offset": 1 }),
            "\"msg-1\" is not a message id: one looks like `msg-k3j7x2abq5wt`",
        ),
        (
            "list_agents",
            json!({ "all": true }),
            "`list_agents` has no argument `all`: it takes none",
        ),
    ];
    for (tool, arguments, expected) in checks {
        assert_eq!(ann.refused(tool, arguments).await, expected);
    }
}

#[tokio::test]
async fn a_message_to_the_user_says_that_it_waits_for_them() {
    let team = Team::new();
    let mut ann = team.member("ann").await;
    let sent = ann.call("send_message", json!({ "to": "human", "content": "done" })).await;
    assert_eq!(
        sent["note"],
        "it waits for your user; what you say in your own answer reaches them too"
    );
    let _bob = team.membership("bob").await;
    let sent = ann.call("send_message", json!({ "to": "bob", "content": "done" })).await;
    assert_eq!(sent.get("note"), None, "{sent}");
}
