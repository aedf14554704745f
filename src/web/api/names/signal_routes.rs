//! The paths of typed signals: `/emit`, `/claim`, `/ack`, and `/thread/ID`, which needs no file of its own. A role is a
//! member by its name, else a lane, role or capability; a ring is a topic. A signal without a recipient is for all, and a task is a request
//! that one member claims.

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::named_member::{address_of_role, check_own_role, wrong};
use crate::bus::Membership;
use crate::bus::rules::Refusal;
use crate::domain::ids::{MessageId, RequestId};
use crate::domain::messaging::{MessageKind, Priority, RequestStatus, Urgency};
use crate::web::api::json_object;
use crate::web::api::read_request::Given;
use crate::web::api::writing::{
    ClaimedRequest, NewAcknowledgement, NewMessage, NewRequest, acknowledged, as_member,
    claimed_by, opened_by, send_as, why_not,
};
use crate::web::problem::Problem;
use crate::web::programs::Program;
use crate::web::server_state::ServerState;

/// The answer to a request that is only acknowledged.
const DONE: &str = "done";

/// A signal to emit.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::web::api) struct NewSignal {
    #[serde(deserialize_with = "json_object::word")]
    signal_type: SignalType,
    /// At most 1 MiB.
    content: String,
    /// The name of the key's member, or a lane, role or capability of it. Its readers see the name.
    from_role: String,
    /// The name of a member, else a lane, role or capability. Without this and `to_ring` it is for all.
    to_role: Option<String>,
    /// A topic, whose followers get it.
    to_ring: Option<String>,
    /// 0 to 1. From 0.75 on it interrupts a member at work, and so does an alert that says nothing else.
    urgency: Option<f64>,
    /// After how many seconds it expires: a task that nobody has claimed, another signal that nobody has seen.
    ttl_seconds: Option<u64>,
    /// The message or request that it answers. A task has none: it begins a thread of its own.
    thread_id: Option<String>,
}

/// The type of a signal, which is a signal of the team too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SignalType {
    Pulse,
    Sense,
    Task,
    Query,
    Alert,
    Artifact,
    Proposal,
    Shift,
}

/// What became of a signal.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::web::api) struct EmittedSignal {
    /// The id of the message or of the request.
    signal_id: String,
    /// `message` or `request`.
    stored_as: &'static str,
    /// Whether it interrupts its recipient.
    urgent: bool,
}

/// A signal, by its id.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::web::api) struct NamedSignal {
    /// The id of a request, or of a message.
    signal_id: String,
}

/// A signal that is acknowledged.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::web::api) struct AckedSignal {
    signal_id: String,
    /// `acknowledged`; `withdrawn` or `expired` if that happened before.
    status: &'static str,
}

pub(in crate::web::api) async fn emit(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Given(signal): Given<NewSignal>,
) -> Result<(StatusCode, Json<EmittedSignal>), Problem> {
    if signal.signal_type == SignalType::Task && signal.thread_id.is_some() {
        let title = "A task begins a thread of its own";
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "wrong-thread", title)
            .with_hint("leave `thread_id` out, and name what it comes from in `content`"));
    }
    let me = as_member(&state, &program).await?;
    check_own_role(&me, &signal.from_role)?;
    let to = address(&me, signal.to_role, signal.to_ring)?;
    let NewSignal { signal_type, content, urgency, ttl_seconds, thread_id, .. } = signal;
    let emitted = if signal_type == SignalType::Task {
        let new = NewRequest {
            to,
            description: content,
            context: None,
            timeout_seconds: None,
            ttl_seconds,
            lease_seconds: None,
            urgency,
        };
        let opened = opened_by(&state, &program, new).await?;
        let urgent = urgency.and_then(Urgency::new).map(Urgency::priority) >= Some(Priority::High);
        EmittedSignal { signal_id: opened.request_id, stored_as: "request", urgent }
    } else {
        let new = NewMessage {
            to: to.unwrap_or_else(|| "all".to_owned()),
            content,
            reply_to: thread_id,
            urgency,
            signal: Some(signal_type.word().to_owned()),
            ttl_seconds,
            ..NewMessage::default()
        };
        let sent = send_as(&state, &program, new).await;
        let sent = sent.map_err(|problem| match problem.kind {
            // Here the field has another name.
            "needs-reply-to" => {
                problem.with_detail(format!("`{}` needs `thread_id`", signal_type.word()))
            }
            _ => problem,
        })?;
        EmittedSignal { signal_id: sent.message_id, stored_as: "message", urgent: sent.urgent }
    };
    Ok((StatusCode::CREATED, Json(emitted)))
}

