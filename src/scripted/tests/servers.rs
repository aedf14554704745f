//! The agent and an MCP server of its session, which is a real program.

use serde_json::{Value, json};

use super::RawClient;
use crate::scripted::play::agent_loop::Ending;

/// An MCP server in shell: it answers three requests in the order in which they come, reports its directory and member in the last
/// answer, and leaves a file when its stdin ends.
const SERVER: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
read -r initialize
answer 0 '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}'
read -r initialized
read -r list
answer 1 '{"tools":[{"name":"where","inputSchema":{"type":"object"}}]}'
read -r call
structured="{\"member\":\"$BRIDGE_MEMBER\",\"cwd\":\"$PWD\",\"inherited\":\"${CARGO_MANIFEST_DIR-nothing}\"}"
answer 2 "{\"content\":[],\"structuredContent\":$structured}"
while read -r more; do :; done
echo ended > ended
"#;

fn shell_server() -> Value {
    let env = json!([{"name": "BRIDGE_MEMBER", "value": "writer"}]);
    json!([{"name": "bridge", "command": "/bin/sh", "args": ["-c", SERVER], "env": env}])
}

async fn check_call_of_a_real_server(start: &str) {
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path().canonicalize().unwrap();
    let mut client = RawClient::start(
        &format!(
            "agents.writer = {{ start = {start}, turns = [{{ steps = [
               {{ call = 'where', with = {{ of = '{{{{prompt}}}}' }}, save = 'it' }},
               {{ say = '{{{{it.member}}}} {{{{it.cwd}}}} {{{{last.inherited}}}}' }}] }}] }}"
        ),
        None,
    );
    client.initialize().await;
    client.send("new", "session/new", json!({"cwd": cwd, "mcpServers": shell_server()})).await;
    client.answer("new").await;
    client.prompt("p", "me").await;
    let call = client.update().await;
    assert_eq!(call["title"], "mcp__bridge__where");
    assert_eq!(call["status"], "in_progress");
    assert_eq!(call["rawInput"], json!({"of": "me"}));
    let end = client.update().await;
    assert_eq!(end["status"], "completed");
    assert_eq!(end["rawOutput"]["member"], "writer");
    assert_eq!(end["toolCallId"], call["toolCallId"]);
    let (said, _) = client.said("p").await;
    assert_eq!(said, format!("writer {} nothing", cwd.display()));
    assert_eq!(client.end().await, Ending::Closed);
    assert!(cwd.join("ended").exists(), "the server ended by itself, before the agent");
}

#[tokio::test]
async fn a_given_server_is_started_called_and_ended() {
    check_call_of_a_real_server("{}").await;
}

#[tokio::test]
async fn a_wait_finds_a_message_attached_to_an_earlier_result_of_the_turn() {
    // It adds the same two messages to every result, and would do so in the answer to a wait as well.
    let server = SERVER.replace("\\\"member\\\":", "\\\"inbox\\\":[{\\\"from\\\":\\\"a\\\",\\\"content\\\":1},{\\\"from\\\":\\\"b\\\",\\\"content\\\":2}],\\\"member\\\":");
    assert_ne!(server, SERVER);
    let mut client = RawClient::start(
        r"agents.default.turns = [{ steps = [
            { call = 'where' },
            { wait_for = { from = 'b', seconds = 1 }, save = 'one' },
            { wait_for = { seconds = 1 }, save = 'two' },
            { say = '{{one.message.content}} {{two.message.content}}' }] }]",
        None,
    );
    let env = json!([{"name": "BRIDGE_MEMBER", "value": "writer"}]);
    let folder = tempfile::tempdir().unwrap();
    let server =
        json!([{"name": "bridge", "command": "/bin/sh", "args": ["-c", server], "env": env}]);
    let new = json!({"cwd": folder.path(), "mcpServers": server});
    client.initialize().await;
    client.send("new", "session/new", new).await;
    client.answer("new").await;
    client.prompt("p", "me").await;
    let (said, _) = client.said("p").await;
    assert_eq!(said, "2 1");
    assert_eq!(client.end().await, Ending::Closed);
}

#[tokio::test]
async fn the_agent_waits_for_a_server_that_starts_late() {
    check_call_of_a_real_server("{ mcp_late = true }").await;
}
