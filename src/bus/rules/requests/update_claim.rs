//! What the owner of a request does with its claim besides answering: it reports progress, or renews, releases or hands over the
//! claim, or gives the request up.

use super::claim::respond;
use super::hand_over::{check_reached, hand_over, owned, post_if_accepted};
use super::reopen::{Reopening, reopen_as};
use super::unheard_claims::note_known;
use crate::bus::event::{Body, Event};
use crate::bus::rules::command::ClaimUpdate;
use crate::bus::rules::event_writer::{Post, Writer};
use crate::bus::rules::messages::{check_body, check_pace};
use crate::bus::rules::notice::notice;
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::{Request, Session};
use crate::domain::ids::{RequestId, SessionId};
use crate::domain::messaging::MessageKind;

pub(in crate::bus::rules) fn update_claim(
    writer: &mut Writer<'_>,
    me: SessionId,
    id: &RequestId,
    update: &ClaimUpdate,
) -> Result<(), Refusal> {
    let me = writer.session(me)?;
    let request = owned(writer, me, id)?;
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