impl SignalType {
    fn word(self) -> &'static str {
        match self {
            Self::Pulse => "pulse",
            Self::Sense => "sense",
            Self::Task => "task",
            Self::Query => "query",
            Self::Alert => "alert",
            Self::Artifact => "artifact",
            Self::Proposal => "proposal",
            Self::Shift => "shift",
        }
    }
}

/// Returns the address that a role or a ring means; none for all.
fn address(
    me: &Membership,
    role: Option<String>,
    ring: Option<String>,
) -> Result<Option<String>, Problem> {
    match (role, ring) {
        (None, None) => Ok(None),
        (Some(role), None) => Ok(Some(address_of_role(me, role)?)),
        (None, Some(ring)) => Ok(Some(format!("#{ring}"))),
        (Some(_), Some(_)) => Err(wrong("A signal goes to a role or to a ring, not to both")),
    }
}

pub(in crate::web::api) async fn claim_signal(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Given(signal): Given<NamedSignal>,
) -> Result<Json<ClaimedRequest>, Problem> {
    let me = as_member(&state, &program).await?;
    let request = request_of(&me, &signal.signal_id)?;
    Ok(Json(claimed_by(&me, request).await?))
}

/// Returns the request of an id, which may be that of the message that shows it.
fn request_of(me: &Membership, id: &str) -> Result<RequestId, Problem> {
    let shown = MessageId::parse(id).ok().and_then(|id| {
        me.bus().look(|state| {
            let message = state.message(&id).filter(|found| found.kind == MessageKind::Request)?;
            message.request.clone()
        })
    });
    match shown {
        Some(request) => Ok(request),
        None => RequestId::parse(id).map_err(|error| why_not(&Refusal::from(error).into())),
    }
}

pub(in crate::web::api) async fn ack_signal(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Given(NamedSignal { signal_id }): Given<NamedSignal>,
) -> Result<Json<AckedSignal>, Problem> {
    let me = as_member(&state, &program).await?;
    if let Ok(id) = MessageId::parse(&signal_id) {
        let status = match acknowledged(&me, &id, NewAcknowledgement::default()).await?.status {
            over @ ("withdrawn" | "expired") => over,
            _ => "acknowledged",
        };
        return Ok(Json(AckedSignal { signal_id, status }));
    }
    let id = RequestId::parse(&signal_id).map_err(|error| why_not(&Refusal::from(error).into()))?;
    let Some(to) = asker_of(&me, &id)? else {
        return Ok(Json(AckedSignal { signal_id, status: "acknowledged" }));
    };
    let mut call = me.call();
    let sent = call.send_as(Priority::Normal, to, DONE.to_owned(), Some(signal_id.clone())).await;
    sent.map_err(|error| why_not(&error))?;
    call.answered().await;
    Ok(Json(AckedSignal { signal_id, status: "acknowledged" }))
}

/// Returns who asks for what this member has claimed; none if it has completed that already.
fn asker_of(me: &Membership, id: &RequestId) -> Result<Option<String>, Problem> {
    me.bus().refresh().map_err(|error| why_not(&error))?;
    let request = me
        .known_request(id)
        .ok_or_else(|| why_not(&Refusal::UnknownRequest { id: id.clone() }.into()))?;
    let owner = request.owner.as_ref();
    match request.status {
        RequestStatus::Claimed if owner.is_some_and(|owner| owner.session == me.session()) => {
            return Ok(Some(request.from.to_string()));
        }
        RequestStatus::Completed if owner.is_some_and(|owner| owner.by == *me.name()) => {
            return Ok(None);
        }
        _ => {}
    }
    let title = "This member has not claimed that request";
    let problem = Problem::new(StatusCode::CONFLICT, "not-claimed", title)
        .with_detail(format!("it is {}", request.status.as_str()));
    Err(match request.status {
        RequestStatus::Open => problem.with_hint("claim it first"),
        _ => problem,
    })
}
