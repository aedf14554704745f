//! What a person does at a page: checked, done on a thread of its own, and answered with what came of it.

use std::sync::Arc;

use axum::body::to_bytes;
use axum::extract::FromRequest as _;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::{Form, Json};
use serde_json::json;

use super::page_routes::view_of;
use super::read_act::ActFields;
use crate::domain::act::Act;
use crate::domain::{limits, wait_times};
use crate::sys::mutex::lock;
use crate::web::acts::{ActEnd, ActError, ActOutcome};
use crate::web::gate::refused;
use crate::web::pages::View;
use crate::web::problem::Problem;
use crate::web::server_state::ServerState;

/// In which form an act comes, and its answer goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spoken {
    Form,
    Json,
}

/// Does what a person wants.
pub(in crate::web) async fn do_act(
    State(state): State<ServerState>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let Some(spoken) = spoken(request.headers()) else {
        let words = "A form or JSON is expected.";
        return refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Not in that form", &[words]);
    };
    let wants_page = wants_page(request.headers());
    let fields = match read(request, spoken).await {
        Ok(fields) => fields,
        Err(problem) => return unread(wants_page, problem),
    };
    if !state.keys.is_form_token(&fields.form_token) {
        let problem = Problem::new(
            StatusCode::FORBIDDEN,
            "no-form-token",
            "this comes from no page of this server",
        );
        return unread(wants_page, problem.with_hint("load the page again"));
    }
    // The name of a page, so that no form leads to another server.
    let back = view_of(&fields.back).unwrap_or(View::Team);
    let act = match fields.act(&name) {
        Ok(act) => act,
        Err(wrong) => {
            let problem =
                Problem::new(StatusCode::BAD_REQUEST, "wrong-act", "this act is not understood");
            return answer(&state, spoken, &back, Err(problem.with_detail(wrong)));
        }
    };
    if let Some(problem) = not_allowed(&state, &act) {
        return answer(&state, spoken, &back, Err(problem));
    }
    let surroundings = Arc::clone(&state.surroundings);
    let acting = tokio::task::spawn_blocking(move || surroundings.act(act));
    let done = acting
        .await
        .unwrap_or_else(|_| Err(ActError { words: "the act has failed".to_owned(), hint: None }));
    let done = done.map_err(|error| {
        let title = "nothing was done";
        let words = error.words.strip_prefix(title).and_then(|rest| rest.strip_prefix(": "));
        let words = words.unwrap_or(&error.words).to_owned();
        let problem = Problem::new(StatusCode::CONFLICT, "not-done", title).with_detail(words);
        match error.hint {
            Some(hint) => problem.with_hint(hint),
            None => problem,
        }
    });
    answer(&state, spoken, &back, done)
}

/// Says whether a browser asks that shows the answer as a page.
fn wants_page(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|kinds| kinds.contains("text/html"))
}

/// Answers what was not read as an act of a page, so that nobody knows which page to show again.
fn unread(wants_page: bool, problem: Problem) -> Response {
    if !wants_page {
        return problem.into_response();
    }
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::BAD_REQUEST);
    let why = [Some(problem.title.to_owned()), problem.detail, problem.hint];
    let why: Vec<_> = why.into_iter().flatten().map(|words| sentence(&words)).collect();
    let why: Vec<_> = why.iter().map(String::as_str).collect();
    refused(status, "Nothing was done", &why)
}

fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}

/// Says why an act is not allowed here.
fn not_allowed(state: &ServerState, act: &Act) -> Option<Problem> {
    let (is_allowed, switch) = if act.is_answer() {
        (state.settings.can_answer, "--answer")
    } else {
        (state.settings.can_write, "--write")
    };
    let problem = || {
        Problem::new(StatusCode::FORBIDDEN, "read-only", "this server does not allow that")
            .with_hint(format!("start `cli-team-bridge web` with {switch}"))
    };
    (!is_allowed).then(problem)
}

fn spoken(headers: &HeaderMap) -> Option<Spoken> {
    let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    match kind.split(';').next()?.trim() {
        "application/json" => Some(Spoken::Json),
        "application/x-www-form-urlencoded" => Some(Spoken::Form),
        _ => None,
    }
}

/// Reads the fields, of so many bytes and within a time.
async fn read(request: Request, spoken: Spoken) -> Result<ActFields, Problem> {
    let (parts, body) = request.into_parts();
    let reading = to_bytes(body, limits::WEB_BODY_BYTES);
    let bytes = match tokio::time::timeout(wait_times::WEB_BODY, reading).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => {
            let problem =
                Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-long", "this is too long");
            return Err(problem
                .with_detail(format!("a request has at most {} bytes", limits::WEB_BODY_BYTES)));
        }
        Err(_) => {
            return Err(Problem::new(
                StatusCode::REQUEST_TIMEOUT,
                "too-slow",
                "the body did not arrive in time",
            ));
        }
    };
    let again = Request::from_parts(parts, bytes.into());
    let read = match spoken {
        Spoken::Json => Json::from_request(again, &())
            .await
            .map(|Json(fields)| fields)
            .map_err(|error| error.body_text()),
        Spoken::Form => Form::from_request(again, &())
            .await
            .map(|Form(fields)| fields)
            .map_err(|error| error.body_text()),
    };
    read.map_err(|wrong| {
        Problem::new(StatusCode::BAD_REQUEST, "wrong-form", "this form is not understood")
            .with_detail(wrong)
    })
}

fn answer(
    state: &ServerState,
    spoken: Spoken,
    back: &View,
    done: Result<ActOutcome, Problem>,
) -> Response {
    match (spoken, done) {
        (Spoken::Json, Ok(outcome)) => {
            let end = match outcome.end {
                ActEnd::Done => "done",
                ActEnd::Pending => "pending",
                ActEnd::Silent => "silent",
            };
            let ActOutcome { words, message_id, .. } = outcome;
            Json(json!({ "outcome": end, "words": words, "message_id": message_id }))
                .into_response()
        }
        (Spoken::Json, Err(problem)) => problem.into_response(),
        (Spoken::Form, done) => {
            let words = match done {
                Ok(outcome) => outcome.words,
                Err(problem) => {
                    let parts = [Some(problem.title.to_owned()), problem.detail, problem.hint];
                    parts.into_iter().flatten().collect::<Vec<_>>().join(": ")
                }
            };
            *lock(&state.notice) = Some(words);
            let base = state.settings.base_path.as_str();
            let back = back.path();
            Redirect::to(&format!("{base}{}", back.trim_start_matches("./"))).into_response()
        }
    }
}
