//! How a conversation may begin, fail, and end.

use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt};
use rmcp::{ClientHandler, ServiceExt};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::fixture::{Client, PATIENCE, Team};
use crate::mcp::serve;
use crate::mcp::tools::endpoint_tools;
use crate::mcp::{LazyMembership, Server, ServerEnd};

async fn server(team: &Team) -> Server {
    endpoint_tools::server(LazyMembership::taken(team.membership("ann").await))
}

/// A client without capabilities.
struct Silent;

impl ClientHandler for Silent {}

#[tokio::test]
async fn every_known_version_is_initialized() {
    let team = Team::new();
    let versions = ["2024-11-05", "2025-06-18", "2025-11-25"];
    // Each known version is served, or is the one whose batches we refuse.
    let known = ProtocolVersion::KNOWN_VERSIONS.iter().filter(|version| version.has_initialize());
    assert_eq!(known.count(), versions.len() + 1);
    let of_others = [("2025-03-26", "2024-11-05"), ("2099-01-01", "2025-11-25")];
    let all = versions.map(|version| (version, version)).into_iter().chain(of_others);
    for (version, expected) in all {
        let mut client = Client::of(server(&team).await);
        let params = json!({
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "0" },
        });
        let answer = client.request("initialize", params).await;
        assert_eq!(answer["result"]["protocolVersion"], expected);
        assert_eq!(answer["result"]["serverInfo"]["name"], "cli-team-bridge");
        client.call("list_agents", json!({})).await;
        assert_eq!(client.close().await, ServerEnd::Closed);
    }
}

#[tokio::test]
async fn a_client_of_the_library_works_in_both_lifecycles() {
    let modern =
        ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    for lifecycle in [None, Some(modern)] {
        let team = Team::new();
        let server = server(&team).await;
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (input, output) = tokio::io::split(theirs);
        let serving =
            tokio::spawn(
                async move { serve(&server, input, output, CancellationToken::new()).await },
            );
        let client = match lifecycle {
            None => Silent.serve(ours).await.unwrap(),
            Some(lifecycle) => Silent.serve_with_lifecycle(ours, lifecycle).await.unwrap(),
        };
        let tools = client.list_all_tools().await.unwrap();
        assert_eq!(tools.len(), endpoint_tools::tools().len());
        let called = client.call_tool(CallToolRequestParams::new("list_agents")).await.unwrap();
        assert_eq!(called.structured_content.unwrap()["agents"][0]["name"], "ann");
        client.cancel().await.unwrap();
        assert_eq!(serving.await.unwrap(), ServerEnd::Closed);
    }
}

/// The metadata that a stateless client sends with every request.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

#[tokio::test]
async fn a_stateless_client_discovers_and_calls() {
    let team = Team::new();
    let mut client = Client::of(server(&team).await);
    let found = client.request("server/discover", json!({ "_meta": meta() })).await;
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")), "{found}");
    let called = json!({ "name": "list_agents", "arguments": {}, "_meta": meta() });
    let called = client.request("tools/call", called).await;
    assert_eq!(called["result"]["resultType"], "complete");
    assert_eq!(called["result"]["structuredContent"]["agents"][0]["you"], true);
}

#[tokio::test]
async fn an_abandoned_probe_is_followed_by_initialize() {
    let team = Team::new();
    let mut client = Client::of(server(&team).await);
    let probe = json!({ "jsonrpc": "2.0", "id": "probe-1", "method": "server/discover" });
    client.send(&probe).await;
    assert_eq!(client.next().await["id"], "probe-1");
    client.notify("notifications/cancelled", json!({ "requestId": "probe-1" })).await;
    client.initialize().await;
    client.call("list_agents", json!({})).await;
}

#[tokio::test]
async fn invalid_first_requests_are_refused_by_what_is_wrong_with_them() {
    let team = Team::new();
    let mut client = Client::of(server(&team).await);
    for (method, params, code) in [
        ("initialize", json!({}), -32602),
        ("initialize", json!([]), -32602),
        ("tools/call", json!({}), -32602),
        ("tools/call", json!({ "name": "list_agents", "arguments": "{}" }), -32602),
    ] {
        let answer = client.request(method, params).await;
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
    }
    client.initialize().await;
    client.call("list_agents", json!({})).await;
}

