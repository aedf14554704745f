//! Calls that fail: their messages are accounted for, and the server keeps running.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::mpsc;

use super::fixture::{Client, PATIENCE, Team};
use crate::bus::Membership;
use crate::bus::rules::Pick;
use crate::bus::state::State;
use crate::domain::messaging::DeliveryMethod;
use crate::mcp::tools::endpoint_tools;
use crate::mcp::{About, AnyTool, Caller, LazyMembership, Server, ServerEnd, Tool, ToolError};

/// Receives the unread messages and then acts as its argument says.
struct Odd {
    /// Reports that a call has received its messages.
    took: mpsc::UnboundedSender<usize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    then: String,
}

#[derive(Serialize, JsonSchema)]
struct Output {}

impl Tool for Odd {
    type Input = Input;
    type Output = Output;
    const NAME: &'static str = "odd";
    const DESCRIPTION: &'static str = "Goes wrong.";

    async fn run(&self, caller: &mut Caller, input: Input) -> Result<Output, ToolError> {
        let pick = Pick::any(1, 1000, 1000);
        let taken = caller.call.receive(DeliveryMethod::Pull, pick).await?;
        self.took.send(taken.len()).unwrap();
        match input.then.as_str() {
            "panic" => panic!("at /project/.claude/bridge/log"),
            "hang" => std::future::pending().await,
            "fail" => Err(ToolError::Unavailable("it failed".into())),
            _ => Ok(Output {}),
        }
    }
}

/// A member `bob` with the odd tool beside the others, and an unread message.
async fn bob(team: &Team) -> (Client, mpsc::UnboundedReceiver<usize>) {
    bob_within(team, PATIENCE).await
}

/// The same with a limit for calls.
async fn bob_within(team: &Team, limit: Duration) -> (Client, mpsc::UnboundedReceiver<usize>) {
    let (took, taken) = mpsc::unbounded_channel();
    let mut tools = endpoint_tools::tools();
    let odd: Box<dyn AnyTool> = Box::new(Odd { took });
    tools.push(odd);
    let about = About { instructions: String::new(), files: None };
    let membership = team.membership("bob").await;
    let mut bob =
        Client::of(Server::with_limit(about, tools, LazyMembership::taken(membership), limit));
    bob.initialize().await;
    let mut ann = team.member("ann").await;
    ann.call("send_message", json!({ "to": "bob", "content": "hello" })).await;
    (bob, taken)
}

/// Asserts that the message is offered again.
async fn reads_again(bob: &mut Client) {
    let read = bob.call("check_messages", json!({})).await;
    assert_eq!(read["messages"][0]["content"], "hello", "{read}");
}

#[tokio::test]
async fn a_panic_is_answered_and_its_messages_are_requeued() {
    let team = Team::new();
    let (mut bob, _taken) = bob(&team).await;
    let text = bob.refused("odd", json!({ "then": "panic" })).await;
    assert_eq!(text, "`odd` hit a bug in the bridge: try once more, then continue without it");
    reads_again(&mut bob).await;
}

#[tokio::test]
async fn the_messages_of_a_failed_call_are_requeued() {
    let team = Team::new();
    let (mut bob, _taken) = bob(&team).await;
    assert_eq!(bob.refused("odd", json!({ "then": "fail" })).await, "it failed");
    reads_again(&mut bob).await;
}

#[tokio::test]
async fn the_messages_of_a_cancelled_call_are_requeued_and_it_is_not_answered() {
    let team = Team::new();
    let (mut bob, mut taken) = bob(&team).await;
    let id = bob.begin_call("odd", json!({ "then": "hang" })).await;
    assert_eq!(taken.recv().await, Some(1));
    bob.notify("notifications/cancelled", json!({ "requestId": id })).await;
    let read = bob.call("wait_for_message", json!({ "timeout_seconds": 20 })).await;
    assert_eq!(read["message"]["content"], "hello");
}

#[tokio::test]
async fn a_cancelled_answer_counts_as_never_given() {
    let team = Team::new();
    let (mut bob, _taken) = bob(&team).await;
    let id = bob.begin_call("check_messages", json!({})).await;
    assert_eq!(bob.result(&id).await["messages"][0]["content"], "hello");
    bob.notify("notifications/cancelled", json!({ "requestId": id })).await;
    let read = bob.call("wait_for_message", json!({ "timeout_seconds": 20 })).await;
    assert_eq!(read["message"]["content"], "hello");
}

#[tokio::test]
async fn a_call_proves_no_answer_that_was_written_after_its_own_line() {
    let team = Team::new();
    let (mut ann, _carl) = (team.member("ann").await, team.membership("carl").await);
    let membership = team.membership("bob").await;
    let mut bob = Client::of(endpoint_tools::server(LazyMembership::taken(membership.clone())));
    bob.initialize().await;
    // Waits take all slots but one, so the second call is read and has to wait for the end of the first.
    for _ in 1..64 {
        let wait = json!({ "from": "carl", "timeout_seconds": 120 });
        bob.begin_call("wait_for_message", wait).await;
    }
    let wait = json!({ "from": "ann", "timeout_seconds": 120 });
    let first = bob.begin_call("wait_for_message", wait.clone()).await;
    let second = bob.begin_call("list_agents", json!({})).await;
    all_wait(&membership, 64).await;
    ann.call("send_message", json!({ "to": "bob", "content": "hello" })).await;
    let answer = bob.result(&first).await;
    assert_eq!(answer["message"]["content"], "hello");
    bob.result(&second).await;
    // So the client can still cancel the first answer.
    bob.notify("notifications/cancelled", json!({ "requestId": first })).await;
    let again = bob.call("wait_for_message", wait).await;
    assert_eq!(again["message"]["content"], "hello");
    // A call after the answer proves it.
    bob.call("list_agents", json!({})).await;
    assert!(holds_nothing(&membership));
    assert_eq!(bob.close().await, ServerEnd::Closed);
}

