//! Permission requests that a user answers in a form of the client, in both lifecycles of the protocol.

use std::sync::{Arc, Mutex};

use cli_team_bridge::mcp::client::{Forms, Lifecycle};
use serde_json::{Value, json};

use super::{answer, answers, asked, pairs, stage};
use crate::support::{Member, Stage, of_name, until};

/// A user who gives every form the same answer, and the forms that were shown.
pub(super) fn user(says: Option<bool>) -> (Forms, Arc<Mutex<Vec<String>>>) {
    let shown: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&shown);
    let forms = Forms::new(move |text| {
        kept.lock().unwrap().push(text.to_owned());
        says
    });
    (forms, shown)
}

#[tokio::test]
async fn a_user_whose_client_takes_requests_is_asked_at_once() {
    let stage = stage("ask", 120);
    let (forms, shown) = user(Some(true));
    let lead = stage.orchestrator_of(Lifecycle::Session, forms).await;
    assert_eq!(lead.start_and_wait("ann", "once").await, "allow_once");
    assert_eq!(answers(&stage), pairs(&[("human", "allow_once")]));
    let shown = shown.lock().unwrap().clone();
    assert_eq!(shown.len(), 1, "{shown:?}");
    let expected =
        r#"Allow this once? The agent `ann` asks for permission (execute): "build\n--- End". "#;
    assert!(shown[0].starts_with(expected), "{shown:?}");
    let (_, rest) = shown[0].split_once(" s left. In \"").unwrap();
    let name = stage.project().file_name().unwrap().to_str().unwrap();
    assert!(rest.ends_with(&format!("{name}\". Task: \"once\".")), "{shown:?}");
    assert!(stage.events_of("permission_told").is_empty(), "no model needs to know");
    lead.close().await;
}

#[tokio::test]
async fn a_user_whose_client_takes_no_requests_is_asked_with_the_next_call() {
    let stage = stage("ask", 120);
    let (forms, shown) = user(Some(false));
    let lead = stage.orchestrator_of(Lifecycle::Stateless, forms).await;
    assert_eq!(lead.start_and_wait("ann", "once").await, "reject_once");
    assert_eq!(answers(&stage), pairs(&[("human", "reject")]));
    assert_eq!(shown.lock().unwrap().len(), 1);
    lead.close().await;
}

#[tokio::test]
async fn a_user_who_closes_the_form_leaves_the_question_to_the_orchestrator() {
    for lifecycle in [Lifecycle::Session, Lifecycle::Stateless] {
        let stage = stage("ask", 120);
        let (forms, shown) = user(None);
        let lead = stage.orchestrator_of(lifecycle, forms).await;
        let task = lead.start("ann", "once").await;
        let question = asked(&lead, "ann", "build").await;
        lead.hear_notice(question["permission_id"].as_str().unwrap()).await;
        answer(&lead, &question, "allow_once").await;
        assert_eq!(lead.done(&task).await, "allow_once");
        assert_eq!(shown.lock().unwrap().len(), 1);
        lead.close().await;
    }
}

#[tokio::test]
async fn a_call_that_waits_for_its_task_asks_the_user_at_once_and_waits_on_for_the_same_task() {
    for (says, output) in [(true, "allow_once"), (false, "reject_once")] {
        let stage = stage("ask", 3600);
        let (forms, shown) = user(Some(says));
        let lead = stage.orchestrator_of(Lifecycle::Stateless, forms).await;
        let work = json!({
            "agent": "scripted", "name": "ann", "prompt": "once", "wait": true, "timeout_seconds": 120
        });
        let waited = lead.call("assign_task", work).await;
        assert_eq!((&waited["status"], &waited["output"]), (&json!("done"), &json!(output)));
        assert_eq!(shown.lock().unwrap().len(), 1);
        let all = lead.call("get_task_status", json!({})).await;
        assert_eq!(all["tasks"].as_array().unwrap().len(), 1, "it is assigned once: {all}");
        lead.close().await;
    }
}

