//! Acknowledging messages: what their recipient says has become of them.
//!
//! Whoever names a message knows of it, though not always from the answer that carries it: looking back shows ids too. So an
//! acknowledgement proves the messages that it names, and nothing else of the calls that carry them.

use crate::bus::event::{Event, MessageAcknowledged};
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::{Delivery, State};
use crate::domain::ids::{MessageId, SessionId};
use crate::domain::limits;
use crate::domain::messaging::Acknowledgement;
use crate::domain::name::Name;

/// Acknowledges all of these messages, or none of them. Those that are as far already stay as they are.
pub(in crate::bus::rules) fn acknowledge(
    writer: &mut Writer<'_>,
    me: SessionId,
    ids: &[MessageId],
    (status, note): (Acknowledgement, Option<&str>),
) -> Result<(), Refusal> {
    check_sizes(ids, note)?;
    let holder = writer.session(me)?;
    let mut forward = Vec::new();
    for id in ids {
        let delivery = delivery_to(writer.state, &holder.name, id)?;
        if is_on_its_way(writer, delivery) {
            return Err(Refusal::NotReadYet { id: id.clone() });
        }
        if delivery.goes_on_to(status) && !forward.contains(id) {
            forward.push(id.clone());
        }
    }
    if !forward.is_empty() {
        let (member, note) = (holder.name.clone(), note.map(str::to_owned));
        let acknowledged = MessageAcknowledged { ids: forward, member, status, note };
        writer.push(Event::MessageAcknowledged(acknowledged));
    }
    Ok(())
}

/// Says whether a message is in the answer of a call that its reader cannot have had before this command: nothing proves that answer,
/// and nothing says that it was written. If it never arrives, the message has to be delivered again.
pub(super) fn is_on_its_way(writer: &Writer<'_>, delivery: Delivery) -> bool {
    match delivery {
        Delivery::InFlight { session, call, method } if !method.is_by_turn() => {
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

/// Returns how far a message has come with a member that may acknowledge it.
fn delivery_to(state: &State, me: &Name, id: &MessageId) -> Result<Delivery, Refusal> {
    let message = state.message(id).filter(|message| message.is_visible_to(me));
    let message = message.ok_or_else(|| Refusal::UnknownMessage { id: id.clone() })?;
    let how = match message.delivery(me) {
        None => return Err(Refusal::OwnMessage { id: id.clone() }),
        Some(Delivery::Superseded) => "was withdrawn",
        Some(Delivery::Expired) => "expired",
        Some(delivery) => return Ok(delivery),
    };
    Err(Refusal::EndedUnseen { id: id.clone(), how })
}
