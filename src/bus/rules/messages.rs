//! Rules of messages: sending, taking, waiting, and what became of what was handed over.

use super::command::Pick;
use super::delivery_proofs;
use super::event_writer::{Post, Writer};
use super::refusal::Refusal;
use super::requests;
use crate::bus::event::{Addressees, Body, Event};
use crate::bus::state::{Delivery, Message, State, Wait};
use crate::domain::ids::{CallId, MessageId, RequestId, SessionId};
use crate::domain::limits;
use crate::domain::messaging::{Audience, DeliveryMethod, MessageKind, Priority, RequestStatus};
use crate::domain::name::{Name, NameError};
use crate::domain::text::suggest::nearest;

/// Finds the known member that a text names.
pub fn known_member<'a>(state: &'a State, text: &str) -> Result<&'a Name, Refusal> {
    let name = match Name::parse(text) {
        Ok(name) => Some(name),
        // A word that is no name may still be meant for one; a reserved word has its own answer.
        Err(NameError::Malformed(_)) => None,
        Err(NameError::Reserved(word)) if matches!(word.as_str(), "all" | "*") => {
            return Err(Refusal::ToAll);
        }
        Err(reserved) => return Err(reserved.into()),
    };
    let known = name.and_then(|name| state.member(&name));
    known.map(|member| &member.name).ok_or_else(|| {
        let shown: String = text.chars().take(limits::SHOWN_NAME_CHARS).collect();
        let nearest = nearest(&shown, state.names().map(Name::as_str));
        Refusal::UnknownMember { name: shown, nearest }
    })
}

/// Checks a text that somebody wants to put on the bus.
pub(super) fn check_body(what: &'static str, body: &Body) -> Result<(), Refusal> {
    let bytes = body.bytes();
    if bytes > limits::MAX_CONTENT_BYTES as u64 {
        return Err(Refusal::TooLong { what, bytes });
    }
    if matches!(body, Body::Text(text) if text.trim().is_empty()) {
        return Err(Refusal::Empty { what });
    }
    Ok(())
}

/// What a reply answers.
enum ReplyTo {
    Message { id: MessageId, thread: MessageId },
    Request { id: RequestId },
}

pub(super) fn send(
    writer: &mut Writer<'_>,
    me: SessionId,
    to: &str,
    (body, priority): (&Body, Priority),
    reply_to: Option<&str>,
) -> Result<(), Refusal> {
    check_body("content", body)?;
    let me = writer.session(me)?;
    let to = known_member(writer.state, to)?.clone();
    if to == me.name {
        return Err(Refusal::ToYourself);
    }
    if !writer.has_room(&to, 1) {
        let limit = writer.state.limits().unread;
        let unread = writer.state.member(&to).map(|member| member.unread.len());
        return Err(if unread.is_some_and(|unread| unread >= limit) {
            Refusal::InboxFull { name: to, limit }
        } else {
            Refusal::InboxHeavy { name: to }
        });
    }
    let mut post = Post::new(MessageKind::Message, me.name.clone(), to.clone(), body.clone());
    post.priority = priority;
    match reply_to.map(|text| answered(writer.state, &me.name, text)).transpose()? {
        None => {
            writer.post(post);
        }
        Some(ReplyTo::Message { id, thread }) => {
            delivery_proofs::note_knows(writer, me, &thread);
            post.reply_to = Some(id);
            post.thread = Some(thread);
            writer.post(post);
        }
        Some(ReplyTo::Request { id }) => {
            if let Some(request) = writer.state.request(&id) {
                delivery_proofs::note_knows(writer, me, &request.message);
            }
            post.kind = MessageKind::Response;
            requests::respond(writer, me, &id, post);
        }
    }
    Ok(())
}

/// Finds what a reply answers: a message that the sender may see, or a request. A request's own message stands for the request.
fn answered(state: &State, me: &Name, text: &str) -> Result<ReplyTo, Refusal> {
    if text.starts_with("req-") {
        let id = RequestId::parse(text)?;
        return match state.request(&id) {
            Some(_) => Ok(ReplyTo::Request { id }),
            None => Err(Refusal::UnknownRequest { id }),
        };
    }
    let id = MessageId::parse(text)?;
    let message = state.message(&id).filter(|message| message.is_visible_to(me));
    let message = message.ok_or_else(|| Refusal::UnknownMessage { id: id.clone() })?;
    match &message.request {
        Some(request)
            if message.kind == MessageKind::Request && state.request(request).is_some() =>
        {
            Ok(ReplyTo::Request { id: request.clone() })
        }
        _ => Ok(ReplyTo::Message { id, thread: message.thread.clone() }),
    }
}

