//! Messages of programs: to one member or a group, and to all.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::as_member::as_member;
use super::why_refused::why_not;
use crate::domain::messaging::Priority;
use crate::web::api::read_request::Given;
use crate::web::problem::Problem;
use crate::web::programs::Program;
use crate::web::server_state::ServerState;

/// A message to write.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::web::api) struct NewMessage {
    /// The name of a member, who may be away; or a group: `@role`, `@lane`, `@capability`, `#topic`, `all`.
    pub(in crate::web::api) to: String,
    /// At most 1 MiB.
    pub(in crate::web::api) content: String,
    /// The message that it answers, or the request.
    pub(in crate::web::api) reply_to: Option<String>,
    /// Urgent interrupts a member at work.
    #[serde(default)]
    pub(in crate::web::api) priority: Urgency,
}

/// How urgent a message is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::web::api) enum Urgency {
    #[default]
    Normal,
    Urgent,
}

/// A message that was written.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::web::api) struct SentMessage {
    pub(in crate::web::api) message_id: String,
    /// The member, by its name; or the group.
    to: String,
    /// Whether it is there, or one of the group. If not, the message waits for it.
    live: bool,
}

/// A message to write to all.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::web::api) struct NewBroadcast {
    /// At most 1 MiB.
    pub(in crate::web::api) content: String,
}

/// A message that was written to all.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::web::api) struct SentBroadcast {
    /// Missing if nobody was there to read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::web::api) message_id: Option<String>,
    /// The members in whose inboxes it is.
    delivered_to: Vec<String>,
    /// The live members that it does not reach: their inbox is full, or they do not respond.
    failed: Vec<String>,
    /// Whether the program has just written the same: who had it then does not get it again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    duplicate: bool,
}

pub(in crate::web::api) async fn send(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Given(new): Given<NewMessage>,
) -> Result<(StatusCode, Json<SentMessage>), Problem> {
    Ok((StatusCode::CREATED, Json(send_as(&state, &program, new).await?)))
}

/// Writes a message as the program that asks.
pub(in crate::web::api) async fn send_as(
    state: &ServerState,
    program: &Program,
    new: NewMessage,
) -> Result<SentMessage, Problem> {
    let me = as_member(state, program).await?;
    let priority = match new.priority {
        Urgency::Urgent => Priority::Urgent,
        Urgency::Normal => Priority::Normal,
    };
    let mut call = me.call();
    let sent = call.send_as(priority, new.to, new.content, new.reply_to).await;
    let sent = sent.map_err(|error| why_not(&error))?;
    call.answered().await;
    let audience = me.bus().look(|state| Some(state.message(&sent.id)?.audience.to_string()));
    let to = audience.unwrap_or_default();
    let live = sent.recipients.iter().any(|(_, is_live)| *is_live);
    Ok(SentMessage { message_id: sent.id.into(), to, live })
}

pub(in crate::web::api) async fn broadcast(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Given(new): Given<NewBroadcast>,
) -> Result<(StatusCode, Json<SentBroadcast>), Problem> {
    Ok((StatusCode::CREATED, Json(broadcast_as(&state, &program, new).await?)))
}

/// Writes a message to all as the program that asks.
pub(in crate::web::api) async fn broadcast_as(
    state: &ServerState,
    program: &Program,
    new: NewBroadcast,
) -> Result<SentBroadcast, Problem> {
    let me = as_member(state, program).await?;
    me.bus().reap_dead_sessions().await.map_err(|error| why_not(&error))?;
    let mut call = me.call();
    let sent = call.broadcast(new.content).await.map_err(|error| why_not(&error))?;
    call.answered().await;
    let message_id = sent.as_ref().map(|sent| sent.id.to_string());
    let duplicate = sent.as_ref().is_some_and(|sent| sent.is_double);
    let reached: BTreeSet<_> =
        sent.into_iter().flat_map(|sent| sent.recipients).map(|(name, _)| name).collect();
    let failed = me.bus().look(|state| {
        let live = state.live_sessions().into_iter().map(|session| session.name.clone());
        let missed = live.filter(|name| name != me.name() && !reached.contains(name));
        missed.map(|name| name.to_string()).collect()
    });
    let delivered_to = reached.into_iter().map(|name| name.to_string()).collect();
    Ok(SentBroadcast { message_id, delivered_to, failed, duplicate })
}
