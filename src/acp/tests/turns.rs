//! The orderly life of a connection: hello, sessions, turns, settings, permissions.

use super::fake::{Fake, connected, in_session, next, soon, waiting};
use crate::acp::{
    AcpError, AgentEvent, AgentEvents, Answer, AnswerCustom, AnswerKind, ConnectOptions,
    Connection, Ending, Feature, McpServerSpec, PermissionQuestion, SessionInfo, StopReason,
};
use crate::domain::text::redact::Hidden;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

async fn simple() -> (Connection, AgentEvents, Fake, SessionInfo) {
    in_session(ConnectOptions::default(), json!({}), json!({})).await
}

#[tokio::test]
async fn initialize_offers_no_files_and_no_terminal_and_returns_the_capabilities() {
    let (connection, _events, mut fake) = connected(4096, ConnectOptions::default()).await;
    let agent = async {
        let hello = fake.read_method("initialize").await;
        assert_eq!(hello["params"]["protocolVersion"], 1);
        assert_eq!(
            hello["params"]["clientCapabilities"]["fs"],
            json!({"readTextFile": false, "writeTextFile": false})
        );
        assert_eq!(hello["params"]["clientCapabilities"]["terminal"], false);
        let answer = json!({"protocolVersion": 1, "agentInfo": {"name": "fake", "version": "3"},
            "agentCapabilities": {"loadSession": true}, "authMethods": [], "_meta": {"steering": {"supported": true}}});
        fake.answer(&hello, answer).await;
    };
    let (info, ()) = soon(async { tokio::join!(connection.initialize(), agent) }).await;
    let info = info.expect("the agent agrees");
    assert_eq!(info.name.as_ref().map(Hidden::as_str), Some("fake"));
    assert_eq!(info.features, [Feature::Load, Feature::Steering]);
    assert_eq!(connection.agent(), Some(&info));
}

