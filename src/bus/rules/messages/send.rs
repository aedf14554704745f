//! Sending a message to one member, possibly in reply to a message or a request, or to all members.

use super::addressing::{check_body, check_room};
use super::check_envelope::check_envelope;
use super::copies::add_copies;
use super::deadlines::{settle_nudges, withdraw_all_nudges};
use super::delivery_proofs::note_answered;
use super::queue::or_queued;
use super::rates::{check_pace, just_sent};
use super::resolve::{Recipients, follow, resolve_anywhere, resolve_for_human, responsive};
use super::signal_effects::{check_answer_lasts, check_awaited, completed, supersede, take_effect};
use crate::bus::event::{Body, Envelope, Event};
use crate::bus::rules::conflicts::{self, Part};
use crate::bus::rules::elsewhere;
use crate::bus::rules::event_writer::{Post, Writer};
use crate::bus::rules::refusal::Refusal;
use crate::bus::rules::requests::{hand_over_with, note_known, respond};
use crate::bus::state::{Message, Request, Session, State};
use crate::domain::ids::{MessageId, PermissionId, RequestId, SessionId, TaskId};
use crate::domain::member::MemberKind;
use crate::domain::messaging::{Audience, Group, MessageKind, Priority, Signal};
use crate::domain::name::Name;

/// The message or request that a reply answers.
enum ReplyTo {
    Message { id: MessageId, thread: MessageId },
    Request { id: RequestId, message: MessageId },
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
    let found = resolve_anywhere(writer, me, to);
    let Recipients { audience, to } = or_queued(writer, me, found, more)?;
    let crosses = audience.elsewhere().is_some();
    if crosses {
        elsewhere::check(more, reply_to)?;
    }
    let to = if audience.is_one() { to } else { responsive(writer.state, to) };
    let to = with_room(writer, &audience, to)?;
    let mut post = Post::new(MessageKind::Message, me.name.clone(), me.name.clone(), body.clone());
    post.priority = priority;
    post.more = more.map(completed).map(Box::new);
    // Each idle agent of a group that it wakes costs a turn.
    let wakes = me.kind == MemberKind::Orchestrator || priority >= Priority::High;
    post.quiet = !audience.is_one() && !audience.is_human() && !crosses && !wakes;
    (post.audience, post.to) = (audience, to);
    check_awaited(writer, &me.name, &post)?;
    if post.to.is_empty() {
        // What the one says to the user who speaks with them reaches nobody else.
        let speaks = writer.state.speaks_with_user().is_some_and(|speaker| speaker.id == me.id);
        post.more.get_or_insert_default().queue = !(speaks && post.audience.is_human());
    } else if let Some(more) = &mut post.more {
        more.queue = false;
    }
    add_copies(writer, me, &mut post)?;
    let topic = match &post.audience {
        Audience::Group(Group::Topic(topic)) => Some(topic.clone()),
        _ => None,
    };
    match reply_to.map(|text| answered(writer.state, me, text)).transpose()? {
        None => {
            check_pace(writer, me, &post)?;
            post.thread = hand_over_with(writer, me, &post)?;
            supersede(writer, &me.name, &post)?;
            writer.post(post);
        }
        Some(ReplyTo::Message { id, thread }) => {
            post.reply_to = Some(id);
            check_answer_lasts(writer, &me.name, &post)?;
            check_pace(writer, me, &post)?;
            note_known(writer, me, &thread);
            post.thread = Some(thread.clone());
            if let Some(id) = &post.reply_to {
                note_answered(writer, me.id, id);
            }
            let replied = post.reply_to.clone();
            let part = match &replied {
                // A disagreement is among the members of one project.
                Some(_) if crosses => Part::Nothing,
                Some(replied) => conflicts::part_of(writer, me, replied, &mut post)?,
                None => Part::Nothing,
            };
            hand_over_with(writer, me, &post)?;
            take_effect(writer, me, &post)?;
            settle_nudges(writer, &me.name, &post);
            supersede(writer, &me.name, &post)?;
            let signal = post.more.as_ref().and_then(|more| more.signal.clone());
            let id = writer.post(post);
            conflicts::follow(writer, me, (&thread, &id, signal.as_ref()), part);
        }
        Some(ReplyTo::Request { .. }) if crosses => {
            return Err(Refusal::DoesNotCross { what: "the answer to a request".to_owned() });
        }
        Some(ReplyTo::Request { id, message }) => {
            post.kind = MessageKind::Response;
            post.reply_to = Some(message.clone());
            let completes = |to: &Name| writer.state.completes(&id, me.id, to);
            let is_answer = post.class().answers() && post.to.iter().any(completes);
            if is_answer && post.more.as_ref().is_some_and(|more| more.ttl_seconds.is_some()) {
                return Err(Refusal::LastsForGood);
            }
            if !is_answer {
                check_pace(writer, me, &post)?;
            }
            note_known(writer, me, &message);
            note_answered(writer, me.id, &message);
            let handed_over = hand_over_with(writer, me, &post)?;
            supersede(writer, &me.name, &post)?;
            if handed_over.is_some() {
                // Whoever has given the claim away does not complete the request.
                (post.kind, post.thread) = (MessageKind::Message, handed_over);
                writer.post(post);
            } else {
                respond(writer, me, &id, post);
            }
        }
    }
    match topic {
        Some(topic) => follow(writer, me, &topic),
        None => Ok(()),
    }
}

