//! The paths of agent messages: `/messages/send`, `/messages/broadcast`, `/messages/agent/NAME/inbox`, and `/messages/conversation/ID`,
//! which is a thread. An agent is named by its name; of the fields of a message, those count that the model has.

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::not_yet::{check_own_name, not_yet};
use crate::web::api::read_request::{Asked, Given, Named};
use crate::web::api::writing::{
    Inbox, NewBroadcast, NewMessage, SentBroadcast, SentMessage, Urgency, WhichUnread,
    broadcast_as, inbox_of, send_as,
};
use crate::web::problem::Problem;
use crate::web::programs::Program;
use crate::web::server_state::ServerState;

/// A message between agents, with all fields of the specification. Those without a description are not there yet, and are to be left out.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::web::api) struct AgentMessage {
    /// The key's member, if it is named at all.
    sender: Option<AgentIdentifier>,
    /// The member to whom it goes; missing in a broadcast.
    recipient: Option<AgentIdentifier>,
    /// Whether it is for all.
    #[serde(default)]
    recipient_all: bool,
    /// At most 1 MiB.
    content: String,
    metadata: Option<MessageMetadata>,
    /// The message or request that it answers.
    in_response_to: Option<String>,
    id: Option<Value>,
    r#type: Option<Value>,
    recipient_role: Option<Value>,
    action: Option<Value>,
    attachments: Option<Value>,
    context: Option<Value>,
}

/// A member.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AgentIdentifier {
    name: String,
    agent_id: Option<Value>,
    role: Option<Value>,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MessageMetadata {
    #[serde(default)]
    priority: MessagePriority,
    created_at: Option<Value>,
    expires_at: Option<Value>,
    requires_response: Option<Value>,
    response_timeout_seconds: Option<Value>,
    retry_count: Option<Value>,
    max_retries: Option<Value>,
}

/// How much it matters. Urgent and high interrupt a member at work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum MessagePriority {
    Urgent,
    High,
    #[default]
    Normal,
    Low,
}

pub(in crate::web::api) async fn send_agent_message(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Given(message): Given<AgentMessage>,
) -> Result<(StatusCode, Json<SentMessage>), Problem> {
    check_is_there(&message, &program)?;
    if message.recipient_all {
        return Err(not_yet("`recipient_all` here", "use `/api/v1/messages/broadcast`"));
    }
    let Some(recipient) = message.recipient else {
        let title = "A message has a recipient";
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "wrong-recipient", title)
            .with_hint("name `recipient`, or use `/api/v1/messages/broadcast`"));
    };
    let priority = match message.metadata.unwrap_or_default().priority {
        MessagePriority::Urgent | MessagePriority::High => Urgency::Urgent,
        MessagePriority::Normal | MessagePriority::Low => Urgency::Normal,
    };
    let new = NewMessage {
        to: recipient.name,
        content: message.content,
        reply_to: message.in_response_to,
        priority,
    };
    Ok((StatusCode::CREATED, Json(send_as(&state, &program, new).await?)))
}

pub(in crate::web::api) async fn broadcast_agent_message(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Given(message): Given<AgentMessage>,
) -> Result<(StatusCode, Json<SentBroadcast>), Problem> {
    check_is_there(&message, &program)?;
    if message.recipient.is_some() {
        let title = "A broadcast has no recipient";
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "wrong-recipient", title)
            .with_hint("leave `recipient` out, or use `/api/v1/messages/send`"));
    }
    if message.in_response_to.is_some() {
        return Err(not_yet("an answer to all", "leave `in_response_to` out"));
    }
    let new = NewBroadcast { content: message.content };
    Ok((StatusCode::CREATED, Json(broadcast_as(&state, &program, new).await?)))
}

/// Refuses fields that the model has not, and the name of another sender.
fn check_is_there(message: &AgentMessage, program: &Program) -> Result<(), Problem> {
    let me = &program.name;
    if let Some(sender) = &message.sender {
        check_own_name(me, &sender.name)?;
    }
    let mut fields = vec![
        ("id", &message.id),
        ("type", &message.r#type),
        ("recipient_role", &message.recipient_role),
        ("action", &message.action),
        ("attachments", &message.attachments),
        ("context", &message.context),
    ];
    for identifier in [&message.sender, &message.recipient].into_iter().flatten() {
        fields.extend([("agent_id", &identifier.agent_id), ("role", &identifier.role)]);
    }
    if let Some(metadata) = &message.metadata {
        fields.extend([
            ("created_at", &metadata.created_at),
            ("expires_at", &metadata.expires_at),
            ("requires_response", &metadata.requires_response),
            ("response_timeout_seconds", &metadata.response_timeout_seconds),
            ("retry_count", &metadata.retry_count),
            ("max_retries", &metadata.max_retries),
        ]);
    }
    match fields.iter().find(|(_, given)| given.is_some()) {
        Some((field, _)) => Err(not_yet(&format!("`{field}`"), "leave that field out")),
        None => Ok(()),
    }
}

pub(in crate::web::api) async fn inbox_of_agent(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Named(name): Named,
    Asked(which): Asked<WhichUnread>,
) -> Result<Json<Inbox>, Problem> {
    check_own_name(&program.name, &name)?;
    Ok(Json(inbox_of(&state, &program, which).await?))
}
