//! Lines that are no messages, and more lines than a server reads: every request has its answer.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio_util::sync::CancellationToken;

use super::fixture::{Client, PATIENCE, Team};
use crate::mcp::serve;
use crate::mcp::tools::endpoint_tools;
use crate::mcp::{LazyMembership, ServerEnd};

/// Sends a raw line and returns the error that answers it.
async fn refused(client: &mut Client, line: &[u8]) -> Value {
    client.bytes(line).await;
    let answer = client.next().await;
    assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
    assert!(answer.as_object().unwrap().contains_key("id"), "{answer}");
    answer
}

#[track_caller]
fn says(answer: &Value, id: &Value, code: i64, words: &str) {
    assert_eq!(answer["id"], *id, "{answer}");
    assert_eq!(answer["error"]["code"], code, "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains(words), "{message}");
}

/// Makes a call of `send_message` whose text is written unescaped.
fn sending(id: u32, text: &[u8]) -> Vec<u8> {
    let head = r#"{"method":"tools/call","params":{"name":"send_message","arguments":{"to":"ben","content":""#;
    let tail = format!("\"}}}},\"jsonrpc\":\"2.0\",\"id\":{id}}}");
    [head.as_bytes(), text, tail.as_bytes()].concat()
}

#[tokio::test]
async fn half_characters_and_invalid_utf8_reach_the_tool_as_replacements() {
    let team = Team::new();
    let mut ann = team.member("ann").await;
    let mut ben = team.member("ben").await;
    for (id, text, expected) in [
        (7, b"cut \\ud83d".as_slice(), "cut \u{fffd}"),
        (8, b"bad \xff\xfe", "bad \u{fffd}\u{fffd}"),
        (9, b"whole \\ud83d\\ude00", "whole \u{1f600}"),
    ] {
        ann.bytes(&sending(id, text)).await;
        ann.result(&json!(id)).await;
        let inbox = ben.call("check_messages", json!({})).await;
        assert_eq!(inbox["messages"][0]["content"], expected, "{inbox}");
    }
}

#[tokio::test]
async fn invalid_json_is_answered_with_its_id() {
    let team = Team::new();
    let mut ann = team.member("ann").await;
    let answer = refused(&mut ann, b"no JSON at all").await;
    says(&answer, &Value::Null, -32700, "not JSON");
    let answer = refused(&mut ann, b"{\"half\":").await;
    says(&answer, &Value::Null, -32700, "not JSON");
    let cut =
        b"{\"jsonrpc\":\"2.0\",\"id\":\"a\\\"1\",\"method\":\"tools/call\",\"params\":{\"id\":3";
    says(&refused(&mut ann, cut).await, &json!("a\"1"), -32700, "");
    let deep = [vec![b'['; 500], vec![b']'; 500]].concat();
    let deep = [
        b"{\"method\":\"tools/call\",\"params\":{\"name\":\"list_agents\",\"arguments\":{\"a\":"
            .as_slice(),
        &deep,
        b"}},\"jsonrpc\":\"2.0\",\"id\":12}",
    ];
    let answer = refused(&mut ann, &deep.concat()).await;
    says(&answer, &json!(12), -32700, "recursion limit");
    // A possible answer to a request of ours has an id of ours, not of the client.
    let answer = refused(&mut ann, b"{\"id\":5,\"result\":{,}}").await;
    says(&answer, &Value::Null, -32700, "not JSON");
    ann.call("list_agents", json!({})).await;
}

#[tokio::test]
async fn a_line_over_the_limit_is_answered_with_its_id_and_the_limit() {
    let team = Team::new();
    let mut ann = team.member("ann").await;
    let line = sending(31, &vec![b'x'; 9 * 1024 * 1024]);
    let answer = refused(&mut ann, &line).await;
    says(&answer, &json!(31), -32600, "8388608 bytes");
    ann.call("list_agents", json!({})).await;
}

#[tokio::test]
async fn a_line_that_is_no_request_is_refused_with_the_reason() {
    let team = Team::new();
    let mut ann = team.member("ann").await;
    for (line, id, words) in [
        (
            "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
            Value::Null,
            "one message per line",
        ),
        ("42", Value::Null, "object"),
        ("{\"jsonrpc\":\"2.0\",\"id\":3}", json!(3), "`method`"),
        ("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":4}", json!(3), "`method`"),
        ("{\"id\":\"x\",\"method\":\"ping\"}", json!("x"), "`jsonrpc`"),
        ("{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", json!(1.5), "`id`"),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":9223372036854775808,\"method\":\"ping\"}",
            json!(9_223_372_036_854_775_808_u64),
            "at most 9223372036854775807",
        ),
        ("{\"jsonrpc\":\"2.0\",\"id\":-1e30,\"method\":\"ping\"}", json!(-1e30), "`id`"),
        ("{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}", Value::Null, "`id`"),
        ("{\"jsonrpc\":\"1.0\",\"id\":8,\"method\":\"ping\"}", json!(8), "`jsonrpc`"),
        ("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", Value::Null, "`id`"),
    ] {
        let answer = refused(&mut ann, line.as_bytes()).await;
        says(&answer, &id, -32600, words);
    }
    // Neither a notification nor an answer is ever answered.
    ann.line("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":7}").await;
    ann.line("{\"id\":9,\"result\":3}").await;
    ann.call("list_agents", json!({})).await;
}

