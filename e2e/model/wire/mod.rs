//! The four APIs: the form of each request, and of its answer.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use super::hidden_tools::ToolCall;
use super::request::{Api, Request};

/// The answer to a request: its body, and whether that is a stream of events.
pub(super) struct Answer {
    pub(super) body: String,
    pub(super) stream: bool,
}

/// Reads a request. Some APIs put the model and the method into `path`.
pub(super) fn read(api: Api, path: &str, body: &Value) -> Request {
    let mut request = match api {
        Api::Anthropic => anthropic::read(body),
        Api::Responses => responses::read(body),
        Api::Chat => chat::read(body),
        Api::Gemini => gemini::read(path, body),
    };
    request.raw = body.to_string();
    request
}

/// Writes an answer: a text, calls of tools, or both.
pub(super) fn answer(request: &Request, text: &str, calls: &[ToolCall]) -> Answer {
    let (whole, model) = (!request.stream, request.model.as_str());
    let body = match (request.api, whole) {
        (Api::Anthropic, true) => anthropic::whole(model, text, calls).to_string(),
        (Api::Anthropic, false) => typed_stream(&anthropic::stream(model, text, calls)),
        (Api::Responses, true) => responses::whole(model, text, calls).to_string(),
        (Api::Responses, false) => typed_stream(&responses::stream(model, text, calls)),
        (Api::Chat, true) => chat::whole(model, text, calls).to_string(),
        (Api::Chat, false) => stream(&chat::stream(model, text, calls)) + "data: [DONE]\n\n",
        (Api::Gemini, true) => gemini::whole(model, text, calls).to_string(),
        (Api::Gemini, false) => stream(&gemini::stream(model, text, calls)),
    };
    Answer { body, stream: request.stream }
}

/// Writes an error in the vendor's form.
pub(super) fn error(api: Api, status: u16, message: &str) -> Value {
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        _ => "api_error",
    };
    let google_status = match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        _ => "INTERNAL",
    };
    match api {
        Api::Gemini => {
            json!({ "error": { "code": status, "status": google_status, "message": message } })
        }
        _ => {
            json!({ "type": "error", "error": { "type": kind, "code": kind, "message": message } })
        }
    }
}

fn stream(events: &[Value]) -> String {
    let lines: Vec<_> = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    lines.concat()
}

/// Writes a stream in which each event has the name of its type.
fn typed_stream(events: &[Value]) -> String {
    let named = events.iter().map(|event| {
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or("message"))
    });
    named.collect()
}

/// Returns a new id.
fn id(prefix: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("{prefix}{:020x}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Returns the elements of a list; none if the value is not a list.
fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Returns a string; empty if the value is not a string.
fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
