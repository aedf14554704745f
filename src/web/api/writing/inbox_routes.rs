//! The inbox of a program: its unread messages from a cursor on, which stay unread until the program has acknowledged them. So a program
//! that ends halfway finds them again.

use axum::Json;
use axum::extract::{Extension, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::as_member::as_member;
use super::why_refused::why_not;
use crate::bus::rules::{Operation, Pick, Refusal};
use crate::bus::state::{Delivery, Message};
use crate::bus::{BusError, LoadedMessage, Membership};
use crate::domain::ids::{CallId, MessageId};
use crate::domain::limits;
use crate::domain::messaging::{Acknowledgement, DeliveryMethod, Priority};
use crate::sys::random_ids;
use crate::view::{LetterAttachment, Moment};
use crate::web::api::read_request::{Asked, GivenNothing, Named, wrong_query};
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

/// An unread message.
#[derive(Debug, Serialize, JsonSchema)]
struct UnreadMessage {
    message_id: String,
    /// The seq of its event.
    seq: u64,
    at: Moment,
    /// The sender; `bridge` is the bus itself, `human` the person at the command line.
    from: String,
    /// A name, `all`, or a group such as `@role`.
    to: String,
    /// message, request, response, nudge, broadcast, shutdown or notice.
    kind: String,
    /// The whole text.
    content: String,
    /// Why the text is lost, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<String>,
    /// The first message of its thread.
    thread_id: String,
    /// The message that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<String>,
    /// The request that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    /// The task that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<String>,
    /// What is attached to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attachments: Vec<LetterAttachment>,
    /// Whether it is worth an interruption.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    urgent: bool,
}

/// A message that is acknowledged, and so counts as read from now on.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::web::api) struct Acknowledged {
    message_id: String,
    /// `acked`, or `resolved` or `superseded` if it is so already; `withdrawn` or `expired` if that happened before.
    pub(in crate::web::api) status: &'static str,
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
    let limit = which.limit.unwrap_or(limits::CHECK_LIMIT);
    if !(1..=limits::MAX_CHECK_LIMIT).contains(&limit) {
        let most = limits::MAX_CHECK_LIMIT;
        return Err(wrong_query(&format!("`limit` is 1 to {most}")));
    }
    let me = as_member(state, program).await?;
    let cursor = which.cursor.unwrap_or_default();
    let reading = tokio::task::spawn_blocking(move || unread_after(&me, cursor, limit)).await;
    let read = reading.unwrap_or(Err(BusError::Closed));
    read.map_err(|error| why_not(&error))
}

fn unread_after(me: &Membership, cursor: u64, limit: usize) -> Result<Inbox, BusError> {
    let bus = me.bus();
    bus.refresh()?;
    let unread: Vec<Message> = bus.look(|state| {
        let after = state.unread(me.name()).filter(|message| message.seq > cursor);
        // By seq, which the cursor counts in.
        let mut after: Vec<_> = after.collect();
        after.sort_by_key(|message| message.seq);
        after.into_iter().take(limit + 1).cloned().collect()
    });
    let (mut messages, mut next_cursor, mut bytes) = (Vec::new(), cursor, 0);
    let found = unread.len();
    for header in unread.into_iter().take(limit) {
        bytes += usize::try_from(header.body.bytes).unwrap_or(usize::MAX);
        if bytes > limits::API_PAGE_BYTES && !messages.is_empty() {
            break;
        }
        next_cursor = header.seq;
        messages.push(UnreadMessage::from(bus.load_message(header, me.name(), 0, usize::MAX)?));
    }
    let has_more = messages.len() < found;
    Ok(Inbox { messages, next_cursor, has_more })
}

impl From<LoadedMessage> for UnreadMessage {
    fn from(LoadedMessage { header, text, lost, more, .. }: LoadedMessage) -> Self {
        let attached = more.iter().flat_map(|more| &more.attachments);
        let attachments = attached.map(LetterAttachment::from).collect();
        Self {
            message_id: header.id.into(),
            seq: header.seq,
            at: Moment(header.sent_ms),
            from: header.from.to_string(),
            to: header.audience.to_string(),
            kind: header.kind.as_str().to_owned(),
            content: text,
            lost,
            thread_id: header.thread.into(),
            reply_to: header.reply_to.map(String::from),
            request_id: header.request.map(String::from),
            task_id: header.task.map(String::from),
            attachments,
            urgent: header.priority >= Priority::High,
        }
    }
}

pub(in crate::web::api) async fn acknowledge(
    State(state): State<ServerState>,
    Extension(program): Extension<Program>,
    Named(id): Named,
    _: GivenNothing,
) -> Result<Json<Acknowledged>, Problem> {
    let id = MessageId::parse(&id).map_err(|error| why_not(&Refusal::from(error).into()))?;
    let me = as_member(&state, &program).await?;
    Ok(Json(acknowledged(&me, &id).await?))
}

/// Acknowledges a message, which then counts as read. A second time it only says so.
pub(in crate::web::api) async fn acknowledged(
    me: &Membership,
    id: &MessageId,
) -> Result<Acknowledged, Problem> {
    let status = settle(me, id).await.map_err(|error| why_not(&error))?;
    Ok(Acknowledged { message_id: id.to_string(), status })
}

async fn settle(me: &Membership, id: &MessageId) -> Result<&'static str, BusError> {
    let bus = me.bus();
    bus.refresh()?;
    let delivery =
        bus.look(|state| state.message(id).and_then(|message| message.delivery(me.name())));
    match delivery {
        Some(Delivery::Superseded) => return Ok("withdrawn"),
        Some(Delivery::Expired) => return Ok("expired"),
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
    let mut call = me.call();
    let acknowledged = call.acknowledge(vec![id.clone()], Acknowledgement::Acked, None).await?;
    call.answered().await;
    Ok(acknowledged.first().map_or(Acknowledgement::Acked, |one| one.status).as_str())
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
