//! An agent's request to read or write a file through us, where its owner offers that ([`FileSystem`]).

use crate::acp::data::json_fields::string;
use crate::acp::data::session_settings::AcpSessionId;
use crate::sys::mutex::unpoisoned;
use agent_client_protocol::{Error, ErrorCode, Responder};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Mutex;

/// Whether agents are offered the methods of the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FileSystem {
    /// Requests come as events.
    Offered,
    /// Requests are answered "method not found".
    #[default]
    Absent,
}

/// A request that waits for its answer. If it is dropped without one, it is refused, so that no agent hangs.
#[derive(Debug)]
pub struct FileQuestion {
    request: FileRequest,
    /// The lock only makes the holder of questions shareable: the owner alone uses it, and never waits.
    responder: Mutex<Option<Responder>>,
}

/// An agent's request about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRequest {
    pub session: AcpSessionId,
    /// The file, as the agent names it: an absolute path, by the protocol.
    pub path: PathBuf,
    /// Whether to read or to write it.
    pub access: FileAccess,
}

/// The access to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileAccess {
    /// `fs/read_text_file`.
    Read {
        /// The first line, counted from 1.
        line: Option<usize>,
        limit: Option<usize>,
    },
    /// `fs/write_text_file`.
    Write {
        /// The whole new content.
        content: String,
    },
}

/// Why a file is not read or written, in a sentence for the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileRefusal {
    /// The file does not exist. Agents tell this from other errors by its code.
    Missing(String),
    Other(String),
}

impl From<&str> for FileRefusal {
    fn from(why: &str) -> Self {
        Self::Other(why.to_owned())
    }
}

impl FileQuestion {
    pub(crate) fn new(request: FileRequest, responder: Responder) -> Self {
        Self { request, responder: Mutex::new(Some(responder)) }
    }

    /// Returns the request.
    pub fn request(&self) -> &FileRequest {
        &self.request
    }

    /// Answers with the content that was read (empty for a write), or with the reason for a refusal. The answer is lost if the agent is
    /// gone.
    pub fn answer(mut self, answer: Result<String, FileRefusal>) {
        self.send(answer);
    }

    fn send(&mut self, answer: Result<String, FileRefusal>) {
        let responder = unpoisoned(self.responder.get_mut());
        let Some(responder) = responder.take() else {
            return;
        };
        let sent = match (answer, &self.request.access) {
            (Ok(content), FileAccess::Read { .. }) => {
                responder.respond(json!({"content": content}))
            }
            (Ok(_), FileAccess::Write { .. }) => responder.respond(json!({})),
            (Err(FileRefusal::Missing(why)), _) => {
                responder.respond_with_error(Error::new(ErrorCode::RESOURCE_NOT_FOUND, why))
            }
            (Err(FileRefusal::Other(why)), _) => {
                responder.respond_with_error(Error::new(ErrorCode::INTERNAL_ERROR, why))
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
        self.send(Err("the turn is over".into()));
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
    fn requests_are_parsed_and_malformed_ones_are_none() {
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
