//! Requests of programs, and their claims. A claim ends with an answer: a message with the request as its `reply_to`.

use std::time::Duration;

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::as_member::as_member;
use super::exact_urgency::exact_urgency;
use super::why_refused::why_not;
use crate::bus::rules::Refusal;
use crate::bus::{BusError, Claimed, Membership};
use crate::domain::ids::RequestId;
use crate::domain::wait_times;
use crate::view::Moment;
use crate::web::api::read_request::{Given, GivenNothing, Named};
use crate::web::problem::Problem;
use crate::web::programs::Program;
use crate::web::server_state::ServerState;

/// Work for whoever is free.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::web::api) struct NewRequest {
    /// What to do.
    pub(in crate::web::api) description: String,
    /// Helpful background.
    pub(in crate::web::api) context: Option<String>,
    /// Who alone sees and may claim it: a member, or a group such as `@role`; all if it is missing.
    #[serde(default)]
    pub(in crate::web::api) to: Option<String>,
    /// After how many seconds all are reminded if nobody has claimed it, 1 to 86,400; 30 if it is missing.
    pub(in crate::web::api) timeout_seconds: Option<u64>,
    /// After how many seconds it expires if nobody has claimed it, 1 to 86,400; 900 if it is missing.
    pub(in crate::web::api) ttl_seconds: Option<u64>,
    /// After how many seconds without a sign of its owner it is open again, 1 to 86,400; 300 if it is missing.
    pub(in crate::web::api) lease_seconds: Option<u64>,
    /// How much it matters, 0 to 1; 0.5 if it is missing.
    pub(in crate::web::api) urgency: Option<f64>,
}

/// A request that was opened.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::web::api) struct OpenedRequest {
    pub(in crate::web::api) request_id: String,
    /// Whether the program has just opened the same, so that it is that request.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    duplicate: bool,
}

/// A request that the program has claimed.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::web::api) struct ClaimedRequest {
    request_id: String,
    /// The member that asks, to whom the answer goes.
    from: String,
    /// What to do.
    description: String,
    /// Helpful background.
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<String>,
    opened_at: Moment,
    /// The message that shows it.
    message_id: String,
}

pub(in crate::web::api) async fn open_request(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Given(new): Given<NewRequest>,
) -> Result<(StatusCode, Json<OpenedRequest>), Problem> {
    Ok((StatusCode::CREATED, Json(opened_by(&state, &program, new).await?)))
}

/// Opens a request of the program that asks.
pub(in crate::web::api) async fn opened_by(
    state: &ServerState,
    program: &Program,
    new: NewRequest,
) -> Result<OpenedRequest, Problem> {
    let nudge = seconds("timeout_seconds", new.timeout_seconds, wait_times::REQUEST_NUDGE_SECONDS)?;
    let ttl = seconds("ttl_seconds", new.ttl_seconds, wait_times::REQUEST_TTL_SECONDS)?;
    let lease = seconds("lease_seconds", new.lease_seconds, wait_times::LEASE_SECONDS)?;
    let urgency = new.urgency.map(exact_urgency).transpose()?;
    let me = as_member(state, program).await?;
    let mut call = me.call();
    let (texts, times) = ((new.description, new.context), (nudge, ttl, Some(lease)));
    let opened = call.open_request_to(new.to, texts, times, urgency).await;
    let opened = opened.map_err(|error| why_not(&error))?;
    call.answered().await;
    Ok(OpenedRequest { request_id: opened.id.into(), duplicate: opened.is_double })
}

fn seconds(name: &str, given: Option<u64>, default: u64) -> Result<Duration, Problem> {
    let most = wait_times::MAX_REQUEST_SECONDS;
    let seconds = given.unwrap_or(default);
    if (1..=most).contains(&seconds) {
        return Ok(Duration::from_secs(seconds));
    }
    let title = "A time is out of its range";
    Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "wrong-time", title)
        .with_detail(format!("`{name}` is 1 to {most}")))
}

pub(in crate::web::api) async fn claim(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Named(id): Named,
    _: GivenNothing,
) -> Result<Json<ClaimedRequest>, Problem> {
    let id = RequestId::parse(&id).map_err(|error| why_not(&Refusal::from(error).into()))?;
    let me = as_member(&state, &program).await?;
    Ok(Json(claimed_by(&me, id).await?))
}

/// Claims a request. Whoever has it already learns the same again.
pub(in crate::web::api) async fn claimed_by(
    me: &Membership,
    id: RequestId,
) -> Result<ClaimedRequest, Problem> {
    claim_for(me, id).await.map_err(|error| why_not(&error))
}

async fn claim_for(me: &Membership, id: RequestId) -> Result<ClaimedRequest, BusError> {
    let mut call = me.call();
    let request = match call.claim(id.clone()).await? {
        Claimed::Won(request) => request,
        Claimed::Lost { request, .. } => {
            let by = request.owner.map(|owner| owner.by);
            return Err(Refusal::ClaimLost { id, status: request.status, by }.into());
        }
    };
    let texts = me.bus().request_texts(request.body)?;
    // Whether the answer arrives cannot be seen; whoever has not got it claims again.
    call.answered().await;
    Ok(ClaimedRequest {
        request_id: request.id.into(),
        from: request.from.to_string(),
        description: texts.description,
        context: texts.context,
        opened_at: Moment(request.opened_ms),
        message_id: request.message.into(),
    })
}
