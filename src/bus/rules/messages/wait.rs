//! Waiting for a message: a fitting unread message is delivered at once, else the call waits.

use crate::bus::event::Event;
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::{AwaitedReply, Delivery, Session, State, Wait};
use crate::domain::ids::{CallId, SessionId};
use crate::domain::messaging::{DeliveryMethod, chain_of_waits};

pub(in crate::bus::rules) fn wait(
    writer: &mut Writer<'_>,
    me: SessionId,
    wait: Wait,
    timeout_ms: u64,
) -> Result<(), Refusal> {
    let session = writer.session(me)?;
    let call = wait.call;
    if !writer.state.in_flight_to(me, call).is_empty() {
        return Ok(());
    }
    let seen_now: Vec<_> = writer.seen_calls().collect();
    let fitting = writer.state.unread(&session.name).find(|message| {
        let again = match message.delivery(&session.name) {
            Some(Delivery::Unread { last: Some(last) }) => seen_now.contains(&last),
            _ => false,
        };
        !again && wait.fits(writer.state, message)
    });
    let in_turn = steered_calls(writer, me, &seen_now);
    let held = in_turn.iter().flat_map(|call| {
        let held = writer.state.in_flight_to(me, *call).into_iter();
        held.map(|message| (Some(*call), message))
    });
    let held = held.filter(|(_, message)| wait.fits(writer.state, message));
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
        writer.end_other_waits(message, &session.name, call);
        return Ok(());
    }
    if wait.from.as_ref() == Some(&session.name) {
        return Err(Refusal::WaitForYourself);
    }
    check_asked(writer.state, session, &wait)?;
    check_open(writer.state, session, &wait)?;
    if timeout_ms > 0 && in_turn.is_empty() && !writer.state.waits(me, call) {
        check_circle(writer.state, session, &wait)?;
        writer.push(Event::WaitStarted {
            session: me,
            call,
            from: wait.from,
            request: wait.request,
            reply_to: wait.reply_to,
            timeout_ms,
        });
    }
    Ok(())
}

/// Refuses to wait for the answer to a message that is not the waiting member's own. An answer that has come is found without it.
fn check_asked(state: &State, me: &Session, wait: &Wait) -> Result<(), Refusal> {
    let Some(id) = &wait.reply_to else {
        return Ok(());
    };
    match state.message(id).filter(|message| message.is_visible_to(&me.name)) {
        None => Err(Refusal::UnknownMessage { id: id.clone() }),
        Some(message) if message.from.member() == Some(&me.name) => Ok(()),
        Some(_) => Err(Refusal::NotYourQuestion { id: id.clone() }),
    }
}

/// Refuses to wait for an answer that was given before, or that nobody will give.
fn check_open(state: &State, me: &Session, wait: &Wait) -> Result<(), Refusal> {
    let Some(id) = &wait.reply_to else {
        return Ok(());
    };
    match state.awaited_reply(&me.name, wait, &[]) {
        AwaitedReply::Open => Ok(()),
        AwaitedReply::Given(answer) => Err(Refusal::AnsweredBefore { answer: answer.id.clone() }),
        AwaitedReply::Never => Err(Refusal::NeverAnswered { id: id.clone() }),
    }
}

/// Refuses to wait for somebody who waits, directly or through others, for the waiting member alone: none of them would go on.
fn check_circle(state: &State, me: &Session, wait: &Wait) -> Result<(), Refusal> {
    let whom = state.source_of(wait);
    // Whoever has claimed the request waits for what its requester says of it.
    let whom = whom.filter(|whom| **whom != me.name);
    let awaited = |name| state.waits_for_one(name).map(|(_, whom)| whom);
    let chain = whom.and_then(|whom| chain_of_waits(whom, &me.name, awaited));
    let Some(chain) = chain else {
        return Ok(());
    };
    let mut waits = chain.last().into_iter().flat_map(|last| state.waits_for_one(last));
    let of_last = waits.find(|(_, whom)| **whom == me.name);
    let asked = of_last.and_then(|(wait, _)| {
        let request = || wait.request.as_ref().map(ToString::to_string);
        wait.reply_to.as_ref().map(ToString::to_string).or_else(request)
    });
    Err(Refusal::Circle { chain: chain.into_iter().cloned().collect(), asked })
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
