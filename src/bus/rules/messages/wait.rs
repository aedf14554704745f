//! Waiting for a message: a fitting unread message is delivered at once, else the call waits.

use crate::bus::event::Event;
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::{Delivery, Wait};
use crate::domain::ids::{CallId, RequestId, SessionId};
use crate::domain::messaging::DeliveryMethod;
use crate::domain::name::Name;

pub(in crate::bus::rules) fn wait(
    writer: &mut Writer<'_>,
    me: SessionId,
    call: CallId,
    (from, request): (Option<&Name>, Option<&RequestId>),
    timeout_ms: u64,
) -> Result<(), Refusal> {
    let session = writer.session(me)?;
    if !writer.state.in_flight_to(me, call).is_empty() {
        return Ok(());
    }
    let wait = Wait { call, from: from.cloned(), request: request.cloned() };
    let seen_now: Vec<_> = writer.seen_calls().collect();
    let fitting = writer.state.unread(&session.name).find(|message| {
        let again = match message.delivery(&session.name) {
            Some(Delivery::Unread { last: Some(last) }) => seen_now.contains(&last),
            _ => false,
        };
        !again && wait.fits(message)
    });
    let in_turn = steered_calls(writer, me, &seen_now);
    let held = in_turn.iter().flat_map(|call| {
        let held = writer.state.in_flight_to(me, *call).into_iter();
        held.map(|message| (Some(*call), message))
    });
    let held = held.filter(|(_, message)| wait.fits(message));
    let fitting = fitting.map(|message| (None, message)).into_iter();
    let first = fitting.chain(held).min_by_key(|(_, message)| message.unread_place());
    if let Some((holder, message)) = first {
        if let Some(holder) = holder {
            // The model may see the steered message only after this call ends, so the call delivers it.
            writer.push(Event::MessageReturned { session: me, call: holder });
        }
        let ids = vec![message.id.clone()];
        writer.push(Event::MessageHanded {
            ids,
            member: session.name.clone(),
            session: me,
            call,
            method: DeliveryMethod::Pull,
        });
    } else if timeout_ms > 0 && in_turn.is_empty() && !writer.state.waits(me, call) {
        writer.push(Event::WaitStarted {
            session: me,
            call,
            from: wait.from,
            request: wait.request,
            timeout_ms,
        });
    }
    Ok(())
}

/// Returns the calls that steered messages into the running turn and have no proof that the model saw them. No wait begins while
/// there are any, because the model may see these messages only after the waiting call has ended.
fn steered_calls(
    writer: &Writer<'_>,
    session: SessionId,
    seen_now: &[(SessionId, CallId)],
) -> Vec<CallId> {
    let mut steered = writer.state.calls_in_flight_by(session, DeliveryMethod::Steer);
    steered.retain(|call| !seen_now.contains(&(session, *call)));
    steered
}

pub(in crate::bus::rules) fn end_wait(
    writer: &mut Writer<'_>,
    me: SessionId,
    call: CallId,
) -> Result<(), Refusal> {
    if !writer.state.in_flight_to(me, call).is_empty() {
        return Err(Refusal::AlreadyDelivered);
    }
    if writer.state.waits(me, call) {
        writer.push(Event::WaitEnded { session: me, call });
    }
    Ok(())
}
