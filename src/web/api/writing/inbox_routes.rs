//! The inbox of a program: its unread messages from a cursor on, which stay unread until the program has acknowledged them. So a program
//! that ends halfway finds them again.

use axum::Json;
use axum::extract::{Extension, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::as_member::as_member;
use super::unread_message::UnreadMessage;
use super::why_refused::why_not;
use crate::bus::rules::{Operation, Pick, Refusal};
use crate::bus::state::{Delivery, Message};
use crate::bus::{BusError, Membership};
use crate::domain::ids::{CallId, MessageId};
use crate::domain::limits;
use crate::domain::messaging::{Acknowledgement, DeliveryMethod, Group};
use crate::sys::random_ids;
use crate::web::api::json_object;
use crate::web::api::read_request::{Asked, GivenOrNot, Named, limit_in_words, wrong_query};
use crate::web::problem::Problem;
use crate::web::programs::Program;
use crate::web::server_state::ServerState;

/// Which unread messages to return.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::web::api) struct WhichUnread {
    /// Those after the ones that an answer with this `next_cursor` has shown.
    cursor: Option<u64>,
    /// At most so many, 1 to 500; 20 if it is missing.
    limit: Option<usize>,
    /// Only those that came by this address: `@word` or `#topic`.
    pub(in crate::web::api) to: Option<String>,
}

/// Unread messages.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::web::api) struct Inbox {
    /// The oldest first.
    messages: Vec<UnreadMessage>,
    /// The `cursor` of what comes after them.
    next_cursor: u64,
    /// Whether there is more now.
    has_more: bool,
}

/// A message that is acknowledged, and so counts as read from now on.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::web::api) struct Acknowledged {
    message_id: String,
    /// How far it is now: `acked`, `resolved` or `superseded`, which never goes back; `withdrawn` or `expired` if that happened before.
    pub(in crate::web::api) status: &'static str,
    /// Whether this request has changed that; if not, it has stored nothing, nor the note.
    changed: bool,
}

/// What has become of a message.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::web::api) struct NewAcknowledgement {
    /// `acked` if it is missing.
    #[serde(default, deserialize_with = "json_object::maybe_word")]
    status: Option<AckStatus>,
    /// For its sender; at most 2,000 bytes. With `resolved`, of the first message of a thread, it resolves the thread, as its summary.
    note: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum AckStatus {
    Acked,
    Resolved,
    Superseded,
}

impl From<AckStatus> for Acknowledgement {
    fn from(status: AckStatus) -> Self {
        match status {
            AckStatus::Acked => Self::Acked,
            AckStatus::Resolved => Self::Resolved,
            AckStatus::Superseded => Self::Superseded,
        }
    }
}

pub(in crate::web::api) async fn inbox(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Asked(which): Asked<WhichUnread>,
) -> Result<Json<Inbox>, Problem> {
    Ok(Json(inbox_of(&state, &program, which).await?))
}

/// Returns the unread messages of the program that asks.
pub(in crate::web::api) async fn inbox_of(
    state: &ServerState,
    program: &Program,
    which: WhichUnread,
) -> Result<Inbox, Problem> {
    let limit = checked_limit(which.limit)?;
    let to = which.to.as_deref().map(|to| Group::parse(to.trim())).transpose();
    let to = match to.map_err(|error| why_not(&Refusal::from(error).into()))? {
        Some(None) => {
            return Err(wrong_query("`to` is `@word` or `#topic`, by which messages came"));
        }
        to => to.flatten(),
    };
    let me = as_member(state, program).await?;
    if let Some(Group::Topic(topic)) = &to {
        // Whoever reads a topic follows it.
        let follow = Operation::FollowTopic(topic.clone());
        me.ask(follow).await.map_err(|error| why_not(&error))?;
    }
    let cursor = which.cursor.unwrap_or_default();
    let read = move || unread_after(&me, cursor, limit, to.as_ref());
    let reading = tokio::task::spawn_blocking(read).await;
    let read = reading.unwrap_or(Err(BusError::Closed));
    read.map_err(|error| why_not(&error))
}

/// Checks how many messages are asked for.
pub(in crate::web::api) fn checked_limit(limit: Option<usize>) -> Result<usize, Problem> {
    let (limit, most) = (limit.unwrap_or(limits::CHECK_LIMIT), limits::MAX_CHECK_LIMIT);
    if (1..=most).contains(&limit) {
        return Ok(limit);
    }
    Err(wrong_query(&limit_in_words()))
}

