//! A program with a key, as tests have it.

use serde_json::Value;

use super::http_client::{Answer, WebServer};
use crate::steer::json_of;
use crate::support::Stage;

/// Returns the stage of a team that somebody has begun, who has left: programs alone are its members.
pub(crate) async fn founded() -> Stage {
    let stage = Stage::new("");
    stage.peer("founder").await.close().await;
    stage
}

/// A program that uses the API of a server.
pub(crate) struct ApiClient<'a> {
    web: &'a WebServer,
    pub(crate) key_id: String,
    /// The header with its key.
    pub(crate) bearer: String,
}

impl<'a> ApiClient<'a> {
    /// Makes a key of this name, with these options of `key new`.
    pub(crate) async fn new(
        stage: &Stage,
        web: &'a WebServer,
        name: &str,
        options: &[&str],
    ) -> Self {
        let key = json_of(stage, &[&["key", "new", name], options].concat()).await;
        let bearer = format!("Authorization: Bearer {}\r\n", key["secret"].as_str().unwrap());
        Self { web, key_id: key["key_id"].as_str().unwrap().to_owned(), bearer }
    }

    /// Asks for a path below `/api/v1`, and returns the body of the answer, which has this status.
    pub(crate) async fn get(&self, path: &str, status: u16) -> Value {
        let answer = self.web.get(&format!("/api/v1{path}"), &self.bearer).await;
        body(path, &answer, status)
    }

    /// Sends a body to a path below `/api/v1`; null sends none.
    pub(crate) async fn post(&self, path: &str, sent: &Value, status: u16) -> Value {
        let answer = self.sent(path, sent).await;
        body(path, &answer, status)
    }

    /// Does the same, and returns the status too.
    pub(crate) async fn post_any(&self, path: &str, sent: &Value) -> (u16, Value) {
        let answer = self.sent(path, sent).await;
        (answer.status, body(path, &answer, answer.status))
    }

    async fn sent(&self, path: &str, sent: &Value) -> Answer {
        let text = if sent.is_null() { String::new() } else { sent.to_string() };
        self.raw(path, "Content-Type: application/json\r\n", &text).await
    }

    /// Sends text to a path below `/api/v1`.
    pub(crate) async fn raw(&self, path: &str, headers: &str, text: &str) -> Answer {
        self.raw_bytes(path, headers, text.as_bytes()).await
    }

    /// Sends bytes to a path below `/api/v1`.
    pub(crate) async fn raw_bytes(&self, path: &str, headers: &str, bytes: &[u8]) -> Answer {
        let (port, length, bearer) = (self.web.port, bytes.len(), &self.bearer);
        let head = format!(
            "POST /api/v1{path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\
             Content-Length: {length}\r\n{headers}{bearer}\r\n"
        );
        self.web.send_bytes(&[head.as_bytes(), bytes].concat()).await
    }

    /// Returns the same program without a key.
    pub(crate) fn without_key(&self) -> Self {
        Self { web: self.web, key_id: String::new(), bearer: String::new() }
    }
}

/// Returns the body of an answer, after a look at its status. A problem says in itself what it is.
fn body(path: &str, answer: &Answer, status: u16) -> Value {
    assert_eq!(answer.status, status, "{path}: {answer:?}");
    if answer.body.is_empty() {
        return Value::Null;
    }
    let body: Value = serde_json::from_str(&answer.body).unwrap_or_else(|_| panic!("{answer:?}"));
    if status >= 400 {
        assert!(answer.head.contains("content-type: application/problem+json"), "{answer:?}");
        assert_eq!(body["status"], status, "{body}");
    }
    body
}