#[tokio::test]
async fn two_calls_written_at_once_do_not_prove_each_others_answers() {
    let team = Team::new();
    let mut ann = team.member("ann").await;
    let membership = team.membership("bob").await;
    let mut bob = Client::of(endpoint_tools::server(LazyMembership::taken(membership.clone())));
    bob.initialize().await;
    for round in 0..20 {
        let content = format!("number {round}");
        ann.call("send_message", json!({ "to": "bob", "content": content })).await;
        let call = |id: &str, tool: &str| {
            let params = json!({ "name": tool, "arguments": {} });
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
        };
        let (first, second) = (format!("a{round}"), format!("b{round}"));
        let both =
            [call(&first, "check_messages").to_string(), call(&second, "list_agents").to_string()];
        bob.line(&both.join("\n")).await;
        let answers = [bob.next().await, bob.next().await];
        let with_it = answers.iter().find(|answer| {
            let text = answer["result"]["content"][0]["text"].as_str();
            text.is_some_and(|text| text.contains(&content))
        });
        let with_it = with_it.expect("one of them has the message")["id"].clone();
        assert!(!holds_nothing(&membership), "nothing proves it yet");
        bob.notify("notifications/cancelled", json!({ "requestId": with_it })).await;
        let again = bob.call("wait_for_message", json!({ "timeout_seconds": 20 })).await;
        assert_eq!(again["message"]["content"], content);
        bob.call("list_agents", json!({})).await;
        assert!(holds_nothing(&membership));
    }
}

#[tokio::test]
async fn an_acknowledgement_written_with_the_call_that_carries_its_message_proves_nothing() {
    let team = Team::new();
    let mut ann = team.member("ann").await;
    let membership = team.membership("bob").await;
    let mut bob = Client::of(endpoint_tools::server(LazyMembership::taken(membership.clone())));
    bob.initialize().await;
    for round in 0..10 {
        let mut ids = Vec::new();
        for part in ["first", "second"] {
            let content = format!("{part} of {round}");
            let sent = ann.call("send_message", json!({ "to": "bob", "content": content })).await;
            ids.push(sent["message_id"].clone());
        }
        let call = |id: &str, tool: &str, arguments: serde_json::Value| {
            let params = json!({ "name": tool, "arguments": arguments });
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
        };
        let reads = call("reads", "check_messages", json!({}));
        let acknowledges = call("acks", "acknowledge", json!({ "ids": [ids[1]] }));
        bob.line(&[reads.to_string(), acknowledges.to_string()].join("\n")).await;
        let answers = [bob.next().await, bob.next().await];
        let of = |id: &str| answers.iter().find(|answer| answer["id"] == id).unwrap();
        let is_acknowledged = of("acks")["result"]["isError"] != true;
        // The answer with the messages never arrives.
        bob.notify("notifications/cancelled", json!({ "requestId": "reads" })).await;
        let wait = json!({ "timeout_seconds": 20 });
        let mut again = vec![bob.call("wait_for_message", wait.clone()).await];
        if !is_acknowledged {
            again.push(bob.call("wait_for_message", wait).await);
        }
        let again: Vec<_> = again.iter().map(|read| read["message"]["id"].clone()).collect();
        assert_eq!(again, ids[..again.len()], "{answers:?}");
        bob.call("list_agents", json!({})).await;
        assert!(holds_nothing(&membership));
    }
}

/// Waits until this many calls of a session wait for a message.
async fn all_wait(membership: &Membership, calls: usize) {
    let mut changes = membership.bus().changes();
    let waits = || {
        let of = |state: &State| state.session(membership.session()).map(|live| live.waits.len());
        membership.bus().look(of)
    };
    while waits() != Some(calls) {
        let next = tokio::time::timeout(PATIENCE, changes.changed()).await;
        next.expect("they begin in time").unwrap();
    }
}

/// Says whether no call of a session has unproven messages.
fn holds_nothing(membership: &Membership) -> bool {
    membership.bus().refresh().unwrap();
    let held = |state: &State| state.session(membership.session()).unwrap().in_flight.is_empty();
    membership.bus().look(held)
}

#[tokio::test]
async fn a_call_that_hangs_ends_at_its_deadline_and_its_messages_are_requeued() {
    let team = Team::new();
    let (mut bob, _taken) = bob_within(&team, Duration::from_secs(1)).await;
    let text = bob.refused("odd", json!({ "then": "hang" })).await;
    assert!(text.starts_with("`odd` got no answer from the bus within 1 s"), "{text}");
    reads_again(&mut bob).await;
}

#[tokio::test]
async fn a_call_with_invalid_arguments_receives_no_messages() {
    let team = Team::new();
    let (mut bob, _taken) = bob(&team).await;
    bob.refused("odd", json!({ "than": "x" })).await;
    reads_again(&mut bob).await;
}