fn unread_after(
    me: &Membership,
    cursor: u64,
    limit: usize,
    to: Option<&Group>,
) -> Result<Inbox, BusError> {
    let bus = me.bus();
    bus.refresh()?;
    let unread: Vec<Message> = bus.look(|state| {
        let is_next = |message: &&Message| {
            message.seq > cursor && to.is_none_or(|to| message.audience.is_to(to))
        };
        let mut after: Vec<_> = state.unread(me.name()).filter(is_next).collect();
        // By seq, which the cursor counts in.
        after.sort_by_key(|message| message.seq);
        after.into_iter().take(limit + 1).cloned().collect()
    });
    let found = unread.len();
    let messages = page_of(me, unread.into_iter().take(limit))?;
    let next_cursor = messages.last().map_or(cursor, |last| last.seq);
    let has_more = messages.len() < found;
    Ok(Inbox { messages, next_cursor, has_more })
}

/// Loads as many of these messages as one answer takes, at least one.
pub(in crate::web::api) fn page_of(
    me: &Membership,
    headers: impl Iterator<Item = Message>,
) -> Result<Vec<UnreadMessage>, BusError> {
    let (mut messages, mut bytes) = (Vec::new(), 0);
    for header in headers {
        bytes += usize::try_from(header.body.bytes).unwrap_or(usize::MAX);
        if bytes > limits::API_PAGE_BYTES && !messages.is_empty() {
            break;
        }
        let loaded = me.bus().load_message(header, me.name(), 0, usize::MAX)?;
        messages.push(UnreadMessage::of(loaded, me.name()));
    }
    Ok(messages)
}

pub(in crate::web::api) async fn acknowledge(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Named(id): Named,
    GivenOrNot(new): GivenOrNot<NewAcknowledgement>,
) -> Result<Json<Acknowledged>, Problem> {
    let id = MessageId::parse(&id).map_err(|error| why_not(&Refusal::from(error).into()))?;
    let me = as_member(&state, &program).await?;
    Ok(Json(acknowledged(&me, &id, new.unwrap_or_default()).await?))
}

/// Acknowledges a message, which then counts as read. A second time it only says so.
pub(in crate::web::api) async fn acknowledged(
    me: &Membership,
    id: &MessageId,
    new: NewAcknowledgement,
) -> Result<Acknowledged, Problem> {
    let (status, changed) = settle(me, id, new).await.map_err(|error| why_not(&error))?;
    Ok(Acknowledged { message_id: id.to_string(), status, changed })
}

async fn settle(
    me: &Membership,
    id: &MessageId,
    new: NewAcknowledgement,
) -> Result<(&'static str, bool), BusError> {
    let bus = me.bus();
    bus.refresh()?;
    let delivery =
        bus.look(|state| state.message(id).and_then(|message| message.delivery(me.name())));
    match delivery {
        Some(Delivery::Superseded) => return Ok(("withdrawn", false)),
        Some(Delivery::Expired) => return Ok(("expired", false)),
        Some(Delivery::Unread { .. }) => {
            let call = take(me, id).await?;
            note_read(me, call).await?;
        }
        // An earlier request got no further than this.
        Some(Delivery::InFlight { session, call, .. }) if session == me.session() => {
            note_read(me, call).await?;
        }
        Some(Delivery::InFlight { .. } | Delivery::Seen | Delivery::Acknowledged(_)) | None => {}
    }
    let status = new.status.map_or(Acknowledgement::Acked, Acknowledgement::from);
    let mut call = me.call();
    let acknowledged = call.acknowledge(vec![id.clone()], status, new.note).await?;
    call.answered().await;
    let first = acknowledged.first().map(|one| (one.status, one.is_new));
    let (status, changed) = first.unwrap_or((status, false));
    Ok((status.as_str(), changed))
}

/// Notes by which way a message has come: the program has read it in its inbox.
async fn take(me: &Membership, id: &MessageId) -> Result<CallId, BusError> {
    let (session, call) = (me.session(), random_ids::call());
    let pick = Pick {
        only: Some(vec![id.clone()]),
        from: None,
        to: None,
        kind: None,
        limit: 1,
        bytes: usize::MAX,
        head_bytes: usize::MAX,
    };
    me.ask(Operation::Take { session, call, method: DeliveryMethod::Pull, pick }).await?;
    Ok(call)
}

/// Notes that a program has read what a call carries: only messages that it names are ever taken for it.
async fn note_read(me: &Membership, call: CallId) -> Result<(), BusError> {
    let read = Operation::Settle { session: me.session(), call, seen: true };
    me.ask(read).await.map(drop)
}
