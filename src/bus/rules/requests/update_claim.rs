//! What the owner of a request does with its claim besides answering: it reports progress, or renews, releases or hands over the
//! claim, or gives the request up.

use super::claim::{not_for_you, respond};
use super::reopen::{Reopening, reopen_as};
use super::unheard_claims::note_known;
use crate::bus::event::{Body, Event};
use crate::bus::rules::command::ClaimUpdate;
use crate::bus::rules::event_writer::{Post, Writer};
use crate::bus::rules::messages::{
    check_body, check_pace, check_rate, check_room, known_member, recipient,
};
use crate::bus::rules::notice::notice;
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::{Delivery, Request, Session};
use crate::domain::ids::{RequestId, SessionId};
use crate::domain::messaging::{MessageKind, RequestStatus};

pub(in crate::bus::rules) fn update_claim(
    writer: &mut Writer<'_>,
    me: SessionId,
    id: &RequestId,
    update: &ClaimUpdate,
) -> Result<(), Refusal> {
    let me = writer.session(me)?;
    let request = writer.state.request(id);
    let request = request.ok_or_else(|| Refusal::UnknownRequest { id: id.clone() })?;
    let owner = request.owner.as_ref();
    if request.status != RequestStatus::Claimed || owner.is_none_or(|one| one.session != me.id) {
        let by = owner.map(|owner| owner.by.clone());
        return Err(Refusal::ClaimOver { id: id.clone(), status: request.status, by });
    }
    note_known(writer, me, &request.message);
    // What ends a claim is never refused for a rate: its requester waits for that.
    match update {
        ClaimUpdate::Renew => renew(writer, request),
        ClaimUpdate::Progress(body) => {
            let post = about(me, request, MessageKind::Message, body)?;
            check_reached(writer, request)?;
            check_pace(writer, me, &post)?;
            writer.post(post);
            renew(writer, request);
        }
        ClaimUpdate::Release(why) => {
            let why = why.as_ref().map(|body| about(me, request, MessageKind::Message, body));
            let how = Reopening { lost_owners: request.lost_owners, released: true };
            post_if_accepted(writer, request, why.transpose()?);
            reopen_as(writer, id, "has released it", how);
        }
        ClaimUpdate::HandOver { to, content } => {
            hand_over(writer, me, request, to, content.as_ref())?;
        }
        ClaimUpdate::Complete(body) => {
            let post = about(me, request, MessageKind::Response, body)?;
            check_reached(writer, request)?;
            respond(writer, me, id, post);
        }
        ClaimUpdate::Fail(why) => {
            let why = why.as_ref().map(|body| about(me, request, MessageKind::Message, body));
            post_if_accepted(writer, request, why.transpose()?);
            writer.push(Event::RequestFailed { id: id.clone() });
            let text = notice!["your request ", *id, " failed: ", me.name, " has given it up"];
            writer.notice_about(id, &request.from, text);
        }
    }
    Ok(())
}

fn renew(writer: &mut Writer<'_>, request: &Request) {
    if let Some(lease) = request.lease {
        let left_ms = lease.until_reminder_ms();
        writer.push(Event::RequestRenewed { id: request.id.clone(), left_ms });
    }
}

/// Returns a message to the requester in the thread of the request. It has no `request` of its own: only the end of the request ends
/// waits for it.
fn about(me: &Session, request: &Request, kind: MessageKind, body: &Body) -> Result<Post, Refusal> {
    check_body("content", body)?;
    let mut post = Post::new(kind, me.name.clone(), request.from.clone(), body.clone());
    post.reply_to = Some(request.message.clone());
    post.thread = Some(request.message.clone());
    Ok(post)
}

/// Refuses a message to a requester that is unknown by now, or whose inbox is full.
fn check_reached(writer: &Writer<'_>, request: &Request) -> Result<(), Refusal> {
    known_member(writer.state, request.from.as_str())?;
    check_room(writer, &request.from)
}

/// Posts what the owner says at the end of its claim, unless the requester cannot get it: the claim ends all the same.
fn post_if_accepted(writer: &mut Writer<'_>, request: &Request, post: Option<Post>) {
    if let Some(post) = post.filter(|_| check_reached(writer, request).is_ok()) {
        writer.post(post);
    }
}

/// Gives the claim to another live member: one event, so there are never two owners, and never none.
fn hand_over(
    writer: &mut Writer<'_>,
    me: &Session,
    request: &Request,
    to: &str,
    content: Option<&Body>,
) -> Result<(), Refusal> {
    let state = writer.state;
    let to = recipient(state, &me.name, to)?.clone();
    if to == request.from {
        return Err(Refusal::HandedToAuthor { id: request.id.clone(), name: to });
    }
    let heir = state.live(&to).filter(|heir| !heir.hung && heir.stop.is_none());
    let heir = heir.ok_or_else(|| Refusal::NobodyThere { name: to.clone() })?;
    if !state.may_claim(heir, request) {
        return Err(not_for_you(writer, request));
    }
    let session = heir.id;
    let own = || Body::Text(format!("the request {} of {} is yours now", request.id, request.from));
    let said = content.cloned().unwrap_or_else(own);
    check_body("content", &said)?;
    check_room(writer, &to)?;
    check_rate(writer, &me.name)?;
    let id = request.id.clone();
    writer.push(Event::RequestHandedOver { id, by: me.name.clone(), to: to.clone(), session });
    let shown = state.message(&request.message);
    if let Some(shown) = shown
        && matches!(shown.delivery(&to), None | Some(Delivery::Superseded))
    {
        let heir = vec![to.clone()];
        writer.push(Event::MessageAddressed { id: shown.id.clone(), to: heir.clone().into() });
        writer.deliver_to_waits(shown, &heir);
    }
    let text = notice![
        me.name,
        " has handed the request ",
        request.id,
        " of ",
        request.from,
        " over to you: you own it now. Answer ",
        request.from,
        " with send_message and this id as reply_to, or use update_claim"
    ];
    writer.notice(&to, text);
    // A message of a member, which wakes an idle agent.
    let mut post = Post::new(MessageKind::Message, me.name.clone(), to.clone(), said);
    post.thread = Some(request.message.clone());
    writer.post(post);
    let text = Body::Text(format!("handed over to {to}"));
    let mut post = Post::new(MessageKind::Response, me.name.clone(), request.from.clone(), text);
    post.request = Some(request.id.clone());
    post.claimed_by = Some(to);
    post.thread = Some(request.message.clone());
    post_if_accepted(writer, request, Some(post));
    Ok(())
}