#[tokio::test]
async fn messages_before_the_first_request_do_no_harm() {
    let team = Team::new();
    let mut client = Client::of(server(&team).await);
    client.notify("notifications/initialized", json!({})).await;
    client.line("no JSON at all").await;
    assert_eq!(client.next().await["error"]["code"], -32700);
    client.line("").await;
    client.line("{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}").await;
    client.line("{\"half\":").await;
    assert_eq!(client.next().await["error"]["code"], -32700);
    client.initialize().await;
    client.call("list_agents", json!({})).await;
}

#[tokio::test]
async fn noise_between_requests_does_no_harm() {
    let team = Team::new();
    let mut client = Client::of(server(&team).await);
    client.initialize().await;
    client.line("\u{1b}[31mnoise\u{1b}[0m").await;
    assert_eq!(client.next().await["error"]["code"], -32700);
    client.line("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unheard\"}").await;
    client.line("{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}").await;
    client.call("list_agents", json!({})).await;
}

#[tokio::test]
async fn an_id_that_is_a_string_stays_one() {
    let team = Team::new();
    let mut client = Client::of(server(&team).await);
    client.initialize().await;
    let request = json!({ "jsonrpc": "2.0", "id": "a-1", "method": "tools/list" });
    client.send(&request).await;
    assert_eq!(client.next().await["id"], "a-1");
}

#[tokio::test]
async fn unknown_methods_and_tools_are_refused_by_name() {
    let team = Team::new();
    let mut client = Client::of(server(&team).await);
    client.initialize().await;
    for method in [
        "no/such/method",
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "resources/subscribe",
        "completion/complete",
        "logging/setLevel",
        "tasks/get",
        "subscriptions/listen",
    ] {
        for params in [
            json!({}),
            json!({ "name": "x", "uri": "file:///x", "level": "info", "taskId": "x" }),
            json!({
                "ref": { "type": "ref/prompt", "name": "x" }, "argument": { "name": "x", "value": "y" },
            }),
        ] {
            let answer = client.request(method, params).await;
            assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
        }
    }
    let answer = client.request("tools/list", json!({ "cursor": "page-2" })).await;
    assert_eq!(answer["error"]["code"], -32602);
    let answer = client.request("tools/list", json!({ "cursor": "" })).await;
    assert!(answer["result"]["tools"].is_array(), "{answer}");
    let answer = client.request("tools/call", json!({ "name": "chek_messages" })).await;
    assert_eq!(answer["error"]["code"], -32602);
    assert_eq!(
        answer["error"]["message"],
        "there is no tool `chek_messages`: did you mean check_messages?"
    );
}

#[tokio::test]
async fn a_client_that_closes_at_once_still_gets_its_answers() {
    let team = Team::new();
    let mut client = Client::of(server(&team).await);
    client.initialize().await;
    let id = client.begin_call("list_agents", json!({})).await;
    client.shut().await;
    client.result(&id).await;
    assert_eq!(client.ended().await, ServerEnd::Closed);
}

#[tokio::test]
async fn the_end_of_the_input_ends_a_wait_and_the_server() {
    let team = Team::new();
    let mut client = Client::of(server(&team).await);
    client.initialize().await;
    client.begin_call("wait_for_message", json!({ "timeout_seconds": 120 })).await;
    assert_eq!(client.close().await, ServerEnd::Closed);
    let bus = team.bus();
    let waiting = bus.look(|state| {
        let sessions = state.live_sessions().into_iter();
        sessions.filter(|session| !session.waits.is_empty()).count()
    });
    assert_eq!(waiting, 0);
}

#[tokio::test]
async fn a_server_can_be_stopped_before_and_after_its_client_speaks() {
    let team = Team::new();
    let client = Client::of(server(&team).await);
    client.stop.cancel();
    assert_eq!(client.ended().await, ServerEnd::Stopped);

    let mut client = Client::of(server(&team).await);
    client.initialize().await;
    client.begin_call("wait_for_message", json!({ "timeout_seconds": 120 })).await;
    client.stop.cancel();
    let ended = tokio::time::timeout(PATIENCE, client.ended()).await;
    assert_eq!(ended.unwrap(), ServerEnd::Stopped);
}

#[tokio::test]
async fn a_client_that_does_not_read_does_not_keep_the_server() {
    let team = Team::new();
    let mut client = Client::of(server(&team).await);
    client.initialize().await;
    // More than the pipe holds.
    for id in 0..30 {
        let request = json!({ "jsonrpc": "2.0", "id": 100 + id, "method": "tools/list" });
        client.send(&request).await;
    }
    client.shut().await;
    client.stop.cancel();
    assert_eq!(client.ended().await, ServerEnd::Stopped);
}