pub(super) fn broadcast(
    writer: &mut Writer<'_>,
    me: SessionId,
    body: &Body,
) -> Result<(), Refusal> {
    check_body("content", body)?;
    let me = writer.session(me)?;
    // Who is hung is told nothing that it may read when it means nothing any more.
    let hung = |name: &Name| writer.state.live(name).is_some_and(|live| live.hung);
    let mut everyone = writer.everyone_but(&me.name);
    everyone.retain(|name| !hung(name));
    let to = writer.who_have_room(everyone);
    if to.is_empty() {
        return Ok(());
    }
    let mut post =
        Post::new(MessageKind::Broadcast, me.name.clone(), me.name.clone(), body.clone());
    post.audience = Audience::All;
    post.to = to;
    writer.post(post);
    Ok(())
}

/// Writes that earlier calls of this session have been taken by its model.
pub(super) fn note_taken(writer: &mut Writer<'_>, me: SessionId, taken: &[CallId]) {
    for call in taken {
        if holds_or_held(writer.state, me, *call) {
            writer.push(Event::MessageSeen { session: me, call: *call });
        }
    }
}

/// Says whether a call holds messages or a claim, or held some that were given back and that nobody has taken since.
fn holds_or_held(state: &State, session: SessionId, call: CallId) -> bool {
    let Some(holder) = state.session(session) else {
        return false;
    };
    let given_back = |message: &Message| matches!(message.delivery(&holder.name), Some(Delivery::Unread { last }) if last == Some((session, call)));
    state.holds(session, call) || state.unread(&holder.name).any(given_back)
}

pub(super) fn take(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
    (call, way): (CallId, DeliveryMethod),
    pick: &Pick,
) -> Result<(), Refusal> {
    let holder = writer.acts_for(me, session)?;
    // What this very command marks as seen is not to be offered again.
    let seen_now = |message: &Message| {
        let last = message.delivery(&holder.name);
        writer.events.iter().any(|event| match event {
            Event::MessageSeen { session, call } => {
                last == Some(Delivery::Unread { last: Some((*session, *call)) })
            }
            _ => false,
        })
    };
    let picked = picked(writer.state, &holder.name, pick, seen_now);
    let ids: Vec<_> = picked.iter().map(|message| message.id.clone()).collect();
    if !ids.is_empty() {
        writer.push(Event::MessageHanded { ids, member: holder.name.clone(), session, call, way });
    }
    Ok(())
}

/// Returns the unread messages of a member that a pick takes, oldest first, but for those that are left out.
pub fn picked<'a>(
    state: &'a State,
    name: &Name,
    pick: &Pick,
    left_out: impl Fn(&Message) -> bool,
) -> Vec<&'a Message> {
    let (mut picked, mut bytes) = (Vec::new(), 0);
    for message in state.unread(name) {
        let only = pick.only.as_ref();
        let wanted = only.is_none_or(|only| only.contains(&message.id))
            && pick.from.as_ref().is_none_or(|from| message.from.member() == Some(from))
            && pick.kind.is_none_or(|kind| message.kind == kind);
        if !wanted || left_out(message) {
            continue;
        }
        bytes += usize::try_from(message.body.bytes).unwrap_or(usize::MAX).min(pick.head_bytes);
        if picked.len() == pick.limit || (bytes > pick.bytes && !picked.is_empty()) {
            break;
        }
        picked.push(message);
    }
    picked
}

pub(super) fn settle(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
    call: CallId,
    seen: bool,
) -> Result<(), Refusal> {
    writer.acts_for(me, session)?;
    if seen {
        note_taken(writer, session, &[call]);
    } else if !writer.state.handed_to(session, call).is_empty() {
        give_back(writer, session, call);
    }
    Ok(())
}

/// Gives back what a call holds: to another call of the same session that waits for it, else as unread. A request that somebody
/// has claimed meanwhile is withdrawn, as it would have been had it not been handed.
pub(super) fn give_back(writer: &mut Writer<'_>, session: SessionId, call: CallId) {
    let state = writer.state;
    writer.push(Event::MessageReturned { session, call });
    let Some(holder) = state.session(session) else {
        return;
    };
    let name = std::slice::from_ref(&holder.name);
    for message in state.handed_to(session, call) {
        let request = message.request.as_ref().and_then(|id| state.request(id));
        let is_open = request.is_some_and(|request| request.status == RequestStatus::Open);
        if message.kind == MessageKind::Request && !is_open {
            writer.push(Event::MessageSuperseded {
                id: message.id.clone(),
                members: name.to_vec().into(),
            });
        } else {
            writer.hand_to_waits(message, name);
        }
    }
}

