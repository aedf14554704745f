//! Acknowledging messages: what their recipient says has become of them.
//!
//! Whoever names a message has read it, and with it the answer of the call that carries it.

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
    let (mut forward, mut carrying) = (Vec::new(), Vec::new());
    for id in ids {
        let delivery = delivery_to(writer.state, &holder.name, id)?;
        if let Delivery::InFlight { session, call, .. } = delivery {
            carrying.push((session, call));
        }
        if delivery.goes_on_to(status) && !forward.contains(id) {
            forward.push(id.clone());
        }
    }
    for (session, call) in carrying {
        // A message that was requeued may be known from elsewhere, such as the history: it proves nothing about its call.
        if session == me && !writer.seen_calls().any(|seen| seen == (session, call)) {
            writer.push(Event::MessageSeen { session, call });
        }
    }
    if !forward.is_empty() {
        let (member, note) = (holder.name.clone(), note.map(str::to_owned));
        let acknowledged = MessageAcknowledged { ids: forward, member, status, note };
        writer.push(Event::MessageAcknowledged(acknowledged));
    }
    Ok(())
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