#[tokio::test]
async fn invalid_params_are_refused_with_the_reason() {
    let team = Team::new();
    let mut ann = team.member("ann").await;
    for (request, words) in [
        (json!({ "method": "tools/call" }), "`name`"),
        (json!({ "method": "tools/call", "params": {} }), "`name`"),
        (
            json!({ "method": "tools/call", "params": { "name": 3 } }),
            "`name` of `tools/call` must be the name of a tool, not 3",
        ),
        (
            json!({ "method": "tools/call", "params": { "name": "a", "arguments": "b" } }),
            "`arguments` of `tools/call` must be an object, not the string \"b\"",
        ),
        (
            json!({ "method": "tools/call", "params": [] }),
            "`params` of `tools/call` must be an object, not an array",
        ),
        (
            json!({ "method": "tools/list", "params": { "cursor": 3 } }),
            "`cursor` of `tools/list` must be a string",
        ),
        (
            json!({ "method": "tools/list", "params": { "_meta": 3 } }),
            "`_meta` of `tools/list` must be an object, not 3",
        ),
        (json!({ "method": "tools/list", "params": 5 }), "`tools/list`"),
        (json!({ "method": "initialize", "params": {} }), "`initialize`"),
    ] {
        let mut request = request;
        request["jsonrpc"] = json!("2.0");
        request["id"] = json!("odd");
        let answer = refused(&mut ann, request.to_string().as_bytes()).await;
        says(&answer, &json!("odd"), -32602, words);
    }
    let answer = ann.request("no/such/method", json!({})).await;
    assert_eq!(answer["error"]["code"], -32601);
}

#[tokio::test]
async fn a_client_that_does_not_read_is_read_no_further() {
    let team = Team::new();
    let mut client = team.member("ann").await;
    let line = json!({ "jsonrpc": "2.0", "id": 0, "method": "tools/list" }).to_string();
    // Each pending call is one unread answer; the pipe holds 64 KiB in each direction.
    let mut sent = 0_u32;
    let mut taken = true;
    while taken && sent < 20_000 {
        sent += 1;
        let line = line.replace("\"id\":0", &format!("\"id\":{}", 1000 + sent));
        taken = client.try_line(&line).await;
    }
    assert!(!taken, "{sent} requests were taken without one answer read");
    // A client that reads again gets an answer to every call, and may continue.
    let mut answered = Vec::new();
    for _ in 1..sent {
        answered.push(client.next().await["id"].as_u64().unwrap());
    }
    answered.sort_unstable();
    let expected: Vec<_> = (1..sent).map(|id| u64::from(1000 + id)).collect();
    assert_eq!(answered, expected);
    assert_eq!(client.close().await, ServerEnd::Closed);
}

