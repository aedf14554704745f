//! Messages that get into a running turn: the client steers them into it, or the agent drains them from the client.
//!
//! Neither is part of the protocol: the adapters of claude and codex offer `_session/steering`, and qwen sends `craft/drainMidTurnQueue`.
//! A script can also make the agent misbehave.

use std::collections::VecDeque;
use std::sync::Mutex;

use agent_client_protocol::v1::{ConnectionTo, Responder, schema};
use agent_client_protocol::{Client, Error, JsonRpcRequest, JsonRpcResponse, UntypedMessage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use super::rpc_answers::answered;
use super::text_blocks::text_of;
use crate::scripted::script::script_format::Steering;
use crate::sys::mutex::lock;

/// A request to steer a text into the running turn.
#[derive(Debug, Clone, Serialize, Deserialize, JsonRpcRequest)]
#[request(method = "_session/steering", response = SteerAnswer)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SteerRequest {
    pub(crate) session_id: schema::SessionId,
    prompt: Vec<schema::ContentBlock>,
}

/// The outcome of a request to steer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonRpcResponse)]
pub(crate) struct SteerAnswer(Value);

impl SteerRequest {
    fn text(&self) -> String {
        text_of(&self.prompt)
    }
}

/// Texts that have come into the turn and that no `heed` step has taken.
#[derive(Debug, Default)]
pub(crate) struct Words {
    waiting: Mutex<VecDeque<String>>,
    arrived: Notify,
}

impl Words {
    fn push(&self, text: String) {
        self.waiting().push_back(text);
        self.arrived.notify_one();
    }

    /// Waits for the next text and returns it.
    pub(crate) async fn next(&self) -> String {
        loop {
            let arrived = self.arrived.notified();
            if let Some(text) = self.waiting().pop_front() {
                return text;
            }
            arrived.await;
        }
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, VecDeque<String>> {
        // Each text is pushed in one step, so a poisoned list is whole.
        lock(&self.waiting)
    }
}

/// Answers a request to steer as the script says; returns the responder if the script leaves the request unanswered.
pub(crate) fn steer(
    how: Steering,
    words: Option<&Words>,
    request: &SteerRequest,
    responder: Responder<SteerAnswer>,
) -> Option<Responder<SteerAnswer>> {
    let outcome = |outcome: &str| Ok(SteerAnswer(json!({ "outcome": outcome })));
    let answer = match (how, words) {
        (Steering::Absent, _) => Err(Error::method_not_found()),
        (Steering::Empty, _) => Ok(SteerAnswer(json!({}))),
        (Steering::Refuse, _) => Err(Error::internal_error()),
        (Steering::Silent, _) => return Some(responder),
        (Steering::NoTurn, _) | (_, None) => outcome("promptRequired"),
        (Steering::Inject, Some(words)) => {
            words.push(request.text());
            outcome("injected")
        }
    };
    answered(responder.respond_with_result(answer));
    None
}

/// Asks the client for new messages. A client without that method has none.
pub(crate) async fn drain(
    connection: &ConnectionTo<Client>,
    session: &schema::SessionId,
    words: &Words,
) {
    let message = UntypedMessage {
        method: "craft/drainMidTurnQueue".into(),
        params: json!({ "sessionId": session }),
    };
    let Ok(answer) = connection.send_request(message).block_task().await else {
        return;
    };
    let texts = answer.get("messages").and_then(Value::as_array);
    for text in texts.into_iter().flatten().filter_map(Value::as_str) {
        words.push(text.to_owned());
    }
}

/// Returns the capability that the agent advertises if it can be steered.
pub(crate) fn advertised() -> Map<String, Value> {
    let mut meta = Map::new();
    meta.insert("steering".to_owned(), json!({ "supported": true }));
    meta
}