#[tokio::test]
async fn another_version_of_the_protocol_is_refused_and_named() {
    for version in [json!(2), json!(0), json!("1.0")] {
        let (connection, _events, mut fake) = connected(4096, ConnectOptions::default()).await;
        let answer = json!({"protocolVersion": &version});
        let error = fake.answering(connection.initialize(), "initialize", answer).await;
        let error = error.expect_err("only version 1 is supported");
        let answered = version.to_string();
        assert!(
            matches!(&error, AcpError::Version { version: refused } if *refused == answered),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn a_session_begins_with_its_servers_and_returns_its_settings() {
    let (connection, _events, mut fake, _) = simple().await;
    let server = McpServerSpec {
        name: "bridge".into(),
        command: "/bin/bridge".into(),
        args: vec!["agent".into()],
        env: BTreeMap::from([("KEY".to_owned(), "value".to_owned())]),
    };
    let agent = async {
        let request = fake.read_method("session/new").await;
        let servers = json!([{"name": "bridge", "command": "/bin/bridge", "args": ["agent"],
            "env": [{"name": "KEY", "value": "value"}]}]);
        assert_eq!(request["params"], json!({"cwd": "/work", "mcpServers": servers}));
        let models =
            json!({"currentModelId": "a", "availableModels": [{"modelId": "a", "name": "A"}]});
        fake.answer(&request, json!({"sessionId": "s-2", "models": models})).await;
    };
    let begun = connection.new_session(Path::new("/work"), std::slice::from_ref(&server));
    let (session, ()) = soon(async { tokio::join!(begun, agent) }).await;
    let session = session.expect("the session begins");
    assert_eq!(session.id.as_str(), "s-2");
    assert_eq!(
        session
            .model_choices()
            .expect("there is a legacy block")
            .current
            .as_ref()
            .map(Hidden::as_str),
        Some("a")
    );

    let nameless = fake
        .answering(connection.new_session(Path::new("/work"), &[]), "session/new", json!({}))
        .await;
    assert!(matches!(nameless, Err(AcpError::Malformed { .. })), "{nameless:?}");
}

#[tokio::test]
async fn all_updates_before_the_outcome_wait_when_the_prompt_returns() {
    let (connection, mut events, mut fake, session) = simple().await;
    for round in 0..20 {
        let agent = async {
            let prompt = fake.read_method("session/prompt").await;
            assert_eq!(
                prompt["params"],
                json!({"sessionId": "s-1", "prompt": [{"type": "text", "text": "go"}]})
            );
            for word in ["one ", "two "] {
                fake.say(word).await;
            }
            fake.tell(json!({"sessionUpdate": "quantum_leap"})).await;
            fake.tell(json!({"sessionUpdate": "tool_call", "toolCallId": "c"})).await;
            fake.say("three").await;
            fake.answer(&prompt, json!({"stopReason": "end_turn", "_meta": {"round": round}}))
                .await;
        };
        let (outcome, ()) =
            soon(async { tokio::join!(connection.prompt(&session.id, "go"), agent) }).await;
        let outcome = outcome.expect("the turn ends");
        assert_eq!(outcome.stop_reason, StopReason::EndTurn);
        assert_eq!(outcome.meta, Some(json!({"round": round})));
        assert_eq!(waiting(&mut events), ["one two ", "unknown quantum_leap", "call c", "three"]);
    }
}

#[tokio::test]
async fn a_cancelled_prompt_ends_cancelled_and_the_next_one_works() {
    let (connection, _events, mut fake, session) = simple().await;
    let agent = async {
        let prompt = fake.read_method("session/prompt").await;
        connection.cancel(&session.id).await.expect("the agent is there");
        let cancel = fake.read_method("session/cancel").await;
        assert_eq!((&cancel["params"], cancel.get("id")), (&json!({"sessionId": "s-1"}), None));
        fake.answer(&prompt, json!({"stopReason": "cancelled"})).await;
    };
    let (outcome, ()) =
        soon(async { tokio::join!(connection.prompt(&session.id, "go"), agent) }).await;
    assert_eq!(outcome.expect("the turn ends").stop_reason, StopReason::Cancelled);
    let answer = json!({"stopReason": "end_turn"});
    let outcome =
        fake.answering(connection.prompt(&session.id, "again"), "session/prompt", answer).await;
    assert_eq!(outcome.expect("the turn ends").stop_reason, StopReason::EndTurn);
}

#[tokio::test]
async fn a_refusal_keeps_the_agents_code_words_and_data() {
    let (connection, _events, mut fake, session) = simple().await;
    let agent = async {
        let prompt = fake.read_method("session/prompt").await;
        fake.refuse(&prompt, json!({"code": 400, "message": "bad model", "data": {"a": 1}})).await;
    };
    let (outcome, ()) =
        soon(async { tokio::join!(connection.prompt(&session.id, "go"), agent) }).await;
    match outcome {
        Err(AcpError::Refused { method, code, message, data }) => {
            assert_eq!(
                (method.as_str(), code, message.as_str()),
                ("session/prompt", 400, "bad model")
            );
            assert_eq!(data, Some(json!({"a": 1})));
        }
        other => panic!("the agent refused, but: {other:?}"),
    }
}

/// Asks for permission, with gemini's order of options, and returns the question and the id of its request.
async fn asked(fake: &mut Fake, events: &mut AgentEvents) -> (PermissionQuestion, u64) {
    let params = json!({"sessionId": "s-1", "toolCall": {"toolCallId": "c", "title": "Run"}, "_meta": {"m": 1},
        "options": [{"optionId": "always", "name": "Always", "kind": "allow_always"},
            {"optionId": "once", "name": "Once", "kind": "allow_once"}]});
    let id = fake.ask("session/request_permission", params).await;
    match soon(events.recv()).await {
        Some(AgentEvent::PermissionAsked(question)) => (question, id),
        other => panic!("a question was asked, but: {other:?}"),
    }
}

fn outcome(id: u64, outcome: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"outcome": outcome}})
}

#[tokio::test]
async fn a_question_is_answered_by_kind_by_option_or_by_being_dropped() {
    let (_connection, mut events, mut fake, _) = simple().await;
    let (question, id) = asked(&mut fake, &mut events).await;
    assert_eq!(question.request().tool_call.title.as_deref(), Some("Run"));
    assert_eq!(question.request().meta, Some(json!({"m": 1})));
    assert_eq!(question.answer_by_kind(AnswerKind::AllowOnce), Answer::Option("once".into()));
    assert_eq!(fake.read().await, outcome(id, &json!({"outcome": "selected", "optionId": "once"})));

    let (question, id) = asked(&mut fake, &mut events).await;
    assert_eq!(question.answer_by_kind(AnswerKind::Reject), Answer::Cancelled);
    assert_eq!(fake.read().await, outcome(id, &json!({"outcome": "cancelled"})));

    let (question, id) = asked(&mut fake, &mut events).await;
    question.answer(Answer::Option("always".into()));
    assert_eq!(
        fake.read().await,
        outcome(id, &json!({"outcome": "selected", "optionId": "always"}))
    );

    let (question, id) = asked(&mut fake, &mut events).await;
    drop(question);
    assert_eq!(fake.read().await, outcome(id, &json!({"outcome": "cancelled"})));
}