/// Leaves out the members of a group whose inboxes are full. It is refused if none is left.
fn with_room(
    writer: &Writer<'_>,
    audience: &Audience,
    to: Vec<Name>,
) -> Result<Vec<Name>, Refusal> {
    let Some(first) = to.first().cloned() else {
        return Ok(to);
    };
    let left = if audience.is_one() { Vec::new() } else { writer.with_room(to.clone()) };
    if left.is_empty() {
        check_room(writer, &first)?;
        return Ok(to);
    }
    Ok(left)
}

/// Sends a message of the person at the command line, to one member or to a group, whose idle agents it wakes. If it answers a message
/// that is forgotten, or that a recipient does not see, it begins a thread.
pub(in crate::bus::rules) fn send_as_human(
    writer: &mut Writer<'_>,
    to: &str,
    (body, priority, signal): (&Body, Priority, Signal),
    reply_to: Option<&MessageId>,
) -> Result<(), Refusal> {
    check_body("the message", body)?;
    let more = completed(&Envelope { signal: Some(signal.clone()), ..Envelope::default() });
    check_envelope(&more, reply_to.map(ToString::to_string).as_deref())?;
    let Recipients { audience, to } = resolve_for_human(writer, to)?;
    if !signal.class().is_for_person(audience.is_one()) {
        return Err(Refusal::SignalOfMembers { signal });
    }
    let to = if audience.is_one() { to } else { responsive(writer.state, to) };
    let asked = reply_to.and_then(|id| writer.state.message(id));
    // It decides what members disagree about, whoever has the message that it answers.
    let in_dispute = asked.filter(|message| {
        let conflict = writer.state.conflict(&message.thread);
        conflict.is_some_and(|conflict| conflicts::decides_for_user(conflict, signal.class()))
    });
    let answered = asked.filter(|message| to.iter().all(|name| message.is_readable_by(name)));
    let settled = answered.filter(|asked| {
        let asker_reads = asked.from.member().is_some_and(|from| to.contains(from));
        asked.audience.is_human() && asker_reads && signal.class().answers()
    });
    // What the user was asked for finds room.
    let is_awaited =
        in_dispute.is_some() || settled.is_some_and(|it| writer.state.asks_user(&it.id));
    let to = if is_awaited { to } else { with_room(writer, &audience, to)? };
    let first = to.first().cloned().ok_or(Refusal::NobodyElse)?;
    let post = Post {
        priority,
        reply_to: answered.map(|message| message.id.clone()),
        thread: answered.or(in_dispute).map(|message| message.thread.clone()),
        audience,
        to,
        more: Some(Box::new(more)),
        ..Post::of_human(first, body.clone())
    };
    conflicts::send_as_human(writer, post);
    if let Some(asked) = settled {
        settle_question(writer, &asked.id);
    }
    Ok(())
}

/// Withdraws a question that the user has answered from whoever speaks with them, and was to pass it on.
fn settle_question(writer: &mut Writer<'_>, asked: &MessageId) {
    withdraw_all_nudges(writer, asked);
    if writer.state.is_promised(asked) {
        writer.push(Event::MessageUnclaimed { id: asked.clone() });
    }
    writer.supersede(asked);
}

/// Finds the message or request that a reply answers. The sender must be able to see the message. A message that shows a request
/// stands for the request.
fn answered(state: &State, me: &Session, text: &str) -> Result<ReplyTo, Refusal> {
    if text.starts_with("req-") {
        let id = RequestId::parse(text)?;
        let request = state.request(&id).filter(|request| state.knows_request(me, request));
        let request = request.ok_or(Refusal::UnknownRequest { id })?;
        return Ok(reply_to_request(me, request));
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
    // Whoever had a message that has passed on may have read it, and knows its id from nothing else.
    let knows = |message: &&Message| {
        message.is_readable_by(&me.name) || message.has_passed_on_from(&me.name)
    };
    let message = state.message(&id).filter(knows);
    let message = message.ok_or_else(|| Refusal::UnknownMessage { id: id.clone() })?;
    let shown = message.request.as_ref().filter(|_| message.kind == MessageKind::Request);
    match shown.and_then(|request| state.request(request)) {
        Some(request) => Ok(reply_to_request(me, request)),
        None => Ok(ReplyTo::Message { id, thread: message.thread.clone() }),
    }
}

/// Returns what a reply to a request answers. Only its owner answers the request, and only its requester writes to the owner about it;
/// what others say is a message in its thread, which ends no wait for the request.
fn reply_to_request(me: &Session, request: &Request) -> ReplyTo {
    let (id, message) = (request.id.clone(), request.message.clone());
    let is_owner = request.owner.as_ref().is_some_and(|owner| owner.by == me.name);
    if is_owner || request.from == me.name {
        ReplyTo::Request { id, message }
    } else {
        ReplyTo::Message { id: message.clone(), thread: message }
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
    if let Some(id) = just_sent(writer, &me.name, &post) {
        return broadcast_again(writer, id, &to);
    }
    post.to = to;
    check_pace(writer, me, &post)?;
    writer.post(post);
    Ok(())
}

/// Delivers a broadcast of a moment ago to those who have joined since, or had no room for it. The others have it.
fn broadcast_again(
    writer: &mut Writer<'_>,
    id: &MessageId,
    everyone: &[Name],
) -> Result<(), Refusal> {
    let double = || Refusal::Double { id: id.clone() };
    let message = writer.state.message(id).ok_or_else(double)?;
    let lacks = |name: &&Name| message.delivery(name).is_none();
    let to: Vec<_> = everyone.iter().filter(lacks).cloned().collect();
    if to.is_empty() {
        return Err(double());
    }
    let addressees = writer.addressees(to.clone());
    writer.push(Event::MessageAddressed { id: id.clone(), to: addressees });
    writer.deliver_to_waits(message, &to);
    Ok(())
}
