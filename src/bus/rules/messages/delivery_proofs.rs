//! Proofs that a model has seen its messages. Messages without proof are requeued.

use crate::bus::event::{AnswerWritten, Event, Skip};
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::{Delivery, Message, Session, State};
use crate::domain::ids::{CallId, MessageId, SessionId, TaskId};
use crate::domain::messaging::DeliveryMethod;
use crate::domain::name::Name;

/// Writes that the model has seen the answers of earlier calls of this session.
pub(in crate::bus::rules) fn note_received(
    writer: &mut Writer<'_>,
    me: SessionId,
    received: &[CallId],
) {
    for call in received {
        if holds_or_held(writer.state, me, *call) {
            writer.push(Event::MessageSeen { session: me, call: *call });
        }
    }
}

/// Writes that the model has seen a message of which it names the id, if nothing else could prove that: one that was pushed into its
/// session, or one that was alone in a call and is unread again.
pub(in crate::bus::rules) fn note_named(writer: &mut Writer<'_>, me: SessionId, id: &MessageId) {
    note_by_name(writer, me, id, Naming::Elsewhere);
}

/// Writes that the model has seen a message that it answers, if that is not the answer of a call, which its next call proves. Other
/// methods would prove it only at the end of the turn, and not at all if the process of the agent ends before.
pub(in crate::bus::rules) fn note_answered(writer: &mut Writer<'_>, me: SessionId, id: &MessageId) {
    note_by_name(writer, me, id, Naming::InAnswer);
}

/// How a member names a message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Naming {
    /// It answers it.
    InAnswer,
    Elsewhere,
}

fn note_by_name(writer: &mut Writer<'_>, me: SessionId, id: &MessageId, naming: Naming) {
    let holder = writer.state.session(me);
    let call = holder.and_then(|holder| call_proven_by(writer.state, holder, id, naming));
    if let Some(call) = call
        && !writer.seen_calls().any(|seen| seen == (me, call))
    {
        writer.push(Event::MessageSeen { session: me, call });
    }
}

/// Returns the call of this session that a name of the message proves, because it carries nothing else, or nothing else that the member
/// has not answered as well.
fn call_proven_by(
    state: &State,
    holder: &Session,
    id: &MessageId,
    naming: Naming,
) -> Option<CallId> {
    let is_provable = |method: DeliveryMethod| match naming {
        Naming::InAnswer => !method.is_by_answer(),
        Naming::Elsewhere => method == DeliveryMethod::Channel,
    };
    let call = match state.message(id)?.delivery(&holder.name)? {
        Delivery::InFlight { session, call, method }
            if session == holder.id && is_provable(method) =>
        {
            call
        }
        Delivery::Unread { last: Some((session, call)) } if session == holder.id => call,
        _ => return None,
    };
    let of_call = |message: &&Message| match message.delivery(&holder.name) {
        Some(Delivery::Unread { last }) => last == Some((holder.id, call)),
        _ => false,
    };
    let others = state.in_flight_to(holder.id, call).into_iter();
    let others = others.chain(state.returned(&holder.name).filter(of_call));
    let mut others = others.filter(|message| message.id != *id);
    let is_answered =
        |id: &MessageId| naming == Naming::InAnswer && has_answered(state, &holder.name, id);
    others.all(|message| is_answered(&message.id)).then_some(call)
}

/// Says whether a member has answered a message.
fn has_answered(state: &State, name: &Name, id: &MessageId) -> bool {
    let mut all = state.messages();
    all.any(|answer| answer.reply_to.as_ref() == Some(id) && answer.from.member() == Some(name))
}

/// Says whether the bus knows a proof of a message by its id alone: see [`note_named`].
pub(in crate::bus) fn is_proven_by_name(state: &State, me: SessionId, id: &MessageId) -> bool {
    let holder = state.session(me);
    holder.is_some_and(|holder| call_proven_by(state, holder, id, Naming::Elsewhere).is_some())
}

/// Says whether a call holds messages or a claim, or held messages that were requeued and not delivered since.
fn holds_or_held(state: &State, session: SessionId, call: CallId) -> bool {
    let Some(holder) = state.session(session) else {
        return false;
    };
    let requeued = |message: &Message| matches!(message.delivery(&holder.name), Some(Delivery::Unread { last }) if last == Some((session, call)));
    state.holds(session, call) || state.returned(&holder.name).any(requeued)
}

