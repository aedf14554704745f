//! The paths of agent messages: `/messages/send`, `/messages/broadcast`, `/messages/agent/NAME/inbox`, and `/messages/conversation/ID`,
//! which is a thread. An agent is named by its name, a group by a role, and an action is a signal; of the other fields those count that the
//! model has.

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::not_yet::{address_of_role, check_own_name, not_yet};
use crate::domain::wait_times;
use crate::web::api::read_request::{Asked, Given, Named};
use crate::web::api::writing::{
    HowUrgent, Inbox, NewBroadcast, NewMessage, SentBroadcast, SentMessage, WhichUnread, as_member,
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
    /// The member to whom it goes.
    recipient: Option<AgentIdentifier>,
    /// Instead: a lane, role or capability.
    recipient_role: Option<String>,
    /// Instead: whether it is for all.
    #[serde(default)]
    recipient_all: bool,
    /// At most 1 MiB.
    content: String,
    metadata: Option<MessageMetadata>,
    /// The message or request that it answers.
    in_response_to: Option<String>,
    /// What it is for: a signal of the team.
    action: Option<String>,
    id: Option<Value>,
    r#type: Option<Value>,
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
    priority: Option<HowUrgent>,
    /// Whether an answer is awaited.
    #[serde(default)]
    requires_response: bool,
    /// After how many seconds without an answer the recipient is reminded, 1 to 86,400.
    response_timeout_seconds: Option<u64>,
    created_at: Option<Value>,
    expires_at: Option<Value>,
    retry_count: Option<Value>,
    max_retries: Option<Value>,
}

pub(in crate::web::api) async fn send_agent_message(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Given(message): Given<AgentMessage>,
) -> Result<(StatusCode, Json<SentMessage>), Problem> {
    check_is_there(&message, &program)?;
    let AgentMessage { recipient, recipient_role, recipient_all, .. } = message;
    let to = match (recipient, recipient_role, recipient_all) {
        (Some(recipient), None, false) => recipient.name,
        (None, Some(role), false) => address_of_role(&as_member(&state, &program).await?, role)?,
        (None, None, true) => "all".to_owned(),
        _ => {
            let title = "A message has one recipient";
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "wrong-recipient", title)
                .with_hint("name one of `recipient`, `recipient_role` and `recipient_all`"));
        }
    };
    let MessageMetadata { priority, requires_response, response_timeout_seconds, .. } =
        message.metadata.unwrap_or_default();
    let usual = requires_response.then_some(wait_times::DEFAULT_RESPONSE_SECONDS);
    let new = NewMessage {
        to,
        content: message.content,
        reply_to: message.in_response_to,
        priority,
        signal: message.action,
        response_seconds: response_timeout_seconds.or(usual),
        ..NewMessage::default()
    };
    Ok((StatusCode::CREATED, Json(send_as(&state, &program, new).await?)))
}

pub(in crate::web::api) async fn broadcast_agent_message(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Given(message): Given<AgentMessage>,
) -> Result<(StatusCode, Json<SentBroadcast>), Problem> {
    check_is_there(&message, &program)?;
    if message.recipient.is_some() || message.recipient_role.is_some() {
        let title = "A broadcast has no recipient";
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "wrong-recipient", title)
            .with_hint("leave it out, or use `/api/v1/messages/send`"));
    }
    let metadata = message.metadata.as_ref();
    let awaits = metadata.is_some_and(|metadata| {
        metadata.requires_response || metadata.response_timeout_seconds.is_some()
    });
    if message.in_response_to.is_some() || message.action.is_some() || awaits {
        let hint = "use `/api/v1/messages/send` with `recipient_all`";
        return Err(not_yet("a broadcast with an action, an answer, or a wish for one", hint));
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
