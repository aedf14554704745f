//! The headers of every answer: what a browser may do with it. There is never one that lets another origin read it.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;

const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                   connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; \
                   frame-ancestors 'none'";

static HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, CSP),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    // `no-referrer` would take the origin of the forms of our own pages.
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Adds the headers to an answer, whatever it is. Nothing is kept by a browser unless the answer says so.
pub(in crate::web) async fn add_safety_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in &HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Returns the same headers as lines, for an answer that is written without the router.
pub(in crate::web) fn raw_safety_headers() -> String {
    let lines = HEADERS.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
    lines.chain(["cache-control: no-store\r\n".to_owned()]).collect()
}
