//! What is answered when something is wrong: problem details (RFC 9457) that say what to do.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

/// The media type of problem details.
const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

/// A problem, for programs and the people who read their errors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ProblemDetails")]
pub struct Problem {
    /// The kind of problem, a word that never changes: `about:blank` would say no more than the status.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The status of the answer.
    pub status: u16,
    /// What is wrong, the same for every problem of its kind.
    pub title: &'static str,
    /// What is wrong here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// After how many seconds to ask again, which stands in the header `Retry-After`.
    #[serde(skip)]
    pub retry_after: Option<u64>,
}

impl Problem {
    /// Makes a problem of a kind.
    pub fn new(status: StatusCode, kind: &'static str, title: &'static str) -> Self {
        Self { kind, status: status.as_u16(), title, detail: None, hint: None, retry_after: None }
    }

    /// Adds what is wrong here.
    #[must_use]
    pub fn with_detail(self, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }

    /// Returns what is wrong, in a sentence.
    pub fn said(&self) -> &str {
        self.detail.as_deref().unwrap_or(self.title)
    }

    /// Adds when to ask again.
    #[must_use]
    pub fn with_retry_after(self, after: Duration) -> Self {
        Self { retry_after: Some(after.as_secs().max(1)), ..self }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self).expect("a problem is plain data");
        let mut answer = (status, [(header::CONTENT_TYPE, PROBLEM_JSON)], body).into_response();
        if let Some(seconds) = self.retry_after {
            answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        answer
    }
}
