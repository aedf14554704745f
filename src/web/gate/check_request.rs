//! Lets a request through the gate, or answers it there.

use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse as _, Response};

use crate::web::api::{API, identify, named_key};
use crate::web::assets::find_asset;
use crate::web::pages::message_page;
use crate::web::problem::Problem;
use crate::web::server_state::ServerState;

/// The path of the URL that signs in.
pub(in crate::web) const SIGN_IN: &str = "/sign-in";

/// The beginning of the paths of acts, below the base path.
const ACTS: &str = "act/";

/// Lets a request through, or answers it.
pub(in crate::web) async fn check_request(
    State(state): State<ServerState>,
    mut request: Request,
    next: Next,
) -> Response {
    if let Some(answer) = refusal(&state, &request) {
        return answer;
    }
    if request.uri().path().starts_with(API) {
        // The body of a request cannot be shared with another thread, so the rest of it is not kept meanwhile.
        let headers = request.headers().clone();
        match identify(&state, &headers).await {
            Ok(program) => drop(request.extensions_mut().insert(program)),
            Err(answer) => return answer,
        }
    }
    next.run(request).await
}

fn refusal(state: &ServerState, request: &Request) -> Option<Response> {
    let (headers, now) = (request.headers(), Instant::now());
    let path = request.uri().path();
    let Some(host) = state.hosts.asked(headers, request.uri()) else {
        let words = "This server answers only to its own names: 127.0.0.1, localhost and [::1], with its port.";
        return Some(refused_in_form(
            path,
            StatusCode::FORBIDDEN,
            ("wrong-host", "Not here"),
            words,
        ));
    };
    if headers.contains_key(header::ORIGIN) && !is_own_origin(headers, host) {
        let words = "A page of another origin may not ask this server.";
        let kind = ("wrong-origin", "Not from there");
        return Some(refused_in_form(path, StatusCode::FORBIDDEN, kind, words));
    }
    if is_from_elsewhere(headers) && !is_opened(headers) {
        let words = "A page of another site may only lead here, not load anything from here.";
        let kind = ("wrong-origin", "Not from there");
        return Some(refused_in_form(path, StatusCode::FORBIDDEN, kind, words));
    }
    let is_signed_in = state.keys.has_cookie(headers);
    let has_known_key = named_key(headers).is_some_and(|hash| state.known_keys.has(&hash));
    if !state.rates.of(is_signed_in, has_known_key).takes(now) {
        let words = "These are too many requests. Try again in a moment.";
        let kind = ("too-many", "Too fast");
        let answer = refused_in_form(path, StatusCode::TOO_MANY_REQUESTS, kind, words);
        return Some(retry_after(answer, Duration::from_secs(1)));
    }
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    if path == SIGN_IN && request.method() != Method::GET {
        return Some(wrong_method("GET"));
    }
    if path == SIGN_IN || (reads && find_asset(path).is_some()) {
        return None;
    }
    // The API takes keys as well.
    if path.starts_with(API) {
        return None;
    }
    let below = state.settings.base_path.below(path);
    let Some(below) = below.filter(|_| is_signed_in) else {
        return Some(sign_in_first(state, now));
    };
    let may_write = below.starts_with(ACTS);
    let is_write = may_write && request.method() == Method::POST;
    if !reads && !is_write {
        return Some(wrong_method(if may_write { "GET, HEAD, POST" } else { "GET, HEAD" }));
    }
    if reads {
        return None;
    }
    // A browser names the origin of every POST.
    let is_same_site = headers.get("sec-fetch-site").is_none_or(|site| site == "same-origin");
    if !is_own_origin(headers, host) || !is_same_site {
        let words = "Only a page of this server may do this.";
        return Some(refused(StatusCode::FORBIDDEN, "Not from there", &[words]));
    }
    None
}

/// Says whether another site has made a browser ask, or another port of this machine. Other programs do not say.
pub(in crate::web) fn is_from_elsewhere(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-site").is_some_and(|site| site != "same-origin" && site != "none")
}

/// Says whether a browser opens the answer as a page of its own, and not as a part of another one.
fn is_opened(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-dest").is_some_and(|destination| destination == "document")
}

/// Says whether a request comes from a page of this server, by the name that it asks for.
fn is_own_origin(headers: &HeaderMap, host: &str) -> bool {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let is_own = |origin: &HeaderValue| {
        let named = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
        named.is_some_and(|named| named.eq_ignore_ascii_case(host))
    };
    origins.next().is_some_and(is_own) && origins.next().is_none()
}

fn sign_in_first(state: &ServerState, now: Instant) -> Response {
    if let Some(left) = state.keys.locked_out(now) {
        return locked_out(left);
    }
    let words = [
        "Open the URL that `cli-team-bridge web` has printed. It can be used once.",
        "If it was used, or this browser has lost its cookie, end the server and start it again: it prints a new one.",
    ];
    let mut answer = refused(StatusCode::UNAUTHORIZED, "Sign in first", &words);
    answer.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    answer
}

/// Says that nobody signs in for a while.
pub(in crate::web) fn locked_out(left: Duration) -> Response {
    let words = "There were too many wrong tokens, so nobody can sign in for some minutes. Pages that are signed in go on.";
    let answer = refused(StatusCode::TOO_MANY_REQUESTS, "Locked", &[words]);
    retry_after(answer, left)
}

/// Makes an answer that only says something.
pub(in crate::web) fn refused(status: StatusCode, title: &str, words: &[&str]) -> Response {
    (status, Html(message_page(title, words))).into_response()
}

/// Makes such an answer in the form of the path: problem details for programs, a page for people.
fn refused_in_form(
    path: &str,
    status: StatusCode,
    (kind, title): (&'static str, &'static str),
    words: &str,
) -> Response {
    if path.starts_with(API) {
        return Problem::new(status, kind, title).with_detail(words).into_response();
    }
    refused(status, title, &[words])
}

/// Adds after which time to ask again.
pub(in crate::web) fn retry_after(mut answer: Response, after: Duration) -> Response {
    let seconds = HeaderValue::from(after.as_secs().max(1));
    answer.headers_mut().insert(header::RETRY_AFTER, seconds);
    answer
}

fn wrong_method(allowed: &'static str) -> Response {
    let words = "This path does not have that method.";
    let mut answer = refused(StatusCode::METHOD_NOT_ALLOWED, "Not that way", &[words]);
    answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    answer
}
