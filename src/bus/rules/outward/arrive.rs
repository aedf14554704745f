//! Messages from other projects arrive, and the receipts of those that went there. No session of this bus asks for it: whoever can write
//! its files can write such a message, and it has the authority of no member here.

use crate::bus::event::{Envelope, Event, MessageRelayed};
use crate::bus::rules::command::{Arriving, Crossing};
use crate::bus::rules::event_writer::{Post, Writer};
use crate::bus::rules::refusal::Refusal;
use crate::bus::rules::{elsewhere, messages};
use crate::bus::state::{Message, State, without_note};
use crate::domain::ids::MessageId;
use crate::domain::limits;
use crate::domain::member::Label;
use crate::domain::messaging::{
    Audience, Author, Elsewhere, MemberElsewhere, Priority, ReceiptElsewhere, SignalClass,
};
use crate::domain::name::Name;

/// Performs what comes from another project.
pub(in crate::bus::rules) fn from_elsewhere(
    writer: &mut Writer<'_>,
    crossing: &Crossing,
) -> Result<(), Refusal> {
    match crossing {
        Crossing::Arrive(arriving) => arrive(writer, arriving),
        Crossing::Receipts { from, id, there, receipts } => {
            take_receipts(writer, (from, id), there, receipts)
        }
        _ => Err(Refusal::Left),
    }
}

fn arrive(writer: &mut Writer<'_>, arriving: &Arriving) -> Result<(), Refusal> {
    let Arriving { from, origin, to, body, priority, more, reply_to } = arriving;
    if let Some(arrived) = writer.state.arrived(origin) {
        return Err(Refusal::Arrived { id: arrived.id.clone() });
    }
    // What is forgotten here is over there.
    let projects = writer.state.other_projects();
    if projects.is_over(origin) {
        return Err(Refusal::ArrivedLate);
    }
    if projects.is_too_far_ahead(origin) {
        return Err(Refusal::ArrivedEarly);
    }
    messages::check_body("content", body)?;
    elsewhere::check(more.as_deref(), None)?;
    // What it answers may be forgotten here: then it begins a thread.
    let answers = reply_to.as_ref().map(ToString::to_string);
    messages::check_envelope(more.as_deref().unwrap_or(&Envelope::default()), answers.as_deref())?;
    let (audience, to) = recipients(writer, to.as_ref())?;
    let first = to.first().cloned().ok_or(Refusal::NobodyElse)?;
    let answered = reply_to.as_ref().and_then(|id| writer.state.message(id));
    let answered = answered.filter(|message| is_between(message, &origin.tag));
    let mut more = more.as_deref().cloned().unwrap_or_default();
    more.origin = Some(origin.clone());
    let member = MemberElsewhere { tag: origin.tag.clone(), name: from.clone() };
    let post = Post {
        audience,
        to,
        priority: *priority,
        reply_to: answered.map(|message| message.id.clone()),
        thread: answered.map(|message| message.thread.clone()),
        more: Some(Box::new(more)),
        ..Post::of_elsewhere(member, first, body.clone())
    };
    // As a message of a peer to all.
    let quiet = !post.audience.is_one() && *priority < Priority::High;
    if post.class() == SignalClass::Progress {
        messages::supersede_progress(writer, &post);
    }
    writer.post(Post { quiet, ..post });
    Ok(())
}

