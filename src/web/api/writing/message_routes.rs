//! Messages of programs: to one member or a group, and to all.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::as_member::as_member;
use super::attached_files::{NewAttachment, attached};
use super::exact_urgency::exact_urgency;
use super::wait_routes::{EndedWait, answer_to, time_for_answer};
use super::why_refused::why_not;
use crate::bus::event::Envelope;
use crate::bus::rules::Refusal;
use crate::bus::{BusError, Membership, Outgoing, SentMessage as SentOnBus};
use crate::domain::ids::MessageId;
use crate::domain::messaging::{Attachment, Audience, Priority, Signal, mentioned, scaled};
use crate::domain::name::Name;
use crate::web::api::json_object;
use crate::web::api::read_request::Given;
use crate::web::problem::Problem;
use crate::web::programs::Program;
use crate::web::server_state::ServerState;

/// A message to write.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::web::api) struct NewMessage {
    /// The name of a member, who may be away; or a group: `@role`, `@lane`, `@capability`, `#topic`, `all`.
    pub(in crate::web::api) to: String,
    /// At most 1 MiB.
    pub(in crate::web::api) content: String,
    /// The message that it answers, or the request.
    pub(in crate::web::api) reply_to: Option<String>,
    /// High and urgent interrupt a member at work.
    #[serde(default, deserialize_with = "json_object::maybe_word")]
    pub(in crate::web::api) priority: Option<HowUrgent>,
    /// 0 to 1, instead of `priority`.
    pub(in crate::web::api) urgency: Option<f64>,
    /// What it is for: a signal of the team, or one of yours that begins with `x-`.
    pub(in crate::web::api) signal: Option<String>,
    /// After how many seconds it expires unseen, 1 to 86,400.
    pub(in crate::web::api) ttl_seconds: Option<u64>,
    /// After how many seconds without an answer its recipient is reminded, 1 to 86,400.
    pub(in crate::web::api) response_seconds: Option<u64>,
    /// What it says to programs; at most 64 KiB.
    pub(in crate::web::api) payload: Option<Map<String, Value>>,
    /// At most 8 texts or files of the project.
    #[serde(default, deserialize_with = "json_object::several")]
    pub(in crate::web::api) attachments: Vec<NewAttachment>,
    /// What it is about: a path, a commit or a number.
    #[serde(rename = "ref")]
    pub(in crate::web::api) reference: Option<String>,
    /// A message of this program, whose place it takes.
    pub(in crate::web::api) supersedes: Option<String>,
    /// Whether it waits for the first who fits the group, if nobody does.
    #[serde(default)]
    pub(in crate::web::api) queue: bool,
    /// Whether each @name and @role in its text gets a copy.
    #[serde(default)]
    pub(in crate::web::api) mention: bool,
    /// How long to wait for the answer of one member, 1 to 120.
    pub(in crate::web::api) wait_seconds: Option<u64>,
}

/// How urgent a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::web::api) enum HowUrgent {
    Low,
    Normal,
    High,
    Urgent,
}

impl NewMessage {
    /// Returns how much it matters, and what it has beside its text.
    fn envelope(
        &self,
        attachments: Vec<Attachment>,
    ) -> Result<(Priority, Option<Box<Envelope>>), Problem> {
        let wrong = |kind, title| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, kind, title);
        let signal = self.signal.as_deref().map(Signal::parse).transpose().map_err(|error| {
            wrong("wrong-signal", "There is no such signal").with_detail(error.to_string())
        })?;
        if self.urgency.is_some() && self.priority.is_some() {
            return Err(wrong("wrong-urgency", "A message has a priority or an urgency, not both"));
        }
        let exactly = self.urgency.map(exact_urgency);
        let said = self.priority.map(|how| match how {
            HowUrgent::Low => Priority::Low,
            HowUrgent::Normal => Priority::Normal,
            HowUrgent::High => Priority::High,
            HowUrgent::Urgent => Priority::Urgent,
        });
        let (priority, urgency) = scaled(said, exactly.transpose()?, signal.as_ref());
        let supersedes = self.supersedes.as_deref().map(MessageId::parse).transpose();
        let (mentions, mentioned_sessions) =
            if self.mention { mentioned(&self.content) } else { Default::default() };
        let more = Envelope {
            signal,
            urgency,
            payload: self.payload.clone(),
            attachments,
            reference: self.reference.clone(),
            supersedes: supersedes.map_err(|error| why_not(&Refusal::from(error).into()))?,
            ttl_seconds: self.ttl_seconds,
            response_seconds: self.response_seconds,
            queue: self.queue,
            mentions,
            mentioned_sessions,
            origin: None,
        };
        Ok((priority, (!more.is_empty()).then(|| Box::new(more))))
    }
}

