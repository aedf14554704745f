//! The errors of an agent connection, and its endings.

use super::data::text_bounds;
use crate::domain::text::visible_letters::one_line;
use serde_json::Value;
use std::time::Duration;

/// Why a request to an agent has no usable answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AcpError {
    /// The agent answered with a JSON-RPC error. The code is not always one of JSON-RPC's: gemini passes on HTTP codes.
    #[error("the agent refused `{method}`{} (code {code})", said(message, data.as_ref()))]
    Refused {
        /// The method that was refused.
        method: String,
        /// The code as the agent sent it.
        code: i32,
        /// The agent's own words as one bounded line. Secrets are hidden here and in `data`.
        message: String,
        /// The agent's additional data.
        data: Option<Value>,
    },
    /// The connection ended before the answer came, or before the request.
    #[error("no answer to `{method}`: {ending}")]
    Closed {
        /// The method without an answer.
        method: String,
        /// Why the connection ended.
        ending: Ending,
    },
    /// The agent runs, but did not answer in time.
    #[error("the agent did not answer `{method}` within {after:?}")]
    Deadline {
        /// The method without an answer.
        method: String,
        /// How long the request waited.
        after: Duration,
    },
    /// The answer lacks a field that the protocol requires.
    #[error("the agent's answer to `{method}` is unusable: {problem}")]
    Malformed {
        /// The method with the unusable answer.
        method: String,
        problem: String,
    },
    /// The agent speaks another version of the protocol.
    #[error(
        "the agent speaks version {version} of the Agent Client Protocol, not 1: use a version of it that speaks 1"
    )]
    Version {
        /// The version in the agent's answer.
        version: String,
    },
    /// The agent did not advertise the method, so it was not sent.
    #[error("the agent does not offer `{method}`")]
    NotOffered {
        /// The method that was not sent.
        method: String,
    },
}

impl AcpError {
    /// Returns the whole error of the agent with its additional data, for a search for the cause.
    pub fn words(&self) -> String {
        match self {
            Self::Refused { message, data: Some(data), .. } => format!("{message} {data}"),
            Self::Refused { message, .. } => message.clone(),
            other => other.to_string(),
        }
    }
}

/// Why a connection has ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Ending {
    /// The agent closed its stdout: usually it exited.
    #[error("the agent closed its stdout")]
    AgentClosed,
    /// The owner called `shutdown`, or dropped the last handle.
    #[error("the connection was shut down")]
    Shutdown,
    /// The pipe to the agent stalled for longer than its limit.
    #[error("the agent stopped reading its stdin (it read nothing for {after:?})")]
    StdinStalled {
        /// How long the agent has not read.
        after: Duration,
    },
    /// The pipe to the agent is broken.
    #[error("the agent's stdin is closed: {problem}")]
    StdinBroken { problem: String },
    /// The agent's stdout cannot be read.
    #[error("the agent's stdout cannot be read: {problem}")]
    StdoutBroken { problem: String },
    /// The protocol driver itself failed. No input is known to cause this.
    #[error("the connection failed: {problem}")]
    Failed { problem: String },
}

/// Returns the words of an error and the sentence in its additional data, ready to append: neither an empty one, nor one twice.
fn said(message: &str, data: Option<&Value>) -> String {
    let sentence = data.and_then(text_bounds::sentence).map(one_line).unwrap_or_default();
    let is_repeated = message.contains(sentence.trim());
    let said = [message, if is_repeated { "" } else { &sentence }];
    let said: Vec<_> = said.into_iter().filter(|text| !text.trim().is_empty()).collect();
    if said.is_empty() { String::new() } else { format!(": {}", said.join(": ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_refusal_shows_the_agents_details() {
        let refused = |data| {
            AcpError::Refused {
                method: "session/new".into(),
                code: -32603,
                message: "Internal error".into(),
                data,
            }
            .to_string()
        };
        assert_eq!(
            refused(Some(json!({"details": "quota is spent"}))),
            "the agent refused `session/new`: Internal error: quota is spent (code -32603)"
        );
        let bare = "the agent refused `session/new`: Internal error (code -32603)";
        assert_eq!(refused(None), bare);
        assert_eq!(refused(Some(json!("Internal error"))), bare, "nothing is said twice");
    }

    #[test]
    fn a_refusal_without_words_ends_without_a_colon() {
        let refused = |data| AcpError::Refused {
            method: "session/prompt".into(),
            code: 7,
            message: String::new(),
            data,
        };
        assert_eq!(refused(None).to_string(), "the agent refused `session/prompt` (code 7)");
        let data = Some(json!({ "details": "" }));
        assert_eq!(refused(data).to_string(), "the agent refused `session/prompt` (code 7)");
        let data = Some(json!({ "message": "no quota" }));
        let said = refused(data).to_string();
        assert_eq!(said, "the agent refused `session/prompt`: no quota (code 7)");
    }
}
