//! Reads what a program asks and sends: a part of the path, the parameters, and JSON of so many bytes, within a time; each with the fields of
//! a type and no others.

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::json_object::Object;
use crate::domain::text::visible_letters::beginning;
use crate::domain::{limits, wait_times};
use crate::web::problem::Problem;
use crate::web::server_state::ServerState;

/// The most characters of an error about a body, which quotes from it.
const DETAIL: usize = 300;

/// The part of a path that names something.
pub(super) struct Named(pub(super) String);

/// The parameters of a request.
pub(super) struct Asked<T>(pub(super) T);

/// The body of a request.
pub(super) struct Given<T>(pub(super) T);

/// The body of a request that needs none: empty, or an empty object.
pub(super) struct GivenNothing;

/// The body of a request that may have none.
pub(super) struct GivenOrNot<T>(pub(super) Option<T>);

/// An empty object.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Empty {}

impl FromRequestParts<ServerState> for Named {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &ServerState) -> Result<Self, Problem> {
        let Path(named) = Path::from_request_parts(parts, state).await.map_err(|_| {
            Problem::new(StatusCode::BAD_REQUEST, "wrong-path", "The path is no text")
        })?;
        Ok(Self(named))
    }
}

impl<T: DeserializeOwned> FromRequestParts<ServerState> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &ServerState) -> Result<Self, Problem> {
        let Query(asked) = Query::from_request_parts(parts, state).await.map_err(|error| {
            wrong_query(&beginning(&about_parameter(&error.body_text()), DETAIL))
        })?;
        Ok(Self(asked))
    }
}

/// Refuses every parameter of a request that has none.
pub(super) async fn no_parameters(request: Request, next: Next) -> Response {
    match request.uri().query() {
        None | Some("") => next.run(request).await,
        Some(_) => {
            let why = "this path has no parameters";
            wrong_query(why).with_hint("`/api/v1/openapi.json` describes it").into_response()
        }
    }
}

/// Says what is wrong with the parameters.
pub(super) fn wrong_query(why: &str) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "wrong-query", "The query is wrong")
        .with_detail(why)
        .with_hint("`/api/v1/openapi.json` describes the parameters of each path")
}

impl<T: DeserializeOwned> FromRequest<ServerState> for Given<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &ServerState) -> Result<Self, Problem> {
        if !is_json(request.headers()) {
            let title = "The body has to be JSON";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not-json", title)
                .with_hint("send it with `Content-Type: application/json`"));
        }
        parsed(&bytes(request.into_body()).await?).map(Self)
    }
}

impl FromRequest<ServerState> for GivenNothing {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &ServerState) -> Result<Self, Problem> {
        let bytes = bytes(request.into_body()).await?;
        if !bytes.is_empty() {
            parsed::<Empty>(&bytes)?;
        }
        Ok(Self)
    }
}

impl<T: DeserializeOwned> FromRequest<ServerState> for GivenOrNot<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &ServerState) -> Result<Self, Problem> {
        let bytes = bytes(request.into_body()).await?;
        if bytes.is_empty() {
            return Ok(Self(None));
        }
        parsed(&bytes).map(|given| Self(Some(given)))
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).map(str::trim);
    kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"))
}

/// Reads a body, of so many bytes and within a time.
pub(super) async fn bytes(body: Body) -> Result<Bytes, Problem> {
    let reading = to_bytes(body, limits::API_BODY_BYTES);
    match tokio::time::timeout(wait_times::WEB_BODY, reading).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => {
            let title = "The body is too long, or has not come whole";
            let most = format!("a body has at most {} bytes", limits::API_BODY_BYTES);
            Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-long", title).with_detail(most))
        }
        Err(_) => {
            let title = "The body has not come in time";
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "too-slow", title))
        }
    }
}

fn parsed<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let read = serde_json::from_slice::<Object<T>>(bytes).map_err(|error| {
        let title = "The body is not understood";
        Problem::new(StatusCode::BAD_REQUEST, "wrong-body", title)
            .with_detail(beginning(&in_words_of_json(&error.to_string()), DETAIL))
            .with_hint("`/api/v1/openapi.json` describes it")
    })?;
    Ok(read.0)
}

/// Says what a body has and should have in the words of JSON.
fn in_words_of_json(error: &str) -> String {
    let Some((found, expected)) = error.rsplit_once("expected ") else { return error.to_owned() };
    let (kind, place) = match expected.split_once(" at line ") {
        Some((kind, place)) => (kind, format!(" at line {place}")),
        None => (expected, String::new()),
    };
    let kind = match kind {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number of 0 or more",
        "i32" | "i64" => "a whole number",
        "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "an object",
        "string or map" => "a string",
        kind => kind,
    };
    let found = found.replace("invalid type: sequence", "invalid type: list");
    let found = found.replace("invalid type: map", "invalid type: object");
    format!("{found}expected {kind}{place}")
}

/// Says which parameter is wrong, and what it takes.
fn about_parameter(error: &str) -> String {
    const OF_NUMBERS: [&str; 4] = [
        "invalid digit found in string",
        "cannot parse integer from empty string",
        "number too large to fit in target type",
        "number too small to fit in target type",
    ];
    let why = error.strip_prefix("Failed to deserialize query string: ").unwrap_or(error);
    match why.rsplit_once(": ") {
        Some(("limit", number)) if OF_NUMBERS.contains(&number) => limit_in_words(),
        Some((name, number)) if OF_NUMBERS.contains(&number) => {
            format!("`{name}` is a whole number of 0 or more")
        }
        _ => why.to_owned(),
    }
}

/// Says what the parameter `limit` takes.
pub(super) fn limit_in_words() -> String {
    format!("`limit` is 1 to {}", limits::MAX_CHECK_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_said_in_words_of_json_and_of_the_query() {
        for (said, words) in [
            (
                "invalid type: string \"x\", expected u64 at line 1 column 9",
                "invalid type: string \"x\", expected a whole number of 0 or more at line 1 column 9",
            ),
            (
                "invalid type: sequence, expected an object at line 1 column 0",
                "invalid type: list, expected an object at line 1 column 0",
            ),
            ("missing field `to` at line 1 column 2", "missing field `to` at line 1 column 2"),
            (
                "unknown field `x`, expected `to` or `content` at line 1 column 4",
                "unknown field `x`, expected `to` or `content` at line 1 column 4",
            ),
        ] {
            assert_eq!(in_words_of_json(said), words);
        }
        let query =
            |error: &str| about_parameter(&format!("Failed to deserialize query string: {error}"));
        assert_eq!(query("limit: invalid digit found in string"), limit_in_words());
        let digits = "cursor: invalid digit found in string";
        assert_eq!(query(digits), "`cursor` is a whole number of 0 or more");
        assert_eq!(query("missing field `q`"), "missing field `q`");
    }
}
