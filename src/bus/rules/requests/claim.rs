//! Claiming a request, which only one member can do, and answering it.

use super::unheard_claims::{note_unheard, note_unheard_again};
use crate::bus::event::{Body, Event};
use crate::bus::rules::event_writer::{Post, Writer};
use crate::bus::rules::messages::check_rate;
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::{Request, Session};
use crate::domain::ids::{CallId, RequestId, SessionId};
use crate::domain::messaging::{Audience, MessageKind, RequestStatus};

pub(in crate::bus::rules) fn claim(
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
                note_unheard_again(writer, me, call, id);
                Ok(())
            }
            // What it is about is for those alone that it was meant for.
            _ if !writer.state.may_hear_of(me, request) => Err(not_for_you(writer, request)),
            _ => Err(lost(request)),
        };
    }
    if !writer.state.may_claim(me, request) {
        return Err(not_for_you(writer, request));
    }
    // A claim costs nothing, and a release is never refused. Without this, the two in turn would have no limit.
    check_rate(writer, &me.name)?;
    writer.push(Event::RequestClaimed { id: id.clone(), by: me.name.clone(), session: me.id });
    if me.owner.is_some() {
        note_unheard(writer, me.id, call, id);
    }
    writer.supersede(&request.message);
    let text = Body::Text(format!("claimed by {}", me.name));
    let mut post = Post::new(MessageKind::Response, me.name.clone(), request.from.clone(), text);
    post.request = Some(id.clone());
    post.claimed_by = Some(me.name.clone());
    post.thread = Some(request.message.clone());
    if writer.accepts_notice(&request.from) {
        writer.post(post);
    }
    Ok(())
}

/// Returns the refusal of a claim by a member that the request is not meant for.
pub(super) fn not_for_you(writer: &Writer<'_>, request: &Request) -> Refusal {
    let who = writer.state.claimants(request).into_iter();
    let who = who.map(|session| session.name.clone()).collect();
    let only = request.only.clone().unwrap_or(Audience::All);
    Refusal::NotForYou { id: request.id.clone(), only, who }
}

/// Returns the refusal with the status of the request, and with its owner if it has one.
fn lost(request: &Request) -> Refusal {
    let by = request.owner.as_ref().map(|owner| owner.by.clone());
    Refusal::ClaimLost { id: request.id.clone(), status: request.status, by }
}

/// Posts an answer to a request. The owner's answer to the requester completes the request.
pub(in crate::bus::rules) fn respond(
    writer: &mut Writer<'_>,
    me: &Session,
    id: &RequestId,
    mut post: Post,
) {
    let Some(request) = writer.state.request(id) else {
        return;
    };
    let completes =
        post.class().answers() && post.to.iter().any(|to| writer.state.completes(id, me.id, to));
    post.request = Some(id.clone());
    post.reply_to = Some(request.message.clone());
    post.thread = Some(request.message.clone());
    let message = writer.post(post);
    if completes {
        writer.push(Event::RequestCompleted { id: id.clone(), message });
    }
}
