//! Says which program asks the API, and whether it may do what it asks for: what its key allows, and what changes something needs the
//! switch of the server as well. The cookie of the pages does not count here.

use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use crate::domain::access_key::{KeyScope, hash_of_secret};
use crate::web::problem::Problem;
use crate::web::programs::Program;
use crate::web::server_state::ServerState;

/// The beginning of the paths of the API.
pub(in crate::web) const API: &str = "/api/";

/// Returns the program that asks, or the answer to somebody to whom the API is closed.
pub(in crate::web) async fn identify(
    state: &ServerState,
    headers: &HeaderMap,
) -> Result<Program, Response> {
    let secret = bearer(headers);
    let program = match secret {
        Some(secret) => program_of(state, secret).await,
        None => None,
    };
    program.ok_or_else(|| without_key(state, secret.is_some()))
}

/// Lets a request through if its program may do such things, and the server allows them.
pub(super) async fn check_scope(
    State((state, scope)): State<(ServerState, KeyScope)>,
    request: Request,
    next: Next,
) -> Response {
    let may = request.extensions().get::<Program>().is_some_and(|program| program.may(scope));
    if !may {
        return wrong_scope(scope).into_response();
    }
    let (is_allowed, switch) = match scope {
        KeyScope::Read => (true, ""),
        KeyScope::Write | KeyScope::Assign => (state.settings.can_write, "--write"),
        KeyScope::Answer => (state.settings.can_answer, "--answer"),
    };
    if !is_allowed {
        let title = "This server does not allow that";
        return Problem::new(StatusCode::FORBIDDEN, "read-only", title)
            .with_hint(format!("start `cli-team-bridge web` with {switch}"))
            .into_response();
    }
    next.run(request).await
}

fn wrong_scope(scope: KeyScope) -> Problem {
    let (title, option) = match scope {
        KeyScope::Read => ("This needs a key that may read", "--read"),
        KeyScope::Write => ("This needs a key that may write", "--write"),
        KeyScope::Assign => ("This needs a key that may assign tasks", "--assign"),
        KeyScope::Answer => ("This needs a key that may answer agents", "--answer"),
    };
    Problem::new(StatusCode::FORBIDDEN, "wrong-scope", title)
        .with_hint(format!("make a key that may: `cli-team-bridge key new NAME {option}`"))
}

/// Returns the secret that a request names; none if it names none, or several.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (value, None) = (values.next()?, values.next()) else { return None };
    let (scheme, secret) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(secret.trim())
}

/// Returns the program with a key; none if there is no such key, or no bus that could have one.
async fn program_of(state: &ServerState, secret: &str) -> Option<Program> {
    let hash = hash_of_secret(secret)?;
    let found = state.reader.ask(move |bus| {
        let (_, key) = bus.state().key_of(&hash)?;
        let (name, scopes) = (key.name.clone(), key.scopes.clone());
        Some(Program { name, scopes, hash })
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
