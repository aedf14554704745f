//! POST requests that name an `Idempotency-Key`: such a request goes on when its connection breaks, and a repetition of it is answered with
//! what came of the first, not done again. What was refused has done nothing, so a repetition tries it again; so it does where nobody knows
//! whether it was done, and the bus then does it once.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use sha2::{Digest as _, Sha256};
use tokio::time::timeout;

use super::kept_answers::{Asked, Attempt, Coming, KeptAnswer};
use super::read_request::bytes;
use crate::bus;
use crate::domain::wait_times;
use crate::web::problem::Problem;
use crate::web::programs::Program;
use crate::web::server_state::ServerState;

/// The header that names the key.
pub(super) const HEADER: &str = "idempotency-key";

/// The most characters of a key.
pub(super) const MOST: usize = 255;

/// The longest that a request takes: it may wait for a message.
const LONGEST: Duration =
    Duration::from_secs(wait_times::WEB_ANSWER.as_secs() + wait_times::MAX_WAIT_SECONDS);

/// Answers a request, or repeats the answer to an earlier one of its key.
pub(super) async fn once(
    State(state): State<ServerState>,
    request: Request,
    next: Next,
) -> Response {
    let key = match key_of(request.headers()) {
        Ok(None) => return next.run(request).await,
        Ok(Some(key)) => key,
        Err(problem) => return problem.into_response(),
    };
    let Some(program) = request.extensions().get::<Program>().map(|one| one.hash.clone()) else {
        return next.run(request).await;
    };
    let (parts, body) = request.into_parts();
    let body = match bytes(body).await {
        Ok(body) => body,
        Err(problem) => return problem.into_response(),
    };
    let mut digest = Sha256::new();
    digest.update(parts.uri.to_string().as_bytes());
    digest.update([0]);
    digest.update(&body);
    let asked: Asked = digest.finalize().into();
    let (sender, answer) = match state.kept_answers.attempt(&program, &key, asked) {
        Attempt::First(sender, answer) => (sender, answer),
        Attempt::Again(answer) => return when_there(answer).await,
        Attempt::Reused => {
            let title = "Another request has had this Idempotency-Key";
            return Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "reused-key", title)
                .with_hint("name a new one for each request, and the same one to repeat it")
                .into_response();
        }
    };
    // A task of its own, which goes on when the connection breaks. The bus knows a repetition by the same name.
    tokio::spawn(async move {
        let name = format!("{program:?} {key} {}", data_encoding::HEXLOWER.encode(&asked));
        let work = next.run(Request::from_parts(parts, Body::from(body)));
        let response = bus::named_acts(name, work).await;
        let (parts, body) = response.into_parts();
        // Answers of this server are whole, and no longer than the texts that they repeat.
        let Ok(body) = to_bytes(body, usize::MAX).await else { return };
        match parts.status {
            // It may have been done all the same.
            StatusCode::SERVICE_UNAVAILABLE => state.kept_answers.leave_unknown(&program, &key),
            status if !status.is_success() => state.kept_answers.forget(&program, &key),
            _ => {}
        }
        let answer = KeptAnswer { status: parts.status, headers: parts.headers, body };
        sender.send_replace(Some(Arc::new(answer)));
    });
    when_there(answer).await
}

/// Returns the key that a request names; none if it names none.
fn key_of(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut named = headers.get_all(HEADER).iter();
    let Some(first) = named.next() else { return Ok(None) };
    let key = first.to_str().ok().filter(|key| (1..=MOST).contains(&key.len()));
    if let (Some(key), None) = (key, named.next()) {
        return Ok(Some(key.to_owned()));
    }
    let title = "The Idempotency-Key is wrong";
    Err(Problem::new(StatusCode::BAD_REQUEST, "wrong-idempotency-key", title)
        .with_detail(format!("it is one text of 1 to {MOST} ASCII characters")))
}

/// Waits for an answer, and returns it.
async fn when_there(mut answer: Coming) -> Response {
    let waited = timeout(LONGEST, answer.wait_for(Option::is_some)).await;
    let found = waited.ok().and_then(|waited| waited.ok().and_then(|answer| (*answer).clone()));
    let Some(answer) = found else {
        let title = "The request is not answered yet";
        return Problem::new(StatusCode::SERVICE_UNAVAILABLE, "late", title)
            .with_hint("send it again with the same Idempotency-Key")
            .with_retry_after(wait_times::WEB_BUSY)
            .into_response();
    };
    let KeptAnswer { status, headers, body } = (*answer).clone();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
