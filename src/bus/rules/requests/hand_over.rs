//! A claim goes from its owner to another member, in one event: by `update_claim`, or by a message with such a signal.

use super::claim::not_for_you;
use super::unheard_claims::note_known;
use crate::bus::event::{Body, Event};
use crate::bus::rules::event_writer::{Post, Writer};
use crate::bus::rules::messages::{check_body, check_rate, check_room, known_member, recipient};
use crate::bus::rules::notice::notice;
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::{Delivery, Request, Session};
use crate::domain::ids::{MessageId, RequestId, SessionId};
use crate::domain::messaging::{Audience, MessageKind, RequestStatus, SignalClass};
use crate::domain::name::Name;

/// The field of a payload that names the claim to hand over.
const CLAIM: &str = "claim";

/// Finds a request that a session owns.
pub(super) fn owned<'a>(
    writer: &Writer<'a>,
    me: &Session,
    id: &RequestId,
) -> Result<&'a Request, Refusal> {
    let request = writer.state.request(id);
    let request = request.ok_or_else(|| Refusal::UnknownRequest { id: id.clone() })?;
    let owner = request.owner.as_ref();
    if request.status != RequestStatus::Claimed || owner.is_none_or(|one| one.session != me.id) {
        // How it stands is for those who know of it.
        if !writer.state.may_hear_of(me, request) {
            return Err(Refusal::UnknownRequest { id: id.clone() });
        }
        let by = owner.map(|owner| owner.by.clone());
        return Err(Refusal::ClaimOver { id: id.clone(), status: request.status, by });
    }
    Ok(request)
}

/// Gives the claim to another live member: one event, so there are never two owners, and never none.
pub(super) fn hand_over(
    writer: &mut Writer<'_>,
    me: &Session,
    request: &Request,
    to: &str,
    content: Option<&Body>,
) -> Result<(), Refusal> {
    let to = recipient(writer.state, &me.name, to)?.clone();
    let session = heir(writer, request, &to)?;
    let own = || Body::Text(format!("the request {} of {} is yours now", request.id, request.from));
    let said = content.cloned().unwrap_or_else(own);
    check_body("content", &said)?;
    check_room(writer, &to)?;
    check_rate(writer, &me.name)?;
    pass_on(writer, me, request, (&to, session));
    // A message of a member, which wakes an idle agent.
    let mut post = Post::new(MessageKind::Message, me.name.clone(), to.clone(), said);
    post.thread = Some(request.message.clone());
    writer.post(post);
    tell_author(writer, me, request, &to);
    Ok(())
}

/// Hands over the claim that a message names, before the message itself, which is what its sender says to the next owner. Returns the
/// message that shows the request, if there is such a claim.
pub(in crate::bus::rules) fn hand_over_with(
    writer: &mut Writer<'_>,
    me: &Session,
    post: &Post,
) -> Result<Option<MessageId>, Refusal> {
    let payload = post.more.as_ref().and_then(|more| more.payload.as_ref());
    let claim = payload.and_then(|payload| payload.get(CLAIM));
    let Some(claim) = claim.filter(|_| post.class() == SignalClass::HandOver) else {
        return Ok(None);
    };
    // What is no text is named as it was written.
    let id = match claim.as_str() {
        Some(text) => RequestId::parse(text)?,
        None => RequestId::parse(&claim.to_string())?,
    };
    let Audience::One(to) = &post.audience else {
        return Err(Refusal::HandedToGroup { id });
    };
    let request = owned(writer, me, &id)?;
    note_known(writer, me, &request.message);
    let session = heir(writer, request, to)?;
    pass_on(writer, me, request, (to, session));
    tell_author(writer, me, request, to);
    Ok(Some(request.message.clone()))
}

/// Finds the session of a member that may be the next owner of a request.
fn heir(writer: &Writer<'_>, request: &Request, to: &Name) -> Result<SessionId, Refusal> {
    let state = writer.state;
    if *to == request.from {
        return Err(Refusal::HandedToAuthor { id: request.id.clone(), name: to.clone() });
    }
    let heir = state.live(to).filter(|heir| !heir.hung && heir.stop.is_none());
    let heir = heir.ok_or_else(|| Refusal::NobodyThere { name: to.clone() })?;
    if !state.may_claim(heir, request) {
        return Err(not_for_you(writer, request));
    }
    Ok(heir.id)
}

/// Makes a member the owner, and shows it the request.
fn pass_on(
    writer: &mut Writer<'_>,
    me: &Session,
    request: &Request,
    (to, session): (&Name, SessionId),
) {
    let id = request.id.clone();
    writer.push(Event::RequestHandedOver { id, by: me.name.clone(), to: to.clone(), session });
    let shown = writer.state.message(&request.message);
    if let Some(shown) = shown
        && matches!(shown.delivery(to), None | Some(Delivery::Superseded))
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
    writer.notice(to, text);
}

/// Tells the author of a request who owns it now.
fn tell_author(writer: &mut Writer<'_>, me: &Session, request: &Request, to: &Name) {
    let text = Body::Text(format!("handed over to {to}"));
    let mut post = Post::new(MessageKind::Response, me.name.clone(), request.from.clone(), text);
    post.request = Some(request.id.clone());
    post.claimed_by = Some(to.clone());
    post.thread = Some(request.message.clone());
    post_if_accepted(writer, request, Some(post));
}

/// Refuses a message to a requester that is unknown by now, or whose inbox is full.
pub(super) fn check_reached(writer: &Writer<'_>, request: &Request) -> Result<(), Refusal> {
    known_member(writer.state, request.from.as_str())?;
    check_room(writer, &request.from)
}

/// Posts what the owner says at the end of its claim, unless the requester cannot get it: the claim ends all the same.
pub(super) fn post_if_accepted(writer: &mut Writer<'_>, request: &Request, post: Option<Post>) {
    if let Some(post) = post.filter(|_| check_reached(writer, request).is_ok()) {
        writer.post(post);
    }
}
