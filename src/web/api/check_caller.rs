//! Says which program asks the API, and whether it may do what it asks for: what its key allows, and what changes something needs the
//! switch of the server as well. The cookie of the pages does not count here.

use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::read_answers::no_answer;
use crate::domain::access_key::{KeyHash, KeyScope, hash_of_secret};
use crate::web::bus_reader::NoAnswer;
use crate::web::problem::Problem;
use crate::web::programs::Program;
use crate::web::server_state::ServerState;

/// What a program without a key needs.
const MAKE_A_KEY: &str =
    "`cli-team-bridge key new NAME` makes a key; send it as `Authorization: Bearer KEY`";

/// The beginning of the paths of the API.
pub(in crate::web) const API: &str = "/api/";

/// Returns the program that asks, or the answer to somebody to whom the API is closed.
pub(in crate::web) async fn identify(
    state: &ServerState,
    headers: &HeaderMap,
) -> Result<Program, Response> {
    let secret = bearer(headers);
    let program = match secret {
        // Whether a key is wrong is not known while the bus cannot be read.
        Some(secret) => {
            let found = program_of(state, secret).await;
            found.map_err(|why| no_answer(why).into_response())?
        }
        None => None,
    };
    let program = program.ok_or_else(|| without_key(state, secret.is_some()))?;
    state.known_keys.note(&program.hash);
    Ok(program)
}

/// Refuses a program whose key was revoked while its body was on the way.
pub(super) async fn check_key_again(state: &ServerState, program: &Program) -> Result<(), Problem> {
    let hash = program.hash.clone();
    let is_valid = state.reader.ask(move |bus| bus.state().key_of(&hash).is_some());
    if is_valid.await.map_err(no_answer)? { Ok(()) } else { Err(wrong_key()) }
}

/// Says that a key is none, or none any more.
pub(super) fn wrong_key() -> Problem {
    let title = "There is no such key, or it was revoked";
    Problem::new(StatusCode::UNAUTHORIZED, "wrong-key", title).with_hint(MAKE_A_KEY)
}

/// Returns the hash of the key that a request names, valid or not; none if it names none.
pub(in crate::web) fn named_key(headers: &HeaderMap) -> Option<KeyHash> {
    hash_of_secret(bearer(headers)?)
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

/// Returns the program with a key; none if there is no such key.
async fn program_of(state: &ServerState, secret: &str) -> Result<Option<Program>, NoAnswer> {
    let Some(hash) = hash_of_secret(secret) else { return Ok(None) };
    let found = state.reader.ask(move |bus| {
        let (_, key) = bus.state().key_of(&hash)?;
        let (name, scopes) = (key.name.clone(), key.scopes.clone());
        Some(Program { name, scopes, hash })
    });
    found.await
}

/// Answers a request without a key, or with a wrong one, which counts as a wrong token of the pages does.
fn without_key(state: &ServerState, is_wrong: bool) -> Response {
    let now = Instant::now();
    if let Some(left) = state.keys.keys_locked_out(now) {
        return locked_out(left);
    }
    if is_wrong {
        state.keys.count_wrong_key(now);
    }
    let problem = if is_wrong {
        wrong_key()
    } else {
        let title = "This needs a key";
        Problem::new(StatusCode::UNAUTHORIZED, "no-key", title).with_hint(MAKE_A_KEY)
    };
    let mut answer = problem.into_response();
    answer.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    answer
}

fn locked_out(left: Duration) -> Response {
    let problem = Problem::new(
        StatusCode::TOO_MANY_REQUESTS,
        "locked-out",
        "There were too many wrong keys, so none is tried for some minutes",
    );
    problem.with_hint("valid keys go on working").with_retry_after(left).into_response()
}