#[tokio::test]
async fn with_all_slots_taken_a_call_can_still_be_cancelled() {
    let team = Team::new();
    let mut ann = team.member("ann").await;
    let mut waits = Vec::new();
    for _ in 0..64 {
        let wait = json!({ "timeout_seconds": 120 });
        waits.push(ann.begin_call("wait_for_message", wait).await);
    }
    let list = ann.begin_call("list_agents", json!({})).await;
    let unwanted = ann.begin_call("list_agents", json!({})).await;
    ann.notify("notifications/cancelled", json!({ "requestId": unwanted })).await;
    ann.notify("notifications/cancelled", json!({ "requestId": waits[0] })).await;
    // The waiting call gets the slot of the cancelled wait.
    ann.result(&list).await;
    assert_eq!(ann.close().await, ServerEnd::Closed);
}

#[tokio::test]
async fn with_no_room_left_a_call_is_refused_and_a_cancellation_handled() {
    let team = Team::new();
    let mut ann = team.member("ann").await;
    let mut waits = Vec::new();
    for _ in 0..128 {
        let wait = json!({ "timeout_seconds": 120 });
        waits.push(ann.begin_call("wait_for_message", wait).await);
    }
    for _ in 0..3 {
        let one_more = ann.begin_call("list_agents", json!({})).await;
        let answer = ann.end(&one_more).await;
        says(&answer, &one_more, -32000, "try again");
    }
    for wait in &waits[..65] {
        ann.notify("notifications/cancelled", json!({ "requestId": wait })).await;
    }
    ann.call("list_agents", json!({})).await;
    assert_eq!(ann.close().await, ServerEnd::Closed);
}

#[tokio::test]
async fn the_end_of_the_input_is_noticed_with_all_slots_taken() {
    let team = Team::new();
    let mut ann = team.member("ann").await;
    for _ in 0..200 {
        let wait = json!({ "timeout_seconds": 120 });
        ann.begin_call("wait_for_message", wait).await;
    }
    assert_eq!(ann.close().await, ServerEnd::Closed);
}

#[tokio::test]
async fn the_id_of_a_pending_request_is_refused() {
    let team = Team::new();
    let mut ann = team.member("ann").await;
    let wait = ann.begin_call("wait_for_message", json!({ "timeout_seconds": 120 })).await;
    let again = json!({ "jsonrpc": "2.0", "id": wait, "method": "ping" });
    let answer = refused(&mut ann, again.to_string().as_bytes()).await;
    says(&answer, &Value::Null, -32600, "still running");
}

#[tokio::test]
async fn a_client_that_reads_no_more_ends_the_server() {
    let team = Team::new();
    let membership = team.membership("ann").await;
    let server = endpoint_tools::server(LazyMembership::taken(membership));
    let (mut to, input) = tokio::io::duplex(64 * 1024);
    let (output, from) = tokio::io::duplex(64 * 1024);
    let stop = CancellationToken::new();
    let running = tokio::spawn(async move { serve(&server, input, output, stop).await });
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "test", "version": "0" },
    });
    let mut from = BufReader::new(from).lines();
    for line in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
    ] {
        let line = format!("{line}\n");
        to.write_all(line.as_bytes()).await.unwrap();
    }
    from.next_line().await.unwrap().expect("an answer");
    drop(from);
    let call = json!({ "name": "list_agents", "arguments": {} });
    let line = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call });
    to.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    let ended = tokio::time::timeout(PATIENCE, running).await;
    assert_eq!(ended.expect("the server ends").unwrap(), ServerEnd::Closed);
}
