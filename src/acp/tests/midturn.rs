//! Texts that get into a running turn: the client steers them, or the agent asks for them.

use std::time::Duration;

use super::fake::{Fake, SOON, in_session, next, soon};
use crate::acp::{
    AcpError, AcpSessionId, AgentEvent, AgentEvents, ConnectOptions, Connection, DrainQuestion,
    SessionInfo, Steered,
};
use serde_json::{Value, json};

/// An agent that advertises steering.
async fn steerable() -> (Connection, AgentEvents, Fake, SessionInfo) {
    let agent = json!({"_meta": {"steering": {"supported": true}}});
    in_session(ConnectOptions::default(), agent, json!({})).await
}

/// Steers an agent that gives this answer, and checks the outcome.
async fn check(answer: Value, expected: Result<Steered, &str>) {
    let (connection, _events, mut fake, session) = steerable().await;
    let steering = connection.steer(&session.id, "look", SOON);
    let outcome = fake.answering(steering, "_session/steering", answer).await;
    match (outcome, expected) {
        (Ok(outcome), Ok(expected)) => assert_eq!(outcome, expected),
        (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
        (outcome, expected) => panic!("{outcome:?} instead of {expected:?}"),
    }
}

#[tokio::test]
async fn steering_asks_the_agent_not_to_begin_a_turn() {
    let (connection, _events, mut fake, session) = steerable().await;
    let steering = tokio::spawn({
        let id = session.id.clone();
        async move { connection.steer(&id, "look", SOON).await }
    });
    let request = fake.read_method("_session/steering").await;
    assert_eq!(
        request["params"],
        json!({
            "sessionId": "s-1",
            "prompt": [{"type": "text", "text": "look"}],
            "_meta": {"steering": {"idleBehavior": "promptRequired"}},
        })
    );
    fake.answer(&request, json!({"outcome": "injected"})).await;
    assert_eq!(soon(steering).await.unwrap().unwrap(), Steered::Taken);
}

#[tokio::test]
async fn only_an_outcome_confirms_a_text() {
    check(json!({"outcome": "injected"}), Ok(Steered::Taken)).await;
    check(json!({"outcome": "startedNewTurn"}), Ok(Steered::Taken)).await;
    check(json!({"outcome": "promptRequired", "reason": "noRunningTurn"}), Ok(Steered::NoTurn))
        .await;
    // codex's adapter answers an unknown method with this.
    check(json!({}), Err("no `outcome`")).await;
    check(Value::Null, Err("no `outcome`")).await;
    check(json!({"outcome": "queued"}), Err("no `outcome`")).await;
}

#[tokio::test]
async fn an_agent_that_does_not_offer_steering_is_not_steered() {
    let (connection, _events, mut fake, session) =
        in_session(ConnectOptions::default(), json!({}), json!({})).await;
    let outcome = connection.steer(&session.id, "look", SOON).await;
    assert!(matches!(outcome, Err(AcpError::NotOffered { .. })), "{outcome:?}");
    // The agent reads the next message, and no request to steer.
    connection.cancel(&session.id).await.unwrap();
    assert_eq!(fake.read().await["method"], "session/cancel");
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_request_to_steer_meets_its_deadline() {
    let (connection, _events, mut fake, session) = steerable().await;
    let outcome = connection.steer(&session.id, "look", Duration::from_secs(10)).await;
    assert!(matches!(outcome, Err(AcpError::Deadline { .. })), "{outcome:?}");
    fake.read_method("_session/steering").await;
}

async fn asked(fake: &mut Fake, events: &mut AgentEvents) -> (DrainQuestion, u64) {
    let params = json!({"sessionId": "s-1"});
    let id = fake.ask("craft/drainMidTurnQueue", params).await;
    match soon(events.recv()).await {
        Some(AgentEvent::DrainAsked(question)) => (question, id),
        other => panic!("{other:?}"),
    }
}

fn drained(id: u64, texts: &[&str]) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"messages": texts}})
}

#[tokio::test]
async fn an_agent_that_asks_for_messages_gets_them_or_none() {
    let (_connection, mut events, mut fake, _) =
        in_session(ConnectOptions::default(), json!({}), json!({})).await;
    let (question, id) = asked(&mut fake, &mut events).await;
    assert_eq!(*question.session(), AcpSessionId::from("s-1"));
    assert!(question.answer(&["look".to_owned()]));
    assert_eq!(fake.read().await, drained(id, &["look"]));
    let (question, id) = asked(&mut fake, &mut events).await;
    drop(question);
    assert_eq!(fake.read().await, drained(id, &[]));
    let malformed = fake.ask("craft/drainMidTurnQueue", json!([])).await;
    drop(soon(events.recv()).await);
    assert_eq!(fake.read().await, drained(malformed, &[]));
    fake.say("on it").await;
    assert_eq!(next(&mut events).await, "on it");
}

#[tokio::test(start_paused = true)]
async fn a_question_for_messages_is_answered_in_time_without_its_owner() {
    let (_connection, mut events, mut fake, _) =
        in_session(ConnectOptions::default(), json!({}), json!({})).await;
    let began = tokio::time::Instant::now();
    let (question, id) = asked(&mut fake, &mut events).await;
    assert_eq!(fake.read().await, drained(id, &[]));
    assert!(began.elapsed() < Duration::from_secs(2));
    // Then it is too late, and the message needs another delivery method.
    assert!(!question.answer(&["look".to_owned()]));
    // This one was never received.
    let params = json!({"sessionId": "s-1"});
    let id = fake.ask("craft/drainMidTurnQueue", params).await;
    assert_eq!(fake.read().await, drained(id, &[]));
    drop(events);
    let id = fake.ask("craft/drainMidTurnQueue", json!({"sessionId": "s-1"})).await;
    assert_eq!(fake.read().await, drained(id, &[]));
}
