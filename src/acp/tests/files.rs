//! Files that an agent reads and writes through us: offered only on demand, and every request is answered.

use super::fake::{connected, soon};
use crate::acp::{
    AgentEvent, AgentEvents, ConnectOptions, FileAccess, FileQuestion, FileRefusal, FileSystem,
};
use serde_json::json;

#[tokio::test]
async fn files_are_offered_on_demand_and_every_request_is_answered() {
    let options = ConnectOptions { file_system: FileSystem::Offered, ..ConnectOptions::default() };
    let (connection, mut events, mut fake) = connected(64 * 1024, options).await;
    let agent = async {
        let hello = fake.read().await;
        let offered = json!({"readTextFile": true, "writeTextFile": true});
        assert_eq!(hello["params"]["clientCapabilities"]["fs"], offered);
        fake.answer(&hello, json!({"protocolVersion": 1})).await;
    };
    let (info, ()) = soon(async { tokio::join!(connection.initialize(), agent) }).await;
    info.expect("the agent agrees");

    let params = json!({"sessionId": "s-1", "path": "/p/a", "line": 2, "limit": 3});
    let id = fake.ask("fs/read_text_file", params.clone()).await;
    let question = file_question(&mut events).await;
    let expected = FileAccess::Read { line: Some(2), limit: Some(3) };
    assert_eq!(question.request().access, expected);
    question.answer(Ok("text".to_owned()));
    let answer = fake.read().await;
    assert_eq!((&answer["id"], &answer["result"]), (&json!(id), &json!({"content": "text"})));

    fake.ask("fs/read_text_file", params).await;
    drop(file_question(&mut events).await);
    assert_eq!(fake.read().await["error"]["message"], "the turn is over");

    let params = json!({"sessionId": "s-1", "path": "/p/a", "content": "new"});
    fake.ask("fs/write_text_file", params).await;
    let question = file_question(&mut events).await;
    question.answer(Err("not allowed".into()));
    let refused = &fake.read().await["error"];
    assert_eq!((&refused["message"], &refused["code"]), (&json!("not allowed"), &json!(-32603)));

    fake.ask("fs/read_text_file", json!({"sessionId": "s-1", "path": "/p/gone"})).await;
    let missing = FileRefusal::Missing("the file does not exist".to_owned());
    file_question(&mut events).await.answer(Err(missing));
    assert_eq!(fake.read().await["error"]["code"], -32002, "by which agents know ENOENT");

    fake.ask("fs/write_text_file", json!({"sessionId": "s-1"})).await;
    assert_eq!(fake.read().await["error"]["code"], -32602);
    fake.ask("terminal/create", json!({"sessionId": "s-1"})).await;
    assert_eq!(fake.read().await["error"]["code"], -32601);
}

async fn file_question(events: &mut AgentEvents) -> FileQuestion {
    match soon(events.recv()).await {
        Some(AgentEvent::FileAsked(question)) => question,
        other => panic!("{other:?}"),
    }
}
