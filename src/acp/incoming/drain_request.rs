//! Draining: between two steps of its turn, an agent asks for new messages.
//!
//! qwen does so after each batch of tool calls. It waits 2 s at the most, three unanswered questions or one "method not found" make it
//! stop asking, and old versions wait without end. So every question is answered in time, whatever its owner is doing.

use std::sync::{Arc, Mutex};

use agent_client_protocol::Responder;
use serde_json::{Value, json};

use crate::acp::data::json_fields::string;
use crate::acp::data::session_settings::AcpSessionId;
use crate::domain::wait_times;
use crate::sys::mutex::lock;

/// The method of the question.
pub(crate) const METHOD: &str = "craft/drainMidTurnQueue";

/// A question for new messages. If it is dropped, or not answered in time, the answer is empty.
#[derive(Debug)]
pub struct DrainQuestion {
    session: AcpSessionId,
    open: Open,
}

/// The first answer takes the responder out, so there is only one.
#[derive(Debug, Clone)]
struct Open(Arc<Mutex<Option<Responder>>>);

impl DrainQuestion {
    /// Takes a question in. It needs a tokio runtime for its deadline.
    pub(crate) fn new(params: &Value, responder: Responder) -> Self {
        let open = Open(Arc::new(Mutex::new(Some(responder))));
        let late = open.clone();
        // The task ends by itself at its deadline, and holds nothing but the responder.
        tokio::spawn(async move {
            tokio::time::sleep(wait_times::DRAIN_ANSWER).await;
            late.answer(&[]);
        });
        let session = string(params, "sessionId").unwrap_or_default().into();
        Self { session, open }
    }

    /// Returns the session whose turn asks.
    pub fn session(&self) -> &AcpSessionId {
        &self.session
    }

    /// Answers with texts that go into the turn. Returns whether they did: it may be too late.
    pub fn answer(self, texts: &[String]) -> bool {
        self.open.answer(texts)
    }
}

impl Drop for DrainQuestion {
    fn drop(&mut self) {
        self.open.answer(&[]);
    }
}

impl Open {
    fn answer(&self, texts: &[String]) -> bool {
        let responder = lock(&self.0).take();
        let Some(responder) = responder else {
            return false;
        };
        match responder.respond(json!({ "messages": texts })) {
            Ok(()) => true,
            Err(error) => {
                // The connection is over, and its own ending says why.
                tracing::debug!(%error, "a question for messages outlived its agent");
                false
            }
        }
    }
}
