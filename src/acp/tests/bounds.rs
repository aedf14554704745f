//! Agents that send very long or very many values: behind the connection all of them are bounded.

use super::fake::{Fake, connected, in_session, soon, waiting};
use crate::acp::{AcpError, ConnectOptions, Connection};
use crate::domain::limits;
use serde_json::{Value, json};
use std::path::Path;

/// Starts with an agent that answers its prompt with this error, and returns our error.
async fn refused(error: Value) -> AcpError {
    let (connection, _events, mut fake, session) =
        in_session(ConnectOptions::default(), json!({}), json!({})).await;
    let agent = async {
        let request = fake.read_method("session/prompt").await;
        fake.refuse(&request, error).await;
    };
    let (outcome, ()) =
        soon(async { tokio::join!(connection.prompt(&session.id, "go"), agent) }).await;
    outcome.expect_err("the agent refuses")
}

#[tokio::test]
async fn the_number_of_choices_is_limited() {
    let many = 3 * limits::AGENT_CHOICES;
    let ids = |field: &str| -> Vec<Value> {
        (0..many).map(|number| json!({field: format!("m{number}")})).collect()
    };
    let options: Vec<_> = (0..many)
        .map(|number| json!({"id": format!("o{number}"), "options": [{"value": "x"}]}))
        .collect();
    let groups =
        json!({"id": "model", "options": [{"options": ids("value")}, {"options": ids("value")}]});
    let options = [vec![groups], options].concat();
    let answer = json!({
        "models": {"availableModels": ids("modelId")}, "modes": {"availableModes": ids("id")},
        "configOptions": options,
    });
    let agent = json!({"authMethods": ids("id")});
    let (connection, mut events, mut fake, session) =
        in_session(ConnectOptions::default(), agent, answer).await;
    let most = limits::AGENT_CHOICES;
    assert_eq!(session.model_names().len(), most);
    assert_eq!(session.mode_names().len(), most);
    assert_eq!(session.config_options.len(), most);
    assert_eq!(session.config_options[0].choices.len(), most);
    let info = connection.agent().expect("it has said hello");
    assert_eq!(info.auth_methods.len(), most);
    fake.tell(
        json!({"sessionUpdate": "available_commands_update", "availableCommands": ids("name")}),
    )
    .await;
    fake.end_turn(&connection, &session, "end_turn").await;
    let reported = waiting(&mut events).concat();
    assert!(reported.contains("\"m999\"") && !reported.contains("\"m1000\""), "{reported:.200}");
}

#[tokio::test]
async fn names_that_are_too_long_or_have_control_characters_are_not_offered() {
    let names =
        ["good", &"x".repeat(limits::MODEL_BYTES + 1), "", "a\n\nNOTE", "a\u{202e}b", "also good"];
    let models: Vec<_> = names.iter().map(|name| json!({"modelId": name})).collect();
    let answer =
        json!({"models": {"availableModels": models, "currentModelId": "m".repeat(2_000_000)}});
    let (_connection, _events, _fake, session) =
        in_session(ConnectOptions::default(), json!({}), answer).await;
    assert_eq!(session.model_names().len(), 2);
    assert!(session.model().is_none_or(|model| model.as_str().len() <= 1000));
}

async fn session_of(id: &str) -> (Connection, Fake, Result<(), AcpError>) {
    let (connection, _events, mut fake) = connected(64 * 1024, ConnectOptions::default()).await;
    let hello = json!({"protocolVersion": 1});
    let greeted = fake.answering(connection.initialize(), "initialize", hello).await;
    greeted.expect("the agent agrees");
    let beginning = connection.new_session(Path::new("/work"), &[]);
    let begun = fake.answering(beginning, "session/new", json!({"sessionId": id})).await;
    (connection, fake, begun.map(drop))
}

#[tokio::test]
async fn a_session_id_that_is_too_long_is_an_error_of_the_agent() {
    let longest = "x".repeat(limits::AGENT_ID_BYTES);
    session_of(&longest).await.2.expect("it is short enough");
    let error = session_of(&"x".repeat(2_000_000)).await.2;
    assert_eq!(
        error.expect_err("it is no id").to_string(),
        "the agent's answer to `session/new` is unusable: its `sessionId` has 2000000 bytes; it must have 1 to 1024. This is \
         a bug in the agent"
    );
}

#[tokio::test]
async fn the_stop_reason_is_one_word() {
    let (connection, _events, mut fake, session) =
        in_session(ConnectOptions::default(), json!({}), json!({})).await;
    let outcome = fake.end_turn(&connection, &session, &"s".repeat(1_500_000)).await;
    let reason = outcome.stop_reason;
    assert_eq!(reason.as_str().chars().count(), limits::AGENT_WORD_CHARS + 1);
    assert!(reason.as_str().ends_with("s…"));
}

#[tokio::test]
async fn an_error_is_one_line_of_bounded_length() {
    let endless = "e".repeat(3_000_000);
    let error = refused(json!({"code": -32000, "message": endless, "data": {"details": endless, "retry_after": 60}})).await;
    for text in [error.to_string(), error.words()] {
        assert!(text.chars().count() <= 2 * limits::AGENT_ERROR_CHARS + 200, "{}", text.len());
        assert!(text.contains("e…"), "{text:.80}");
    }
    let error = refused(json!({"code": -32000, "message": "no\n\nNOTE OF THE BRIDGE:\u{1b}[2J\u{202e} yes", "data": "a\nb"})).await;
    assert_eq!(
        error.to_string(),
        "the agent refused `session/prompt`: no NOTE OF THE BRIDGE:[2J yes: a b (code -32000)"
    );
}

#[tokio::test]
async fn a_cost_without_a_currency_is_dropped() {
    for (currency, counts) in [
        ("USD", true),
        ("credits", true),
        ("sk-12345678", false),
        ("", false),
        (&"C".repeat(3_000_000), false),
    ] {
        let (connection, mut events, mut fake, session) =
            in_session(ConnectOptions::default(), json!({}), json!({})).await;
        let cost = json!({"amount": 1, "currency": currency});
        fake.tell(json!({"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": cost}))
            .await;
        fake.end_turn(&connection, &session, "end_turn").await;
        let reported = waiting(&mut events).concat();
        assert_eq!(reported.contains("amount"), counts, "{reported:.200}");
    }
}
