//! The member that a program is, for as long as it asks.

use axum::extract::{Extension, State};
use axum::http::StatusCode;

use super::why_refused::{why_not, why_not_joined};
use crate::bus::Membership;
use crate::web::api::read_request::GivenNothing;
use crate::web::problem::Problem;
use crate::web::programs::Program;
use crate::web::server_state::ServerState;

/// Returns the membership of the program that asks, which joins the team if it has not.
pub(in crate::web::api) async fn as_member(
    state: &ServerState,
    program: &Program,
) -> Result<Membership, Problem> {
    state.programs.membership(program).await.map_err(|error| why_not_joined(&error))
}

/// Has the program leave the team. What it has claimed is open again.
pub(in crate::web::api) async fn end_membership(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    _: GivenNothing,
) -> Result<StatusCode, Problem> {
    state.programs.leave(program.name).await.map_err(|error| why_not(&error))?;
    Ok(StatusCode::NO_CONTENT)
}
