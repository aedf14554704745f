//! Rules of requests: opened by a member, claimed by one other, answered by its owner.

use std::collections::BTreeSet;

use super::delivery_proofs;
use super::event_writer::{Post, Writer};
use super::messages::{check_body, supersede};
use super::notice::notice;
use super::refusal::Refusal;
use crate::bus::event::{Addressees, Body, Event, RequestOpened};
use crate::bus::state::{Delivery, Due, Message, Origin, Request, Session};
use crate::domain::ids::{CallId, RequestId, SessionId};
use crate::domain::limits;
use crate::domain::messaging::{Audience, MessageKind, RequestStatus};
use crate::domain::name::Name;

pub(super) fn open(
    writer: &mut Writer<'_>,
    me: SessionId,
    description: &Body,
    context: Option<&Body>,
    (nudge_ms, ttl_ms): (u64, u64),
) -> Result<(), Refusal> {
    check_body("description", description)?;
    if let Some(context) = context {
        check_body("context", context)?;
    }
    let me = writer.session(me)?;
    let own = writer.state.pending_requests(&me.name);
    if own >= limits::MAX_OWN_REQUESTS {
        let limit = limits::MAX_OWN_REQUESTS;
        return Err(Refusal::TooManyRequests { limit });
    }
    let message = writer.message_id();
    let id = writer.new_id(RequestId::from_bits, |state, id| state.requests.contains_key(id));
    // Whose inbox is full hears of it when it is open again after a claim, and can claim it all the same.
    let to = writer.who_have_room(writer.everyone_but(&me.name));
    let opened = RequestOpened {
        id,
        message,
        from: me.name.clone(),
        to: writer.addressees(to.clone()),
        description: description.clone(),
        context: context.cloned(),
        nudge_ms,
        ttl_ms,
    };
    let shown = Message::opened(&opened, Origin::default());
    writer.push(Event::RequestOpened(opened));
    writer.hand_to_waits(&shown, &to);
    Ok(())
}

pub(super) fn claim(
    writer: &mut Writer<'_>,
    me: SessionId,
    id: &RequestId,
    call: CallId,
) -> Result<(), Refusal> {
    let me = writer.session(me)?;
    let request =
        writer.state.request(id).ok_or_else(|| Refusal::UnknownRequest { id: id.clone() })?;
    if request.from == me.name {
        return Err(Refusal::OwnRequest { id: id.clone() });
    }
    if request.status != RequestStatus::Open {
        let owner = request.owner.as_ref();
        return match owner {
            Some(owner) if request.status == RequestStatus::Claimed && owner.session == me.id => {
                delivery_proofs::hang_on_later(writer, me, call, id);
                Ok(())
            }
            _ => Err(lost(request)),
        };
    }
    writer.push(Event::RequestClaimed { id: id.clone(), by: me.name.clone(), session: me.id });
    if me.owner.is_some() {
        delivery_proofs::hang(writer, me.id, call, id);
    }
    supersede(writer, &request.message);
    let text = Body::Text(format!("claimed by {}", me.name));
    let mut post = Post::new(MessageKind::Response, me.name.clone(), request.from.clone(), text);
    post.request = Some(id.clone());
    post.claimed_by = Some(me.name.clone());
    post.thread = Some(request.message.clone());
    if writer.state.member(&request.from).is_some() {
        writer.post(post);
    }
    Ok(())
}

/// The refusal that says who was faster, or why nobody can claim any more.
fn lost(request: &Request) -> Refusal {
    let by = request.owner.as_ref().map(|owner| owner.by.clone());
    Refusal::ClaimLost { id: request.id.clone(), status: request.status, by }
}

/// Posts an answer to a request; the owner's answer to the requester completes it.
pub(super) fn respond(writer: &mut Writer<'_>, me: &Session, id: &RequestId, mut post: Post) {
    let Some(request) = writer.state.request(id) else {
        return;
    };
    let owned = request.status == RequestStatus::Claimed
        && request.owner.as_ref().is_some_and(|owner| owner.session == me.id);
    let completes = owned && post.to.first() == Some(&request.from);
    post.request = Some(id.clone());
    post.reply_to = Some(request.message.clone());
    post.thread = Some(request.message.clone());
    let message = writer.post(post);
    if completes {
        writer.push(Event::RequestCompleted { id: id.clone(), message });
    }
}

/// Brings an unclaimed request to everybody's mind, and tells its author.
pub(super) fn nudge(writer: &mut Writer<'_>, id: &RequestId) {
    writer.push(Event::RequestNudged { id: id.clone() });
    let Some(request) = writer.state.request(id) else {
        return;
    };
    let text =
        format!("request {id} of {} is still open; claim it with claim_request", request.from);
    remind(writer, request, text);
    let expiry = Due::Expire(id.clone());
    let left_s = writer.state.timers.left_ms(&expiry, writer.now.tick.ms) / 1000;
    let text = notice![
        "your request ",
        *id,
        " is still unclaimed. All members were reminded; it stays open for another ",
        left_s,
        " s"
    ];
    // It is no news of the request itself, so it ends no wait for that.
    writer.notice(&request.from, text);
}

