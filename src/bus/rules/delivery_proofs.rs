//! Rules of proofs: which answers were written, and what is given back that was never shown.

use super::decision::Decision;
use super::event_writer::Writer;
use super::messages::{give_back, seen_call};
use super::refusal::Refusal;
use super::requests;
use crate::bus::event::{AnswerWritten, Event, ProvenClaim, Skip, UnheardClaim};
use crate::bus::state::{Delivery, Session, State};
use crate::domain::ids::{CallId, MessageId, RequestId, SessionId, TaskId};
use crate::domain::messaging::{DeliveryMethod, RequestStatus};

/// Writes that the answer of a call of this session has been written, as long as that matters.
pub(super) fn note_written(writer: &mut Writer<'_>, me: SessionId, call: CallId) {
    let state = writer.state;
    if state.holds(me, call) && !state.is_written(me, call) {
        writer.push(Event::AnswerWritten(AnswerWritten { session: me, call, skip: Skip }));
    }
}

/// Gives back what these calls of hooks were handed and have not said: they run no more.
pub(super) fn end_hooks(writer: &mut Writer<'_>, me: SessionId, calls: &[CallId]) {
    let unsaid = unsaid_by_hooks(writer.state, me);
    for call in calls.iter().filter(|call| unsaid.contains(call)) {
        give_back(writer, me, *call);
    }
}

/// Returns the calls of hooks that hold messages which they have not said, as far as is known.
pub fn unsaid_by_hooks(state: &State, session: SessionId) -> Vec<CallId> {
    let mut calls = state.calls_handed_by(session, DeliveryMethod::Hook);
    calls.retain(|call| !state.is_written(session, *call));
    calls
}

/// Hands the notice of a task's end to the call that brings its result to who assigned it: so the notice counts as seen when the
/// result does, and comes back when that is not shown.
pub(super) fn take_notice(
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
    // One that tells of other tasks, too, is not read with the result of one.
    let notice = notice.filter(|notice| notice.task.as_ref() == Some(id));
    let Some(notice) = notice else { return Ok(()) };
    if matches!(notice.delivery(&holder.name), Some(Delivery::Unread { .. })) {
        writer.push(Event::MessageHanded {
            ids: vec![notice.id.clone()],
            member: holder.name.clone(),
            session: me,
            call,
            way: DeliveryMethod::Piggyback,
        });
    }
    Ok(())
}

/// Writes on the answer of which call the claim of an agent hangs: of a new claim, or of one that it may not know of.
pub(super) fn hang(writer: &mut Writer<'_>, session: SessionId, call: CallId, id: &RequestId) {
    writer.push(Event::ClaimUnheard(UnheardClaim {
        session,
        call,
        request: id.clone(),
        skip: Skip,
    }));
}

/// Lets a claim hang on the answer of a later call that has claimed the same, unless the agent knows that it has it.
pub(super) fn hang_on_later(
    writer: &mut Writer<'_>,
    holder: &Session,
    call: CallId,
    id: &RequestId,
) {
    if let Some(before) = holder.unheard.get(id)
        && *before != call
        && !is_seen_now(writer, holder.id, *before)
    {
        hang(writer, holder.id, call, id);
    }
}

/// Says whether the same command proves the answer of a call.
fn is_seen_now(writer: &Writer<'_>, session: SessionId, call: CallId) -> bool {
    let mut seen_now = writer.events.iter().filter_map(seen_call);
    seen_now.any(|seen| seen == (session, call))
}

/// Writes that a session knows what it has claimed, as it writes in the thread of the request. That proves nothing else of the answer
/// on which the claim hangs.
pub(super) fn note_knows(writer: &mut Writer<'_>, me: &Session, thread: &MessageId) {
    let of_thread = |id: &RequestId| {
        let request = writer.state.request(id);
        request.is_some_and(|request| request.message == *thread)
    };
    let known = me.unheard.iter().find(|(id, _)| of_thread(id));
    if let Some((request, call)) = known
        && !is_seen_now(writer, me.id, *call)
    {
        writer.push(Event::ClaimKnown(ProvenClaim {
            session: me.id,
            request: request.clone(),
            skip: Skip,
        }));
    }
}

/// Says which claims of a session end that hang on the answer of a call.
#[derive(Clone, Copy)]
pub(super) enum Untold {
    /// All of them.
    All,
    /// Those of this call.
    Of(CallId),
    /// Those of this call, unless its answer was written.
    Unwritten(CallId),
}

impl Untold {
    /// Returns the requests that a session holds by such claims.
    fn of(self, holder: &Session) -> Vec<RequestId> {
        let ends = |by: &CallId| match self {
            Self::All => true,
            Self::Of(call) => *by == call,
            Self::Unwritten(call) => *by == call && !holder.written.contains(by),
        };
        let unheard = holder.unheard.iter().filter(|(_, by)| ends(by));
        unheard.map(|(id, _)| id.clone()).collect()
    }
}

/// Opens the requests again whose claims nobody was told of. That is a step of its own, behind the one that gives back what the call
/// was handed: one of the messages may be the request itself.
pub(super) fn end_untold(
    decision: &mut Decision<'_>,
    state: &State,
    session: SessionId,
    untold: Untold,
) -> Result<(), Refusal> {
    let ends = |holder: &Session| !untold.of(holder).is_empty();
    if !state.session(session).is_some_and(ends) {
        return Ok(());
    }
    decision.step(|writer| {
        let holder = writer.state.session(session);
        for id in holder.map(|holder| untold.of(holder)).unwrap_or_default() {
            reopen(writer, session, &id);
        }
        Ok(())
    })
}

/// Gives up a claim because the answer of this call did not come to its claimer. An agent's hangs on the call that the state names, or
/// on none; that of others on the call that asks.
pub(super) fn release(
    writer: &mut Writer<'_>,
    me: SessionId,
    (id, call): (&RequestId, CallId),
) -> Result<(), Refusal> {
    let holder = writer.session(me)?;
    if holder.owner.is_none() || holder.unheard.get(id) == Some(&call) {
        reopen(writer, me, id);
    }
    Ok(())
}

/// Opens a request again whose claim this session has made and never heard of.
fn reopen(writer: &mut Writer<'_>, me: SessionId, id: &RequestId) {
    let request = writer.state.request(id);
    let is_mine = request.is_some_and(|request| {
        let owner = request.owner.as_ref();
        request.status == RequestStatus::Claimed && owner.is_some_and(|owner| owner.session == me)
    });
    if is_mine {
        requests::reopen_as(writer, id, "never received the answer to its claim");
    }
}
