//! Steering: text put into a running turn, by a method outside the protocol.
//!
//! The adapters of claude and codex offer `_session/steering`, and advertise it (`_meta.steering.supported`). It is used only where it is
//! advertised: codex's adapter answers unknown methods with an empty success.

use std::time::Duration;

use serde_json::{Value, json};

use super::connection::Connection;
use super::data::agent_info::Feature;
use super::data::session_settings::AcpSessionId;
use super::error::AcpError;

const METHOD: &str = "_session/steering";

/// The outcome of steering a text into a running turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steered {
    /// The text is in the turn, or in one that the agent has begun with it.
    Taken,
    /// No turn runs, and the text was discarded: it needs a prompt.
    NoTurn,
}

impl Connection {
    /// Puts a text into the running turn of a session. Without one it does nothing.
    ///
    /// After the deadline, or when the future is dropped, the agent is asked to cancel the request. Whether it does is up to the agent.
    pub async fn steer(
        &self,
        session: &AcpSessionId,
        text: &str,
        deadline: Duration,
    ) -> Result<Steered, AcpError> {
        if !self.agent().is_some_and(|agent| agent.offers(Feature::Steering)) {
            return Err(AcpError::NotOffered { method: METHOD.into() });
        }
        let params = json!({
            "sessionId": session.as_str(),
            "prompt": [{"type": "text", "text": text}],
            "_meta": {"steering": {"idleBehavior": "promptRequired"}},
        });
        let answer = self.call(METHOD, params, deadline).await?;
        match answer.get("outcome").and_then(Value::as_str) {
            Some("injected" | "startedNewTurn") => Ok(Steered::Taken),
            Some("promptRequired") => Ok(Steered::NoTurn),
            // An agent that does not know the method may answer with an empty success.
            _ => Err(AcpError::Malformed {
                method: METHOD.into(),
                problem: "it has no `outcome` that says whether the text was accepted".into(),
            }),
        }
    }
}