#[tokio::test]
async fn an_open_question_blocks_neither_updates_nor_answers() {
    let (connection, mut events, mut fake, session) = simple().await;
    let (question, id) = asked(&mut fake, &mut events).await;
    fake.say("meanwhile").await;
    assert_eq!(next(&mut events).await, "meanwhile");
    fake.end_turn(&connection, &session, "end_turn").await;
    drop(question);
    assert_eq!(fake.read().await["id"], id);
}

#[tokio::test]
async fn questions_without_a_receiver_are_answered_cancelled() {
    let (_connection, events, mut fake, _) = simple().await;
    let question = json!({"sessionId": "s-1", "toolCall": {"toolCallId": "c"}, "options": []});
    let first = fake.ask("session/request_permission", question.clone()).await;
    drop(events);
    assert_eq!(fake.read().await, outcome(first, &json!({"outcome": "cancelled"})));
    let second = fake.ask("session/request_permission", question).await;
    assert_eq!(fake.read().await, outcome(second, &json!({"outcome": "cancelled"})));
}

#[tokio::test]
async fn ids_of_both_directions_overlap_without_harm() {
    let (connection, mut events, mut fake, session) = simple().await;
    let agent = async {
        let prompt = fake.read_method("session/prompt").await;
        let params = json!({"sessionId": "s-1", "toolCall": {"toolCallId": "c"},
            "options": [{"optionId": "yes", "name": "", "kind": "allow_once"}]});
        // The agent's request has the same id as the prompt that it is answering.
        fake.write(json!({"jsonrpc": "2.0", "id": prompt["id"], "method": "session/request_permission", "params": params}))
            .await;
        let Some(AgentEvent::PermissionAsked(question)) = soon(events.recv()).await else {
            panic!("a question was asked")
        };
        question.answer_by_kind(AnswerKind::AllowOnce);
        let answer = fake.read().await;
        assert_eq!(
            (&answer["id"], &answer["result"]["outcome"]["optionId"]),
            (&prompt["id"], &json!("yes"))
        );
        fake.answer(&prompt, json!({"stopReason": "end_turn"})).await;
    };
    let (outcome, ()) =
        soon(async { tokio::join!(connection.prompt(&session.id, "go"), agent) }).await;
    assert_eq!(outcome.expect("the turn ends").stop_reason, StopReason::EndTurn);
}

#[tokio::test]
async fn unknown_messages_are_reported_and_unknown_requests_answered() {
    let custom = AnswerCustom::new(|method, params| {
        (method == "_vendor/question").then(|| json!({"messages": [params["sessionId"]]}))
    });
    let options = ConnectOptions { custom, ..ConnectOptions::default() };
    let (_connection, mut events, mut fake, _) = in_session(options, json!({}), json!({})).await;
    fake.write(json!({"jsonrpc": "2.0", "method": "_auth/status_update", "params": {}})).await;
    fake.write(json!({"jsonrpc": "2.0", "method": "$/progress"})).await;
    let id = fake.ask("fs/read_text_file", json!({"path": "/etc/passwd"})).await;
    let answer = fake.read().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(id), &json!(-32601)));
    assert_eq!(next(&mut events).await, "notification _auth/status_update");
    assert_eq!(next(&mut events).await, "request fs/read_text_file");

    let id = fake.ask("_vendor/question", json!({"sessionId": "s-1"})).await;
    assert_eq!(
        fake.read().await,
        json!({"jsonrpc": "2.0", "id": id, "result": {"messages": ["s-1"]}})
    );
    let id = fake.ask("session/request_permission", json!({"sessionId": "s-1"})).await;
    let answer = fake.read().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(id), &json!(-32602)));
}

