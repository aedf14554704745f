//! Calls that go wrong: what they hold is accounted for, and the server lives on.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::mpsc;

use super::fixture::{Client, PATIENCE, Team};
use crate::bus::rules::Pick;
use crate::domain::message::Way;
use crate::mcp::{About, AnyTool, Caller, Seating, Server, Tool, ToolError, endpoint};

/// Takes what is unread and then does as its word says.
struct Odd {
    /// Hears that a call has taken its messages.
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
        let pick = Pick {
            only: None,
            from: None,
            kind: None,
            limit: 10,
            bytes: 1000,
            head_bytes: 1000,
        };
        let taken = caller.call.take(Way::Pull, pick).await?;
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

/// The same, where no call may take longer than this.
async fn bob_within(team: &Team, limit: Duration) -> (Client, mpsc::UnboundedReceiver<usize>) {
    let (took, taken) = mpsc::unbounded_channel();
    let mut tools = endpoint::tools();
    let odd: Box<dyn AnyTool> = Box::new(Odd { took });
    tools.push(odd);
    let about = About {
        instructions: String::new(),
    };
    let seat = team.seat("bob").await;
    let mut bob = Client::of(Server::with_limit(
        about,
        tools,
        Seating::taken(seat),
        limit,
    ));
    bob.initialize().await;
    let mut ann = team.member("ann").await;
    ann.call("send_message", json!({ "to": "bob", "content": "hello" }))
        .await;
    (bob, taken)
}

/// The message is offered again.
async fn reads_again(bob: &mut Client) {
    let read = bob.call("check_messages", json!({})).await;
    assert_eq!(read["messages"][0]["content"], "hello", "{read}");
}

#[tokio::test]
async fn a_panic_is_answered_and_gives_back() {
    let team = Team::new();
    let (mut bob, _taken) = bob(&team).await;
    let text = bob.refused("odd", json!({ "then": "panic" })).await;
    assert_eq!(
        text,
        "`odd` failed inside the bridge: try once more, then go on without it"
    );
    reads_again(&mut bob).await;
}

#[tokio::test]
async fn an_error_gives_back() {
    let team = Team::new();
    let (mut bob, _taken) = bob(&team).await;
    assert_eq!(
        bob.refused("odd", json!({ "then": "fail" })).await,
        "it failed"
    );
    reads_again(&mut bob).await;
}

#[tokio::test]
async fn a_cancelled_call_gives_back_and_is_not_answered() {
    let team = Team::new();
    let (mut bob, mut taken) = bob(&team).await;
    let id = bob.begin_call("odd", json!({ "then": "hang" })).await;
    assert_eq!(taken.recv().await, Some(1));
    bob.notify("notifications/cancelled", json!({ "requestId": id }))
        .await;
    let read = bob
        .call("wait_for_message", json!({ "timeout_seconds": 20 }))
        .await;
    assert_eq!(read["message"]["content"], "hello");
}

#[tokio::test]
async fn an_answer_that_is_taken_back_counts_as_never_given() {
    let team = Team::new();
    let (mut bob, _taken) = bob(&team).await;
    let id = bob.begin_call("check_messages", json!({})).await;
    assert_eq!(bob.result(&id).await["messages"][0]["content"], "hello");
    bob.notify("notifications/cancelled", json!({ "requestId": id }))
        .await;
    let read = bob
        .call("wait_for_message", json!({ "timeout_seconds": 20 }))
        .await;
    assert_eq!(read["message"]["content"], "hello");
}

#[tokio::test]
async fn a_call_that_hangs_is_ended_at_its_deadline_and_gives_back() {
    let team = Team::new();
    let (mut bob, _taken) = bob_within(&team, Duration::from_secs(1)).await;
    let text = bob.refused("odd", json!({ "then": "hang" })).await;
    assert!(
        text.starts_with("`odd` had no answer from the bus within 1 s"),
        "{text}"
    );
    reads_again(&mut bob).await;
}

#[tokio::test]
async fn arguments_that_do_not_fit_take_nothing() {
    let team = Team::new();
    let (mut bob, _taken) = bob(&team).await;
    bob.refused("odd", json!({ "than": "x" })).await;
    reads_again(&mut bob).await;
}