/// Ends the waits of an agent whose turn is over, and gives back what its calls were handed and nothing has proven.
pub(super) fn end_calls(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
) -> Result<(), Refusal> {
    let agent = writer.acts_for(me, session)?;
    writer.deafen(session);
    for wait in &agent.waits {
        writer.push(Event::WaitEnded { session, call: wait.call });
    }
    let is_by_tool = |id: &MessageId| {
        let delivery = writer.state.message(id)?.delivery(&agent.name)?;
        matches!(delivery, Delivery::Handed { way, .. } if !way.is_by_turn()).then_some(())
    };
    let calls = agent.handed.iter();
    let by_tools = calls.filter(|(_, ids)| ids.iter().any(|id| is_by_tool(id).is_some()));
    let by_tools: Vec<_> = by_tools.map(|(call, _)| *call).collect();
    for call in by_tools {
        give_back(writer, session, call);
    }
    Ok(())
}

pub(super) fn wait(
    writer: &mut Writer<'_>,
    me: SessionId,
    call: CallId,
    (from, request): (Option<&Name>, Option<&RequestId>),
    timeout_ms: u64,
) -> Result<(), Refusal> {
    let session = writer.session(me)?;
    if !writer.state.handed_to(me, call).is_empty() {
        return Ok(());
    }
    let wait = Wait { call, from: from.cloned(), request: request.cloned() };
    let seen_now: Vec<_> = writer.events.iter().filter_map(seen_call).collect();
    let fitting = writer.state.unread(&session.name).find(|message| {
        let again = match message.delivery(&session.name) {
            Some(Delivery::Unread { last: Some(last) }) => seen_now.contains(&last),
            _ => false,
        };
        !again && wait.fits(message)
    });
    let in_turn = words_in_its_turn(writer, me, &seen_now);
    let held = in_turn.iter().flat_map(|call| {
        let held = writer.state.handed_to(me, *call).into_iter();
        held.map(|message| (Some(*call), message))
    });
    let held = held.filter(|(_, message)| wait.fits(message));
    let fitting = fitting.map(|message| (None, message)).into_iter();
    let oldest = fitting.chain(held).min_by_key(|(_, message)| message.seq);
    if let Some((holder, message)) = oldest {
        if let Some(holder) = holder {
            // It may come before the model only after this call: so the call has it.
            writer.push(Event::MessageReturned { session: me, call: holder });
        }
        let ids = vec![message.id.clone()];
        writer.push(Event::MessageHanded {
            ids,
            member: session.name.clone(),
            session: me,
            call,
            way: DeliveryMethod::Pull,
        });
    } else if timeout_ms > 0 && in_turn.is_empty() && !writer.state.waits(me, call) {
        writer.push(Event::WaitStarted {
            session: me,
            call,
            from: wait.from,
            request: wait.request,
            timeout_ms,
        });
    }
    Ok(())
}

/// Returns the calls with messages that are in the turn of a session, and that its model is not known to have been shown. It may
/// be shown them only after the call that wants to wait, so no wait begins.
fn words_in_its_turn(
    writer: &Writer<'_>,
    session: SessionId,
    seen_now: &[(SessionId, CallId)],
) -> Vec<CallId> {
    let mut steered = writer.state.calls_handed_by(session, DeliveryMethod::Steer);
    steered.retain(|call| !seen_now.contains(&(session, *call)));
    steered
}

pub(super) fn seen_call(event: &Event) -> Option<(SessionId, CallId)> {
    match event {
        Event::MessageSeen { session, call } => Some((*session, *call)),
        _ => None,
    }
}

pub(super) fn end_wait(
    writer: &mut Writer<'_>,
    me: SessionId,
    call: CallId,
) -> Result<(), Refusal> {
    if !writer.state.handed_to(me, call).is_empty() {
        return Err(Refusal::AlreadyHanded);
    }
    if writer.state.waits(me, call) {
        writer.push(Event::WaitEnded { session: me, call });
    }
    Ok(())
}

/// Writes that nobody else needs to see a message: those who have not been handed it.
pub(super) fn supersede(writer: &mut Writer<'_>, id: &MessageId) {
    let Some(message) = writer.state.message(id) else {
        return;
    };
    let unread = |delivery: &Delivery| matches!(delivery, Delivery::Unread { .. });
    let members: Vec<_> = message
        .deliveries
        .iter()
        .filter(|(_, delivery)| unread(delivery))
        .map(|(name, _)| name.clone())
        .collect();
    if members.is_empty() {
        return;
    }
    let members = if members.len() > limits::NAMED_AT_ONCE {
        Addressees::AllBut(Vec::new())
    } else {
        members.into()
    };
    writer.push(Event::MessageSuperseded { id: id.clone(), members });
}
