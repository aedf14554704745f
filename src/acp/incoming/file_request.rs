//! An agent's wish to read or write a file through us, where we offer that.

use crate::acp::data::session_settings::AcpSessionId;
use crate::acp::data::session_update::string;
use agent_client_protocol::{Error, ErrorCode, Responder};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A wish that waits for its answer. Dropped without one, it is refused, so that no agent hangs.
#[derive(Debug)]
pub struct FileQuestion {
    request: FileRequest,
    /// In a lock that is never waited for, as its owner alone has it: so that what holds questions can be shared.
    responder: Mutex<Option<Responder>>,
}

/// What an agent wants with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRequest {
    /// The agent's session.
    pub session: AcpSessionId,
    /// The file, as the agent names it: absolute, by the protocol.
    pub path: PathBuf,
    /// What with it.
    pub access: FileAccess,
}

/// What is done with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileAccess {
    /// `fs/read_text_file`.
    Read {
        /// The first line, counted from 1.
        line: Option<usize>,
        /// How many lines.
        limit: Option<usize>,
    },
    /// `fs/write_text_file`.
    Write {
        /// All that is in it afterwards.
        content: String,
    },
}

impl FileQuestion {
    pub(crate) fn new(request: FileRequest, responder: Responder) -> Self {
        Self { request, responder: Mutex::new(Some(responder)) }
    }

    /// Returns what is wanted.
    pub fn request(&self) -> &FileRequest {
        &self.request
    }

    /// Answers: with what was read (or nothing, of a write), or with why not. When the agent is gone, nothing happens.
    pub fn answer(mut self, answer: Result<String, String>) {
        self.send(answer);
    }

    fn send(&mut self, answer: Result<String, String>) {
        let responder = self.responder.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(responder) = responder.take() else {
            return;
        };
        let sent = match (answer, &self.request.access) {
            (Ok(content), FileAccess::Read { .. }) => {
                responder.respond(json!({"content": content}))
            }
            (Ok(_), FileAccess::Write { .. }) => responder.respond(json!({})),
            (Err(why), _) => {
                let code = ErrorCode::INTERNAL_ERROR;
                responder.respond_with_error(Error::new(code, why))
            }
        };
        if let Err(error) = sent {
            // The connection is over, and its own ending says why.
            tracing::debug!(%error, "a file request outlived its agent");
        }
    }
}

impl Drop for FileQuestion {
    fn drop(&mut self) {
        self.send(Err("the turn is over".to_owned()));
    }
}

impl FileRequest {
    /// The two methods.
    pub(crate) const METHODS: [&'static str; 2] = ["fs/read_text_file", "fs/write_text_file"];

    /// Parses the parameters of one of the methods; `None` when something is missing.
    pub(crate) fn parse(method: &str, params: &Value) -> Option<Self> {
        let count = |key: &str| {
            let count = params.get(key).and_then(Value::as_u64);
            count.map(|count| usize::try_from(count).unwrap_or(usize::MAX))
        };
        Some(Self {
            session: string(params, "sessionId")?.into(),
            path: string(params, "path")?.into(),
            access: if method == Self::METHODS[0] {
                FileAccess::Read { line: count("line"), limit: count("limit") }
            } else {
                FileAccess::Write { content: string(params, "content")? }
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_read_and_malformed_ones_are_none() {
        let [read, write] = FileRequest::METHODS;
        let params = json!({"sessionId": "s", "path": "/p/a", "line": 2, "limit": null});
        let request = FileRequest::parse(read, &params).unwrap();
        assert_eq!(request.path, PathBuf::from("/p/a"));
        let expected = FileAccess::Read { line: Some(2), limit: None };
        assert_eq!(request.access, expected);
        assert_eq!(FileRequest::parse(write, &params), None, "without content");
        assert_eq!(FileRequest::parse(read, &json!({"path": "/p/a"})), None);
    }
}