/// Finds the members that a message is for: one, or all that are live and have room.
fn recipients(writer: &Writer<'_>, to: Option<&Name>) -> Result<(Audience, Vec<Name>), Refusal> {
    if let Some(name) = to {
        let name = messages::known_reader(writer.state, name.as_str())?.clone();
        messages::check_room(writer, &name)?;
        if !has_room_for_others(writer.state, &name) {
            let limit = limits::UNREAD_FROM_ELSEWHERE;
            return Err(Refusal::InboxFull { name, limit });
        }
        return Ok((Audience::One(name.clone()), vec![name]));
    }
    let live = writer.state.readers().into_iter().filter(|one| !one.hung);
    let everyone: Vec<Name> = live.map(|one| one.name.clone()).collect();
    let first = everyone.first().cloned().ok_or(Refusal::NobodyElse)?;
    let mut with_room = writer.with_room(everyone);
    with_room.retain(|name| has_room_for_others(writer.state, name));
    if with_room.is_empty() {
        messages::check_room(writer, &first)?;
        let limit = limits::UNREAD_FROM_ELSEWHERE;
        return Err(Refusal::InboxFull { name: first, limit });
    }
    Ok((Audience::All, with_room))
}

/// Says whether an inbox takes more from other projects: the rest of it is for the members here.
fn has_room_for_others(state: &State, name: &Name) -> bool {
    let from_elsewhere = |message: &&Message| message.from.elsewhere().is_some();
    let most = limits::UNREAD_FROM_ELSEWHERE;
    state.unread(name).filter(from_elsewhere).take(most).count() < most
}

/// Says whether a message went to that project, or came from it.
fn is_between(message: &Message, tag: &Label) -> bool {
    let from = message.from.elsewhere().map(|from| &from.tag);
    let to = message.audience.elsewhere().map(|to| &to.tag);
    from == Some(tag) || to == Some(tag)
}

/// Notes how far a message has come in the project that it went to. Only what stands in no receipt yet is written. A receipt may come
/// before the note of whoever took the message there: then it is that note.
fn take_receipts(
    writer: &mut Writer<'_>,
    (from, id): (&Label, &MessageId),
    there: &MessageId,
    receipts: &[ReceiptElsewhere],
) -> Result<(), Refusal> {
    let state = writer.state;
    let sent = state
        .message(id)
        .filter(|message| message.audience.elsewhere().is_some_and(|address| address.tag == *from));
    if sent.is_none() {
        return Err(Refusal::UnknownMessage { id: id.clone() });
    }
    // A note comes with its state: alone it is not written again.
    let bare: Vec<_> = receipts.iter().map(without_note).collect();
    let crossed = state.crossed(id).filter(|crossed| crossed.there.is_some());
    let there = match crossed {
        Some(crossed) if crossed.receipts.iter().eq(bare.iter()) => return Ok(()),
        Some(crossed) => crossed.there.clone(),
        None => state.is_promised(id).then(|| there.clone()),
    };
    let there = there.ok_or_else(|| Refusal::UnknownMessage { id: id.clone() })?;
    let (id, receipts) = (id.clone(), with_short_notes(receipts));
    writer.push(Event::MessageRelayed(MessageRelayed { id, there, receipts }));
    Ok(())
}

/// Leaves out the notes that no member there could write, and those above a limit.
pub(super) fn with_short_notes(receipts: &[ReceiptElsewhere]) -> Vec<ReceiptElsewhere> {
    let mut room = limits::NOTES_FROM_ELSEWHERE_BYTES;
    let mut kept = receipts.to_vec();
    for receipt in &mut kept {
        let most = room.min(limits::ACKNOWLEDGEMENT_NOTE_BYTES);
        receipt.note = receipt.note.take().filter(|note| note.len() <= most);
        room -= receipt.note.as_ref().map_or(0, String::len);
    }
    kept
}

/// Returns the id that a message has in another project, if it went there or came from there.
pub fn id_there(state: &State, id: &MessageId, tag: &Label) -> Option<MessageId> {
    let message = state.message(id)?;
    let origin = message.more.as_ref().and_then(|more| more.origin.as_ref());
    if let (Author::Elsewhere(_), Some(origin)) = (&message.from, origin) {
        return (origin.tag == *tag).then(|| origin.id.clone());
    }
    let went_there = message.audience.elsewhere().is_some_and(|to: &Elsewhere| to.tag == *tag);
    state.crossed(id).filter(|_| went_there)?.there.clone()
}
