//! Acknowledging messages: what their recipient says has become of them.
//!
//! Whoever names a message knows of it, though not always from the answer that carries it: looking back shows ids too. So an
//! acknowledgement proves the messages that it names, and nothing else of the calls that carry them.

use crate::bus::event::{Event, MessageAcknowledged, ThreadResolved};
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::{Delivery, Message, State};
use crate::domain::ids::{MessageId, SessionId};
use crate::domain::limits;
use crate::domain::messaging::{Acknowledgement, Author};
use crate::domain::name::Name;

/// Acknowledges all of these messages, or none of them. Those that are as far already stay as they are. Who resolves the first message of
/// a thread, and says how, resolves the thread, unless it has a mere copy because the text mentions it; once more, if it has resolved it
/// itself, or somebody has reopened it.
pub(in crate::bus::rules) fn acknowledge(
    writer: &mut Writer<'_>,
    me: SessionId,
    ids: &[MessageId],
    (status, note): (Acknowledgement, Option<&str>),
) -> Result<(), Refusal> {
    check_sizes(ids, note)?;
    let holder = writer.session(me)?;
    let (mut forward, mut threads) = (Vec::new(), Vec::new());
    let resolves = status == Acknowledgement::Resolved && note.is_some();
    for id in ids {
        let (message, delivery) = acknowledgeable(writer.state, &holder.name, id)?;
        if is_on_its_way(writer, delivery) {
            return Err(Refusal::NotReadYet { id: id.clone() });
        }
        if delivery.goes_on_to(status) && !forward.contains(id) {
            forward.push(id.clone());
        }
        let is_resolved = delivery.goes_on_to(status) || delivery == Delivery::Acknowledged(status);
        let ends_thread = begins_thread(message) && !message.is_copy_for(&holder.name);
        if is_resolved && resolves && ends_thread && !threads.contains(id) {
            check_resolver(message, &holder.name)?;
            threads.push(id.clone());
        }
    }
    if !forward.is_empty() {
        let (member, note) = (holder.name.clone(), note.map(str::to_owned));
        let acknowledged = MessageAcknowledged { ids: forward, member, status, note };
        writer.push(Event::MessageAcknowledged(acknowledged));
    }
    if let (Some(note), false) = (note, threads.is_empty()) {
        let (by, summary) = (holder.name.clone(), note.to_owned());
        writer.push(Event::ThreadResolved(ThreadResolved { threads, by, summary }));
    }
    Ok(())
}

/// Says whether a message begins a thread. Notices of the bridge are no talk.
fn begins_thread(message: &Message) -> bool {
    message.thread == message.id && message.from != Author::Bridge
}

/// Refuses to resolve a thread that another member has resolved. Who has resolved it may say it better.
fn check_resolver(first: &Message, me: &Name) -> Result<(), Refusal> {
    let by = first.more.as_ref().and_then(|more| more.resolved_by.clone());
    if first.resolved && by.as_ref() != Some(me) {
        return Err(Refusal::ThreadResolved { id: first.id.clone(), by, summary: None });
    }
    Ok(())
}

/// Says whether a message is in the answer of a call that its reader cannot have had before this command: nothing proves that answer,
/// and nothing says that it was written. If it never arrives, the message has to be delivered again.
pub(super) fn is_on_its_way(writer: &Writer<'_>, delivery: Delivery) -> bool {
    match delivery {
        Delivery::InFlight { session, call, method } if method.is_by_answer() => {
            let is_proven = writer.seen_calls().any(|seen| seen == (session, call));
            !is_proven && !writer.state.is_written(session, call)
        }
        _ => false,
    }
}

fn check_sizes(ids: &[MessageId], note: Option<&str>) -> Result<(), Refusal> {
    match ids.len() {
        0 => return Err(Refusal::NothingToAcknowledge),
        count if count > limits::ACKNOWLEDGED_AT_ONCE => {
            return Err(Refusal::TooManyToAcknowledge { count });
        }
        _ => {}
    }
    match note {
        Some(note) if note.trim().is_empty() => Err(Refusal::Empty { what: "note" }),
        Some(note) if note.len() > limits::ACKNOWLEDGEMENT_NOTE_BYTES => {
            Err(Refusal::NoteTooLong { bytes: note.len() })
        }
        _ => Ok(()),
    }
}

/// Returns a message that a member may acknowledge, and how far it has come with it.
fn acknowledgeable<'a>(
    state: &'a State,
    me: &Name,
    id: &MessageId,
) -> Result<(&'a Message, Delivery), Refusal> {
    let message = state.message(id).filter(|message| message.is_visible_to(me));
    let message = message.ok_or_else(|| Refusal::UnknownMessage { id: id.clone() })?;
    let how = match message.delivery(me) {
        None => return Err(Refusal::OwnMessage { id: id.clone() }),
        Some(Delivery::Superseded) => "was withdrawn",
        Some(Delivery::Expired) => "expired",
        Some(delivery) => return Ok((message, delivery)),
    };
    Err(Refusal::EndedUnseen { id: id.clone(), how })
}
