//! Signing in: exchanges the token of the URL for a cookie, once.

use std::time::Instant;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse as _, Redirect, Response};

use super::page_routes::pairs;
use crate::web::gate::{SignIn, is_from_elsewhere, locked_out, refused};
use crate::web::pages::signed_in_page;
use crate::web::server_state::ServerState;

/// Lets in whoever has the token, and leads to the team.
pub(in crate::web) async fn sign_in(
    State(state): State<ServerState>,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    let given = pairs(&uri).into_iter().find(|(name, _)| name == "token");
    let token = given.map(|(_, token)| token).unwrap_or_default();
    let is_from_elsewhere = is_from_elsewhere(&headers);
    let team = state.settings.base_path.as_str();
    match state.keys.sign_in(&token, Instant::now(), is_from_elsewhere) {
        SignIn::Welcome(cookie) => {
            let cookie = [(header::SET_COOKIE, cookie)];
            // A browser does not send the new cookie along a redirect that another site, or a file, has begun.
            if is_from_elsewhere {
                (cookie, Html(signed_in_page(team))).into_response()
            } else {
                (cookie, Redirect::to(team)).into_response()
            }
        }
        SignIn::LockedOut(left) => locked_out(left),
        SignIn::Refused => refused(
            StatusCode::FORBIDDEN,
            "This URL does not sign in",
            &[
                "Its token is wrong, or was used: it can be used once.",
                "End `cli-team-bridge web`, and start it again: it prints a new URL.",
            ],
        ),
    }
}