pub(in crate::bus::rules) fn settle(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
    call: CallId,
    seen: bool,
) -> Result<(), Refusal> {
    writer.acts_for(me, session)?;
    if seen {
        note_received(writer, session, &[call]);
    } else if !writer.state.in_flight_to(session, call).is_empty() {
        writer.requeue(session, call);
    }
    Ok(())
}

/// Ends the waits of an agent whose turn is over, and requeues the messages of its calls that nothing proves to be seen.
pub(in crate::bus::rules) fn end_calls(
    writer: &mut Writer<'_>,
    me: SessionId,
    session: SessionId,
) -> Result<(), Refusal> {
    let agent = writer.acts_for(me, session)?;
    writer.ignore_waits_of(session);
    for wait in &agent.waits {
        writer.push(Event::WaitEnded { session, call: wait.call });
    }
    let is_by_tool = |id: &MessageId| {
        let delivery = writer.state.message(id)?.delivery(&agent.name)?;
        matches!(delivery, Delivery::InFlight { method, .. } if method.is_by_answer()).then_some(())
    };
    let calls = agent.in_flight.iter();
    let by_tools = calls.filter(|(_, ids)| ids.iter().any(|id| is_by_tool(id).is_some()));
    let by_tools: Vec<_> = by_tools.map(|(call, _)| *call).collect();
    for call in by_tools {
        writer.requeue(session, call);
    }
    Ok(())
}

/// Writes that the answer of a call has been written to its client, if the call holds anything.
pub(in crate::bus::rules) fn note_written(writer: &mut Writer<'_>, me: SessionId, call: CallId) {
    let state = writer.state;
    if state.holds(me, call) && !state.is_written(me, call) {
        writer.push(Event::AnswerWritten(AnswerWritten { session: me, call, skip: Skip }));
    }
}

/// Requeues the messages of hooks that have ended without printing them.
pub(in crate::bus::rules) fn end_hooks(writer: &mut Writer<'_>, me: SessionId, calls: &[CallId]) {
    let unprinted = unprinted_by_hooks(writer.state, me);
    for call in calls.iter().filter(|call| unprinted.contains(call)) {
        writer.requeue(me, *call);
    }
}

/// Returns the hook calls that hold messages and have not reported to have printed them.
pub(in crate::bus) fn unprinted_by_hooks(state: &State, session: SessionId) -> Vec<CallId> {
    let mut calls = state.calls_in_flight_by(session, DeliveryMethod::Hook);
    calls.retain(|call| !state.is_written(session, *call));
    calls
}

/// Delivers the notice of a task's end with the call that brings the result to the assigner. The notice then counts as seen when
/// the result does, and is requeued otherwise.
pub(in crate::bus::rules) fn take_notice(
    writer: &mut Writer<'_>,
    me: SessionId,
    call: CallId,
    id: &TaskId,
) -> Result<(), Refusal> {
    let state = writer.state;
    let holder = writer.session(me)?;
    let task = state.task(id);
    let task = task.ok_or_else(|| Refusal::UnknownTask { id: id.clone() })?;
    let notice = task.notice.as_ref().filter(|_| task.by == holder.name);
    let notice = notice.and_then(|notice| state.message(notice));
    // The result of one task does not stand for a notice about several.
    let notice = notice.filter(|notice| notice.task.as_ref() == Some(id));
    let Some(notice) = notice else { return Ok(()) };
    let is_free = match notice.delivery(&holder.name) {
        Some(Delivery::Unread { .. }) => true,
        // The result says all of it, so it need not be named any more.
        Some(Delivery::InFlight { session, call, method: DeliveryMethod::Channel }) => {
            writer.push(Event::MessageReturned { session, call });
            true
        }
        _ => false,
    };
    if is_free {
        writer.push(Event::MessageHanded {
            ids: vec![notice.id.clone()],
            member: holder.name.clone(),
            session: me,
            call,
            method: DeliveryMethod::Piggyback,
        });
    }
    Ok(())
}
