//! What can go wrong with an agent connection, and how one ends.

use super::data::text_bounds;
use crate::domain::text::visible_letters::one_line;
use serde_json::Value;
use std::time::Duration;

/// Why a request to an agent has no usable answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AcpError {
    /// The agent answered with a JSON-RPC error. The code is not always one of JSON-RPC's: gemini passes on HTTP codes.
    #[error("the agent refused `{method}`: {message}{} (code {code})", details(data.as_ref()))]
    Refused {
        /// The method that was refused.
        method: String,
        /// The code as the agent sent it.
        code: i32,
        /// The agent's own words as one bounded line, with secrets hidden; so are its further data.
        message: String,
        /// The agent's own further data.
        data: Option<Value>,
    },
    /// The connection ended before the answer came, or was over already.
    #[error("no answer to `{method}`: {ending}")]
    Closed {
        /// The method that stays unanswered.
        method: String,
        /// Why the connection ended.
        ending: Ending,
    },
    /// The agent is there but did not answer in time.
    #[error("the agent did not answer `{method}` within {after:?}")]
    Deadline {
        /// The method that stays unanswered.
        method: String,
        /// How long the answer was awaited.
        after: Duration,
    },
    /// The agent answered, but the answer lacks what the protocol promises.
    #[error("the agent's answer to `{method}` is unusable: {problem}")]
    Malformed {
        /// The method whose answer is unusable.
        method: String,
        problem: String,
    },
    /// The agent speaks another version of the protocol.
    #[error(
        "the agent speaks version {version} of the Agent Client Protocol, not 1: use a version of it that speaks 1"
    )]
    Version {
        /// What the agent answered as its version.
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
    /// Returns all that the agent said about it, with its own further data, for a caller that looks for the reason in it.
    pub fn words(&self) -> String {
        match self {
            Self::Refused { message, data: Some(data), .. } => format!("{message} {data}"),
            Self::Refused { message, .. } => message.clone(),
            other => other.to_string(),
        }
    }
}

/// Why a connection is over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Ending {
    /// The agent closed its stdout: usually it exited.
    #[error("the agent closed its stdout")]
    AgentClosed,
    /// The owner called `shutdown`, or dropped the last handle.
    #[error("the connection was shut down")]
    Shutdown,
    /// The pipe to the agent stood still for the whole limit.
    #[error("the agent stopped reading its stdin (it read nothing for {after:?})")]
    StdinStalled {
        /// How long the agent has read nothing.
        after: Duration,
    },
    /// The pipe to the agent is broken.
    #[error("the agent's stdin is closed: {problem}")]
    StdinBroken { problem: String },
    /// The agent's stdout cannot be read.
    #[error("the agent's stdout cannot be read: {problem}")]
    StdoutBroken { problem: String },
    /// The protocol driver itself gave up, which no input is known to cause.
    #[error("the connection failed: {problem}")]
    Failed { problem: String },
}

/// Returns the sentence in what an agent adds to an error, as a line that is ready to append.
fn details(data: Option<&Value>) -> String {
    let sentence = data.and_then(text_bounds::sentence);
    sentence.map(|text| format!(": {}", one_line(text))).unwrap_or_default()
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
        assert_eq!(refused(None), "the agent refused `session/new`: Internal error (code -32603)");
    }
}