/// A message that was written.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::web::api) struct SentMessage {
    pub(in crate::web::api) message_id: String,
    /// The member, by its name; or the group.
    to: String,
    /// Whether it is there, or one of the group. If not, the message waits for it.
    live: bool,
    /// Whether it interrupts a member at work.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(in crate::web::api) urgent: bool,
    /// The request that it has opened: work for a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    /// Its recipients.
    recipients: Vec<Recipient>,
    /// Whether it waits: for the first who fits the group, or for the way to another project.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    queued: bool,
    /// Those of its recipients that got a copy because its text mentions them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mentions: Vec<String>,
    /// Whether the program has just written the same, so that this is that message.
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate: Option<bool>,
    /// How the wait for its answer has ended, if it waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<EndedWait>,
}

/// A recipient of a message.
#[derive(Debug, Serialize, JsonSchema)]
struct Recipient {
    name: String,
    /// Whether it is there. If not, the message waits for it.
    live: bool,
    /// Of an address in another project: `queued`, or `relayed` once the message is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
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
    /// The request that it has opened: work for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
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
    let wait = time_for_answer(&new.to, new.wait_seconds)?;
    let me = as_member(state, program).await?;
    let (sent, priority) = send_out(state, &me, new).await?;
    let sent = sent.map_err(|error| why_not(&error))?;
    let audience = me.bus().look(|state| Some(state.message(&sent.id)?.audience.clone()));
    let is_relayed = me.bus().look(|state| state.is_relayed(&sent.id));
    let answer = match wait {
        Some(limit) => Some(answer_to(state, &me, sent.id.clone(), limit).await),
        None => None,
    };
    let elsewhere = audience.as_ref().and_then(Audience::elsewhere).map(|address| Recipient {
        name: address.to_string(),
        live: false,
        state: Some(if is_relayed { "relayed" } else { "queued" }),
    });
    let here = sent.recipients.iter().map(|(name, live)| Recipient {
        name: name.to_string(),
        live: *live,
        state: None,
    });
    Ok(SentMessage {
        message_id: sent.id.into(),
        to: audience.map(String::from).unwrap_or_default(),
        live: sent.recipients.iter().any(|(_, is_live)| *is_live),
        urgent: priority >= Priority::High,
        request_id: sent.request.map(String::from),
        recipients: here.chain(elsewhere).collect(),
        queued: sent.is_queued,
        mentions: sent.mentions.iter().map(ToString::to_string).collect(),
        duplicate: sent.is_double.then_some(true),
        answer,
    })
}

/// Sends a message. The outer error is one of the message in itself.
async fn send_out(
    state: &ServerState,
    me: &Membership,
    mut new: NewMessage,
) -> Result<(Result<SentOnBus, BusError>, Priority), Problem> {
    let attachments = attached(state, std::mem::take(&mut new.attachments)).await?;
    let (priority, more) = new.envelope(attachments)?;
    let NewMessage { to, content, reply_to, .. } = new;
    let mut call = me.call();
    let sent = call.send_out(Outgoing { to, content, reply_to, priority, more }).await;
    if sent.is_ok() {
        call.answered().await;
    }
    Ok((sent, priority))
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
    Ok(reached(&me, sent))
}

/// Writes a message with more than a text to all, as the program that asks. Nobody may be there to read it.
pub(in crate::web::api) async fn send_to_all_as(
    state: &ServerState,
    program: &Program,
    new: NewMessage,
) -> Result<SentBroadcast, Problem> {
    time_for_answer(&new.to, new.wait_seconds)?;
    let me = as_member(state, program).await?;
    me.bus().reap_dead_sessions().await.map_err(|error| why_not(&error))?;
    let sent = match send_out(state, &me, new).await?.0 {
        Err(BusError::Refused(Refusal::NobodyElse)) => None,
        outcome => Some(outcome.map_err(|error| why_not(&error))?),
    };
    Ok(reached(&me, sent))
}

/// Says whom a message to all has reached.
fn reached(me: &Membership, sent: Option<SentOnBus>) -> SentBroadcast {
    let message_id = sent.as_ref().map(|sent| sent.id.to_string());
    let request_id = sent.as_ref().and_then(|sent| sent.request.as_ref()).map(ToString::to_string);
    let duplicate = sent.as_ref().is_some_and(|sent| sent.is_double);
    let reached: BTreeSet<Name> =
        sent.into_iter().flat_map(|sent| sent.recipients).map(|(name, _)| name).collect();
    let failed = me.bus().look(|state| {
        let live = state.live_sessions().into_iter().map(|session| session.name.clone());
        let missed = live.filter(|name| name != me.name() && !reached.contains(name));
        missed.map(|name| name.to_string()).collect()
    });
    let delivered_to = reached.into_iter().map(|name| name.to_string()).collect();
    SentBroadcast { message_id, request_id, delivered_to, failed, duplicate }
}
