//! Sending a message to one member, possibly in reply to a message or a request, or to all members.

use super::addressing::{check_body, known_member, recipient};
use super::check_envelope::check_envelope;
use super::signal_effects::{check_awaited, completed, supersede, take_effect};
use crate::bus::event::{Body, Envelope};
use crate::bus::rules::event_writer::{Post, Writer};
use crate::bus::rules::refusal::Refusal;
use crate::bus::rules::requests::{note_known, respond};
use crate::bus::state::{Likeness, Session, State};
use crate::domain::ids::{MessageId, PermissionId, RequestId, SessionId, TaskId};
use crate::domain::messaging::{Audience, MessageKind, Priority};
use crate::domain::name::Name;

/// The message or request that a reply answers.
enum ReplyTo {
    Message { id: MessageId, thread: MessageId },
    Request { id: RequestId },
}

pub(in crate::bus::rules) fn send(
    writer: &mut Writer<'_>,
    me: SessionId,
    to: &str,
    (body, priority, more): (&Body, Priority, Option<&Envelope>),
    reply_to: Option<&str>,
) -> Result<(), Refusal> {
    check_body("content", body)?;
    if let Some(more) = more {
        check_envelope(more, reply_to)?;
    }
    let me = writer.session(me)?;
    let to = recipient(writer.state, &me.name, to)?.clone();
    check_room(writer, &to)?;
    let mut post = Post::new(MessageKind::Message, me.name.clone(), to.clone(), body.clone());
    post.priority = priority;
    post.more = more.map(completed).map(Box::new);
    check_awaited(writer, &me.name, &post)?;
    match reply_to.map(|text| answered(writer.state, &me.name, text)).transpose()? {
        None => {
            check_pace(writer, me, &post)?;
            supersede(writer, &me.name, &post)?;
            writer.post(post);
        }
        Some(ReplyTo::Message { id, thread }) => {
            post.reply_to = Some(id);
            check_pace(writer, me, &post)?;
            note_known(writer, me, &thread);
            post.thread = Some(thread);
            take_effect(writer, me, &post)?;
            supersede(writer, &me.name, &post)?;
            writer.post(post);
        }
        Some(ReplyTo::Request { id }) => {
            if let Some(request) = writer.state.request(&id) {
                note_known(writer, me, &request.message);
            }
            post.kind = MessageKind::Response;
            supersede(writer, &me.name, &post)?;
            respond(writer, me, &id, post);
        }
    }
    Ok(())
}

/// Sends a message of the person at the command line. If it answers a message that is forgotten, or that the recipient does not see, it
/// begins a thread.
pub(in crate::bus::rules) fn send_as_human(
    writer: &mut Writer<'_>,
    to: &str,
    (body, priority): (&Body, Priority),
    reply_to: Option<&MessageId>,
) -> Result<(), Refusal> {
    check_body("the message", body)?;
    let to = known_member(writer.state, to)?.clone();
    check_room(writer, &to)?;
    let answered = reply_to.and_then(|id| writer.state.message(id));
    let answered = answered.filter(|message| message.is_visible_to(&to));
    let post = Post {
        priority,
        reply_to: answered.map(|message| message.id.clone()),
        thread: answered.map(|message| message.thread.clone()),
        ..Post::of_human(to, body.clone())
    };
    writer.post(post);
    Ok(())
}

/// Refuses a message that the session has just sent, and one that comes too fast after the others.
fn check_pace(writer: &Writer<'_>, me: &Session, post: &Post) -> Result<(), Refusal> {
    let limits = writer.state.limits();
    let Some(pace) = me.pace.as_ref().filter(|_| limits.messages_per_minute > 0) else {
        return Ok(());
    };
    let likeness = Likeness {
        kind: post.kind,
        audience: &post.audience,
        reply_to: post.reply_to.as_ref(),
        priority: post.priority,
        more: post.more.as_deref(),
        body: &post.body,
    };
    let now_ms = writer.now.tick.ms;
    if let Some(id) = pace.double(&likeness, now_ms) {
        return Err(Refusal::Double { id: id.clone() });
    }
    match pace.wait_ms(&limits, now_ms) {
        Some(wait_ms) => Err(Refusal::TooFast { limits, wait_ms }),
        None => Ok(()),
    }
}

/// Refuses a message for a full inbox.
fn check_room(writer: &Writer<'_>, to: &Name) -> Result<(), Refusal> {
    if writer.has_room(to, 1) {
        return Ok(());
    }
    let limit = writer.state.limits().unread;
    let unread = writer.state.member(to).map(|member| member.unread.len());
    let name = to.clone();
    Err(if unread.is_some_and(|unread| unread >= limit) {
        Refusal::InboxFull { name, limit }
    } else {
        Refusal::InboxHeavy { name }
    })
}

/// Finds the message or request that a reply answers. The sender must be able to see the message. A message that shows a request
/// stands for the request.
fn answered(state: &State, me: &Name, text: &str) -> Result<ReplyTo, Refusal> {
    if text.starts_with("req-") {
        let id = RequestId::parse(text)?;
        return match state.request(&id) {
            Some(_) => Ok(ReplyTo::Request { id }),
            None => Err(Refusal::UnknownRequest { id }),
        };
    }
    let not_answerable = |id, hint| Err(Refusal::NotAnswerable { id, hint });
    if let Ok(id) = TaskId::parse(text) {
        let hint = "leave it out. A task is answered by what its agent says at the end of its turn";
        return not_answerable(id.to_string(), hint);
    }
    if let Ok(id) = PermissionId::parse(text) {
        return not_answerable(id.to_string(), "an orchestrator answers it with answer_permission");
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

pub(in crate::bus::rules) fn broadcast(
    writer: &mut Writer<'_>,
    me: SessionId,
    body: &Body,
) -> Result<(), Refusal> {
    check_body("content", body)?;
    let me = writer.session(me)?;
    // A hung member would read the broadcast too late.
    let hung = |name: &Name| writer.state.live(name).is_some_and(|live| live.hung);
    let mut everyone = writer.everyone_but(&me.name);
    everyone.retain(|name| !hung(name));
    let to = writer.with_room(everyone);
    if to.is_empty() {
        return Ok(());
    }
    let mut post =
        Post::new(MessageKind::Broadcast, me.name.clone(), me.name.clone(), body.clone());
    post.audience = Audience::All;
    post.to = to;
    check_pace(writer, me, &post)?;
    writer.post(post);
    Ok(())
}