/// Starts an agent that asks once `gate` has written to it, and a wait of its leader; lets the agent ask while the leader waits.
async fn wait_during_question(
    stage: &Stage,
    lead: &Member,
    gate: &Member,
    (tool, wait): (&str, Value),
) -> Value {
    lead.start("ann", "later").await;
    let ask = async {
        // An earlier message would come with the task.
        let both_wait = |all: &Value| {
            let waits = |name| of_name(all, name).is_some_and(|one| one["status"] == "waiting");
            waits("orchestrator") && waits("ann")
        };
        gate.until("list_agents", json!({}), both_wait).await;
        gate.send("ann", "go").await;
        until("the agent asks", || !stage.events_of("permission_asked").is_empty()).await;
    };
    tokio::join!(lead.call(tool, wait), ask).0
}

#[tokio::test]
async fn a_call_that_waits_for_a_message_asks_the_user_at_once_and_waits_on() {
    let stage = stage("ask", 3600);
    let (forms, shown) = user(Some(true));
    let lead = stage.orchestrator_of(Lifecycle::Stateless, forms).await;
    let gate = stage.peer("gate").await;
    let wait = ("wait_for_message", json!({ "from": "gate", "timeout_seconds": 120 }));
    let answer_after_form = async {
        until("the user has answered", || !answers(&stage).is_empty()).await;
        gate.send("orchestrator", "at last").await;
    };
    let waiting = wait_during_question(&stage, &lead, &gate, wait);
    let (waited, ()) = tokio::join!(waiting, answer_after_form);
    assert_eq!(waited["message"]["content"], "at last", "{waited}");
    assert_eq!(answers(&stage), pairs(&[("human", "allow_once")]));
    assert_eq!(shown.lock().unwrap().len(), 1);
    gate.close().await;
    lead.close().await;
}

#[tokio::test]
async fn a_message_that_waits_for_its_answer_asks_the_user_at_once_and_is_sent_once() {
    let stage = stage("ask", 3600);
    let (forms, shown) = user(Some(true));
    let lead = stage.orchestrator_of(Lifecycle::Stateless, forms).await;
    let gate = stage.peer("gate").await;
    let to_gate = || {
        let mut sent = stage.events_of("message_sent");
        sent.retain(|sent| sent["from"] == "orchestrator" && sent["audience"] == "gate");
        sent
    };
    let wait = json!({ "to": "gate", "content": "ready?", "wait_seconds": 120 });
    let answer_after_form = async {
        until("the user has answered", || !answers(&stage).is_empty()).await;
        let reply_to = to_gate()[0]["id"].clone();
        let answer = json!({ "to": "orchestrator", "content": "yes", "reply_to": reply_to });
        gate.call("send_message", answer).await;
    };
    let waiting = wait_during_question(&stage, &lead, &gate, ("send_message", wait));
    let (waited, ()) = tokio::join!(waiting, answer_after_form);
    assert_eq!(waited["reply"]["content"], "yes", "{waited}");
    assert_eq!(to_gate().len(), 1, "it is sent once");
    assert_eq!(waited["message_id"], to_gate()[0]["id"]);
    assert_eq!(shown.lock().unwrap().len(), 1);
    gate.close().await;
    lead.close().await;
}

#[tokio::test]
async fn a_wait_that_ends_with_a_form_loses_no_message() {
    let stage = stage("ask", 3600);
    let (forms, shown) = user(None);
    let lead = stage.orchestrator_of(Lifecycle::Stateless, forms).await;
    let gate = stage.peer("gate").await;
    // The question and its notice are one append, so the wait has received the notice when the form ends it.
    let wait = ("wait_for_message", json!({ "timeout_seconds": 120 }));
    let waited = wait_during_question(&stage, &lead, &gate, wait).await;
    let asked = stage.events_of("permission_asked").remove(0);
    let content = waited["message"]["content"].as_str().unwrap_or_default();
    let begin = format!("ann asks for permission {} (execute). ", asked["id"].as_str().unwrap());
    assert!(content.starts_with(&begin), "{waited}");
    assert!(!stage.events_of("message_returned").is_empty(), "it was received and requeued");
    assert_eq!(shown.lock().unwrap().len(), 1);
    gate.close().await;
    lead.close().await;
}
