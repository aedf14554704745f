//! Files that the agent asks its client for: only with the requests that the client offers.

use super::*;

const TURNS: &str = "[
    { when = 'read', steps = [{ read_file = '/notes', save = 'it' }, { say = '{{it.content}}' }] },
    { when = 'write', steps = [{ write_file = '/notes', content = 'new' }, { say = 'written' }] },
    { steps = [{ read_file = '/notes', expect_error = true, save = 'no' }, { say = '{{no.error}}' }] },
]";

/// Starts an agent and introduces a client that offers these requests for files.
async fn offered(files: Value) -> RawClient {
    let mut client = RawClient::start(&format!("[agents.default]\nturns = {TURNS}"), None);
    client.is_introduced = true;
    let params = json!({"protocolVersion": 1, "clientCapabilities": {"fs": files}});
    client.send("init", "initialize", params).await;
    client.answer("init").await;
    client.open(json!([])).await;
    client
}

#[tokio::test]
async fn a_client_is_asked_only_for_files_that_it_offers() {
    let mut client = offered(json!({"readTextFile": true})).await;
    client.prompt("r", "read").await;
    let asked = client.message().await;
    assert_eq!(asked["method"], "fs/read_text_file", "{asked}");
    let content = json!({"content": "plain words"});
    client.write(json!({"jsonrpc": "2.0", "id": asked["id"], "result": content})).await;
    assert_eq!(client.said("r").await.0, "plain words");
    client.prompt("w", "write").await;
    let answer = client.message().await;
    assert_eq!(answer["id"], "w", "nothing else was sent: {answer}");
    assert_eq!(answer["error"]["message"], "the client does not offer `fs/write_text_file`");

    let mut client = offered(json!({"writeTextFile": true})).await;
    client.prompt("r", "look").await;
    let update = client.update().await;
    assert_eq!(update["content"]["text"], "the client does not offer `fs/read_text_file`");
    client.answer("r").await;
    client.prompt("w", "write").await;
    let asked = client.message().await;
    assert_eq!(asked["method"], "fs/write_text_file", "{asked}");
}