#[tokio::test]
async fn a_model_is_chosen_by_setting_or_by_the_legacy_method() {
    let (connection, _events, mut fake, legacy) = simple().await;
    let expected = json!({"sessionId": "s-1", "modelId": "big"});
    let agent = async {
        let request = fake.read_method("session/set_model").await;
        assert_eq!(request["params"], expected);
        fake.answer(&request, json!(null)).await;
    };
    soon(async { tokio::join!(connection.set_model(&legacy, "big"), agent) })
        .await
        .0
        .expect("the model is set");

    let settings = json!({"configOptions": [{"id": "llm", "category": "model"}, {"id": "mode", "category": "mode"}]});
    let (connection, _events, mut fake, session) =
        in_session(ConnectOptions::default(), json!({}), settings).await;
    let agent = async {
        let request = fake.read_method("session/set_config_option").await;
        assert_eq!(
            request["params"],
            json!({"sessionId": "s-1", "configId": "llm", "value": "big"})
        );
        fake.refuse(&request, json!({"code": -32601, "message": "Method not found"})).await;
        let request = fake.read_method("session/set_model").await;
        assert_eq!(request["params"], expected);
        fake.answer(&request, json!({})).await;
    };
    soon(async { tokio::join!(connection.set_model(&session, "big"), agent) })
        .await
        .0
        .expect("the model is set");
    let answer = json!({"configOptions": []});
    let set = fake
        .answering(connection.set_mode(&session, "plan"), "session/set_config_option", answer)
        .await;
    set.expect("the mode is set");
    let agent = async {
        let request = fake.read_method("session/set_config_option").await;
        fake.refuse(&request, json!({"code": -32602, "message": "no such mode"})).await;
    };
    let (refused, ()) =
        soon(async { tokio::join!(connection.set_mode(&session, "odd"), agent) }).await;
    assert!(matches!(refused, Err(AcpError::Refused { code: -32602, .. })), "{refused:?}");
}

#[tokio::test]
async fn a_mode_is_chosen_by_method_where_modes_are_listed() {
    let modes = json!({"modes": {"currentModeId": "a", "availableModes": [{"id": "a", "name": "A"}, {"id": "b", "name": "B"}]}});
    let (connection, _events, mut fake, session) =
        in_session(ConnectOptions::default(), json!({}), modes).await;
    assert_eq!(session.modes.len(), 2);
    fake.answering(connection.set_mode(&session, "b"), "session/set_mode", json!({}))
        .await
        .expect("the mode is set");
}

#[tokio::test]
async fn methods_that_are_not_offered_are_not_called() {
    let (connection, _events, _fake, session) = simple().await;
    let work = Path::new("/work");
    for refused in [
        connection.close_session(&session.id).await.err(),
        connection.delete_session(&session.id).await.err(),
        connection.load_session(&session.id, work, &[]).await.err(),
        connection.resume_session(&session.id, work, &[]).await.err(),
    ] {
        assert!(matches!(refused, Some(AcpError::NotOffered { .. })), "{refused:?}");
    }
    let all = json!({"agentCapabilities": {"loadSession": true, "sessionCapabilities": {"close": {}, "delete": {}, "resume": {}}}});
    let (connection, mut events, mut fake, session) =
        in_session(ConnectOptions::default(), all, json!({})).await;
    let agent = async {
        let request = fake.read_method("session/load").await;
        assert_eq!(request["params"]["sessionId"], "s-1");
        fake.say("history").await;
        fake.answer(&request, json!(null)).await;
    };
    let (loaded, ()) =
        soon(async { tokio::join!(connection.load_session(&session.id, work, &[]), agent) }).await;
    assert_eq!(loaded.expect("the session is loaded").id, session.id);
    assert_eq!(waiting(&mut events), ["history"]);
    fake.answering(connection.resume_session(&session.id, work, &[]), "session/resume", json!({}))
        .await
        .expect("it is");
    fake.answering(connection.close_session(&session.id), "session/close", json!({}))
        .await
        .expect("it is closed");
    fake.answering(connection.delete_session(&session.id), "session/delete", json!({}))
        .await
        .expect("it is deleted");
}

#[tokio::test]
async fn shutdown_closes_stdin_and_fails_waiting_requests() {
    let (connection, mut events, mut fake, session) = simple().await;
    let waits = {
        let connection = connection.clone();
        tokio::spawn(async move { connection.prompt(&session.id, "go").await })
    };
    fake.read_method("session/prompt").await;
    soon(connection.shutdown()).await;
    assert_eq!(soon(connection.closed()).await, Ending::Shutdown);
    let failed = soon(waits).await.expect("the prompt does not panic");
    assert!(
        matches!(&failed, Err(AcpError::Closed { ending: Ending::Shutdown, .. })),
        "{failed:?}"
    );
    fake.read_end().await;
    assert!(soon(events.recv()).await.is_none());
    // The agent can still write to an open pipe.
    fake.say("good-bye").await;
    drop(fake);
    soon(connection.ended()).await;
    let late = connection.new_session(Path::new("/work"), &[]).await;
    assert!(matches!(late, Err(AcpError::Closed { .. })), "{late:?}");
}

#[tokio::test]
async fn the_last_handle_dropped_is_a_shutdown() {
    let (connection, mut events, mut fake, _) = simple().await;
    let other = connection.clone();
    drop(connection);
    fake.say("still there").await;
    assert_eq!(next(&mut events).await, "still there");
    drop(other);
    fake.read_end().await;
    assert!(soon(events.recv()).await.is_none());
}
