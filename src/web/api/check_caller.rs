//! Says who may ask the API: a program with a key that may read. The cookie of the pages does not count here.

use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use crate::domain::access_key::{KeyScope, hash_of_secret};
use crate::web::problem::Problem;
use crate::web::server_state::ServerState;

/// The beginning of the paths of the API.
pub(in crate::web) const API: &str = "/api/";

/// Returns the answer to a request that the API is closed to; none if it may go on.
pub(in crate::web) async fn closed_to(
    state: &ServerState,
    method: &Method,
    headers: &HeaderMap,
) -> Option<Response> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        let problem = Problem::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "only-reads",
            "The API only reads: this path takes GET and HEAD",
        );
        let mut answer = problem.into_response();
        answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        return Some(answer);
    }
    let scopes = match bearer(headers) {
        Some(secret) => scopes_of(state, secret).await,
        None => None,
    };
    match scopes {
        Some(scopes) if scopes.contains(&KeyScope::Read) => None,
        Some(_) => {
            let problem =
                Problem::new(StatusCode::FORBIDDEN, "wrong-scope", "This key may not read");
            let hint = "make a key that may: `cli-team-bridge key new NAME --read`";
            Some(problem.with_hint(hint).into_response())
        }
        None => Some(without_key(state, bearer(headers).is_some())),
    }
}

/// Returns the secret that a request names; none if it names none, or several.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (value, None) = (values.next()?, values.next()) else { return None };
    let (scheme, secret) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(secret.trim())
}

/// Returns what a key may do; none if there is no such key, or no bus that could have one.
async fn scopes_of(state: &ServerState, secret: &str) -> Option<Vec<KeyScope>> {
    let hash = hash_of_secret(secret)?;
    let found = state.reader.ask(move |bus| {
        let found = bus.state().key_of(&hash);
        found.map(|(_, key)| key.scopes.clone())
    });
    found.await.ok().flatten()
}

/// Answers a request without a key, or with a wrong one, which counts as a wrong token of the pages does.
fn without_key(state: &ServerState, is_wrong: bool) -> Response {
    let now = Instant::now();
    if let Some(left) = state.keys.locked_out(now) {
        return locked_out(left);
    }
    if is_wrong {
        state.keys.count_wrong(now);
    }
    let problem = if is_wrong {
        Problem::new(
            StatusCode::UNAUTHORIZED,
            "wrong-key",
            "There is no such key, or it was revoked",
        )
    } else {
        Problem::new(StatusCode::UNAUTHORIZED, "no-key", "This needs a key")
    };
    let hint = "`cli-team-bridge key new NAME` makes a key; send it as `Authorization: Bearer KEY`";
    let mut answer = problem.with_hint(hint).into_response();
    answer.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    answer
}

fn locked_out(left: Duration) -> Response {
    let problem = Problem::new(
        StatusCode::TOO_MANY_REQUESTS,
        "locked-out",
        "There were too many wrong keys, so none is tried for some minutes",
    );
    let mut answer = problem.with_hint("valid keys go on working").into_response();
    answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(left.as_secs().max(1)));
    answer
}
