//! The paths of typed signals: `/emit`, `/claim`, `/ack`, `/inbox/ROLE`, and `/thread/ID`, which needs no file of its own. A role is the
//! name of a member. A signal without a recipient is for all, and a task for all is a request that one of them claims.

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::not_yet::{check_own_name, not_yet};
use crate::bus::Membership;
use crate::bus::rules::Refusal;
use crate::domain::ids::{MessageId, RequestId};
use crate::domain::messaging::{MessageKind, Priority, RequestStatus};
use crate::web::api::read_request::{Asked, Given, Named};
use crate::web::api::writing::{
    ClaimedRequest, Inbox, NewBroadcast, NewMessage, NewRequest, Urgency, WhichUnread,
    acknowledged, as_member, broadcast_as, claimed_by, inbox_of, opened_by, send_as, why_not,
};
use crate::web::problem::Problem;
use crate::web::programs::Program;
use crate::web::server_state::ServerState;

/// The answer to a request that is only acknowledged.
const DONE: &str = "done";

/// From this urgency on a message interrupts its recipient.
const URGENT: f64 = 0.75;

/// A signal to emit.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::web::api) struct NewSignal {
    signal_type: SignalType,
    /// At most 1 MiB.
    content: String,
    /// The name of the key's member.
    from_role: String,
    /// The name of a member; all, if it is missing.
    to_role: Option<String>,
    /// Not there yet.
    to_ring: Option<String>,
    /// 0 to 1. From 0.75 on a message interrupts a member at work, and so does an alert that says nothing else.
    urgency: Option<f64>,
    /// After how many seconds a task expires that nobody has claimed. Other signals do not expire.
    ttl_seconds: Option<u64>,
    /// The message or request that it answers.
    thread_id: Option<String>,
}

/// The type of a signal. Those that are more than a message or a request are not there yet.
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
    /// The id of the message or of the request; missing if nobody was there to read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    signal_id: Option<String>,
    /// `message`, `broadcast` or `request`.
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
    check_own_name(&program.name, &signal.from_role)?;
    check_is_there(&signal)?;
    let urgency =
        signal.urgency.unwrap_or(if signal.signal_type == SignalType::Alert { 1.0 } else { 0.5 });
    if !(0.0..=1.0).contains(&urgency) {
        let title = "The urgency is out of its range";
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "wrong-urgency", title)
            .with_detail("`urgency` is 0 to 1"));
    }
    let is_urgent = urgency >= URGENT;
    let NewSignal { signal_type, content, to_role, ttl_seconds, thread_id, .. } = signal;
    let emitted = match (signal_type, to_role) {
        (SignalType::Task, _) => {
            let new = NewRequest {
                to: None,
                description: content,
                context: None,
                timeout_seconds: None,
                ttl_seconds,
                lease_seconds: None,
            };
            let opened = opened_by(&state, &program, new).await?;
            let signal_id = Some(opened.request_id);
            EmittedSignal { signal_id, stored_as: "request", urgent: false }
        }
        (_, Some(to)) => {
            let priority = if is_urgent { Urgency::Urgent } else { Urgency::Normal };
            let new = NewMessage { to, content, reply_to: thread_id, priority };
            let sent = send_as(&state, &program, new).await?;
            let signal_id = Some(sent.message_id);
            EmittedSignal { signal_id, stored_as: "message", urgent: is_urgent }
        }
        (_, None) => {
            let sent = broadcast_as(&state, &program, NewBroadcast { content }).await?;
            EmittedSignal { signal_id: sent.message_id, stored_as: "broadcast", urgent: false }
        }
    };
    Ok((StatusCode::CREATED, Json(emitted)))
}

/// Refuses what the model has not.
fn check_is_there(signal: &NewSignal) -> Result<(), Problem> {
    let is_task = signal.signal_type == SignalType::Task;
    match signal.signal_type {
        SignalType::Pulse => {
            return Err(not_yet(
                "`pulse`: a member that asks for something shows by that that it lives",
                "leave it out",
            ));
        }
        SignalType::Artifact | SignalType::Proposal | SignalType::Shift => {
            return Err(not_yet(
                "`artifact`, `proposal` and `shift`",
                "send a `query` or a `sense`, which are messages",
            ));
        }
        SignalType::Sense | SignalType::Task | SignalType::Query | SignalType::Alert => {}
    }
    if signal.to_ring.is_some() {
        return Err(not_yet("`to_ring`", "leave `to_role` out too, and all get it"));
    }
    if is_task && signal.to_role.is_some() {
        return Err(not_yet(
            "a task that only one role may claim",
            "leave `to_role` out, or assign it to an agent with `/api/v1/tasks`",
        ));
    }
    if is_task && signal.thread_id.is_some() {
        return Err(not_yet("a task within a thread", "leave `thread_id` out"));
    }
    if !is_task && signal.ttl_seconds.is_some() {
        return Err(not_yet("messages that expire", "leave `ttl_seconds` out"));
    }
    if signal.to_role.is_none() && signal.thread_id.is_some() {
        return Err(not_yet("an answer to all", "name `to_role`"));
    }
    Ok(())
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
        let status = match acknowledged(&me, &id).await?.status {
            over @ ("withdrawn" | "expired") => over,
            _ => "acknowledged",
        };
        return Ok(Json(AckedSignal { signal_id, status }));
    }
    let id = RequestId::parse(&signal_id).map_err(|error| why_not(&Refusal::from(error).into()))?;
    let to = asker_of(&me, &id)?;
    let mut call = me.call();
    let sent = call.send_as(Priority::Normal, to, DONE.to_owned(), Some(signal_id.clone())).await;
    sent.map_err(|error| why_not(&error))?;
    call.answered().await;
    Ok(Json(AckedSignal { signal_id, status: "acknowledged" }))
}

/// Returns who asks for what this member has claimed.
fn asker_of(me: &Membership, id: &RequestId) -> Result<String, Problem> {
    me.bus().refresh().map_err(|error| why_not(&error))?;
    let request = me.bus().look(|state| state.request(id).cloned());
    let request =
        request.ok_or_else(|| why_not(&Refusal::UnknownRequest { id: id.clone() }.into()))?;
    let is_own = request.status == RequestStatus::Claimed
        && request.owner.as_ref().is_some_and(|owner| owner.session == me.session());
    if is_own {
        return Ok(request.from.to_string());
    }
    let title = "This member has not claimed that request";
    Err(Problem::new(StatusCode::CONFLICT, "not-claimed", title)
        .with_detail(format!("it is {}", request.status.as_str()))
        .with_hint("claim it first"))
}

pub(in crate::web::api) async fn inbox_of_role(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Named(role): Named,
    Asked(which): Asked<WhichUnread>,
) -> Result<Json<Inbox>, Problem> {
    check_own_name(&program.name, &role)?;
    Ok(Json(inbox_of(&state, &program, which).await?))
}
