//! The paths of agent messages: `/messages/send`, `/messages/broadcast`, `/messages/agent/NAME/inbox`, and `/messages/conversation/ID`,
//! which is a thread. An agent is named by its name or its session, a group by a role.

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::StatusCode;

use super::agent_message::AgentMessage;
use super::named_member::{check_own_member, wrong};
use crate::sys::clock;
use crate::web::api::read_request::{Asked, Given, Named};
use crate::web::api::writing::{
    Inbox, NewBroadcast, SentBroadcast, SentMessage, WhichUnread, as_member, broadcast_as,
    inbox_of, send_as, send_to_all_as,
};
use crate::web::problem::Problem;
use crate::web::programs::Program;
use crate::web::server_state::ServerState;

pub(in crate::web::api) async fn send_agent_message(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Given(message): Given<AgentMessage>,
) -> Result<(StatusCode, Json<SentMessage>), Problem> {
    let me = as_member(&state, &program).await?;
    message.check(&me)?;
    let to = message.address(&me)?;
    let new = message.into_message(to, &me, clock::now().wall_ms).await?;
    Ok((StatusCode::CREATED, Json(send_as(&state, &program, new).await?)))
}

pub(in crate::web::api) async fn broadcast_agent_message(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Given(message): Given<AgentMessage>,
) -> Result<(StatusCode, Json<SentBroadcast>), Problem> {
    let me = as_member(&state, &program).await?;
    message.check(&me)?;
    if message.has_recipient() {
        return Err(wrong("A broadcast has no recipient")
            .with_hint("leave it out, or use `/api/v1/messages/send`"));
    }
    let sent = if let Some(content) = message.text_alone() {
        broadcast_as(&state, &program, NewBroadcast { content }).await?
    } else {
        let new = message.into_message("all".to_owned(), &me, clock::now().wall_ms).await?;
        send_to_all_as(&state, &program, new).await?
    };
    Ok((StatusCode::CREATED, Json(sent)))
}

pub(in crate::web::api) async fn inbox_of_agent(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Named(name): Named,
    Asked(which): Asked<WhichUnread>,
) -> Result<Json<Inbox>, Problem> {
    check_own_member(&as_member(&state, &program).await?, &name)?;
    Ok(Json(inbox_of(&state, &program, which).await?))
}