/// Tells everybody that a request can be claimed.
fn remind(writer: &mut Writer<'_>, request: &Request, text: String) {
    let to = writer.who_have_room(writer.everyone_but(&request.from));
    if to.is_empty() {
        return;
    }
    let mut post =
        Post::new(MessageKind::Nudge, request.from.clone(), request.from.clone(), Body::Text(text));
    post.audience = Audience::All;
    post.to = to;
    post.request = Some(request.id.clone());
    post.thread = Some(request.message.clone());
    writer.post(post);
}

/// Ends a request that nobody answers any more.
pub(super) fn expire(writer: &mut Writer<'_>, id: &RequestId, tell: bool) {
    writer.push(Event::RequestExpired { id: id.clone() });
    let Some(request) = writer.state.request(id) else {
        return;
    };
    supersede(writer, &request.message);
    if tell {
        let text = notice!["your request ", *id, " expired: no member claimed it in time"];
        writer.notice_about(&request.id, &request.from, text);
    }
}

/// Ends all requests when the last member of a team leaves: whoever comes later has work of its own.
pub(super) fn end_with_team(writer: &mut Writer<'_>, last: &Session) {
    let state = writer.state;
    if state.live_sessions().iter().any(|live| live.id != last.id) {
        return;
    }
    let ended: BTreeSet<_> = writer.events.iter().filter_map(expired).cloned().collect();
    let left = state.unanswered_requests();
    // What is left of very many ends at its own time.
    let left = left.filter(|request| !ended.contains(&request.id));
    for request in left.take(limits::DUE_AT_ONCE) {
        writer.push(Event::RequestExpired { id: request.id.clone() });
        supersede(writer, &request.message);
        let told = notice!["your request ", request.id, " expired: the last member left the team",];
        writer.notice_about(&request.id, &request.from, told);
    }
}

fn expired(event: &Event) -> Option<&RequestId> {
    match event {
        Event::RequestExpired { id } => Some(id),
        _ => None,
    }
}

/// Ends the requests of a name that will never read an answer, and tells those who work on them.
pub(super) fn withdraw_own(writer: &mut Writer<'_>, name: &Name) {
    let state = writer.state;
    let own = state.unanswered_requests().filter(|own| own.from == *name);
    for request in own.take(limits::DUE_AT_ONCE) {
        // What is left of very many ends at its own time.
        if writer.is_full() {
            break;
        }
        expire(writer, &request.id, false);
        if let Some(owner) = &request.owner {
            let text = notice![
                *name,
                " left, so its request ",
                request.id,
                ", which you claimed, is cancelled"
            ];
            writer.notice_about(&request.id, &owner.by, text);
        }
    }
}

/// Opens again what a session held, because it is gone. What is left of very many is opened again when that is due.
pub(super) fn reopen_claims(writer: &mut Writer<'_>, session: &Session) {
    let held = writer.state.claimed_by(session.id);
    for request in held.take(limits::DUE_AT_ONCE) {
        if writer.is_full() {
            break;
        }
        reopen(writer, &request.id);
    }
}

/// Opens a request again whose owner is gone or just leaving, or has been silent for too long.
pub(super) fn reopen(writer: &mut Writer<'_>, id: &RequestId) {
    let owner = writer.state.request(id).and_then(|one| one.owner.as_ref());
    let lives = owner.is_some_and(|owner| {
        writer.state.session(owner.session).is_some() && !writer.is_leaving(owner.session)
    });
    let how = if lives { "stopped responding" } else { "is gone" };
    reopen_as(writer, id, how);
}

/// Opens a request again, and tells what has become of its owner.
pub(super) fn reopen_as(writer: &mut Writer<'_>, id: &RequestId, how: &'static str) {
    writer.push(Event::RequestReopened { id: id.clone() });
    let state = writer.state;
    let Some(request) = state.request(id) else {
        return;
    };
    let Some(owner) = &request.owner else {
        return;
    };
    let gone = &owner.by;
    if let Some(message) = state.message(&request.message) {
        let not_shown = not_shown_to(writer, request, message);
        if !not_shown.is_empty() {
            let to = if not_shown.len() > limits::NAMED_AT_ONCE {
                Addressees::AllBut(vec![request.from.clone()])
            } else {
                not_shown.clone().into()
            };
            writer.push(Event::MessageAddressed { id: request.message.clone(), to });
            writer.hand_to_waits(message, &not_shown);
        }
    }
    let text =
        format!("request {id} of {} is open again: {gone}, which claimed it, {how}", request.from);
    remind(writer, request, text);
    let text =
        notice!["your request ", *id, " is open again: ", *gone, ", which claimed it, ", how];
    writer.notice_about(&request.id, &request.from, text);
}

/// Names the live members who have not been handed a request: it was withdrawn, or they joined while it was claimed.
fn not_shown_to(writer: &Writer<'_>, request: &Request, message: &Message) -> Vec<Name> {
    let not_shown =
        |name: &Name| matches!(message.delivery(name), None | Some(Delivery::Superseded));
    writer.everyone_but(&request.from).into_iter().filter(not_shown).collect()
}
