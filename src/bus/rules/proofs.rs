//! Rules of proofs: which answers were written, and what is given back that was never shown.

use super::messages::give_back;
use super::refusal::Refusal;
use super::requests;
use super::writer::Writer;
use crate::bus::event::{Event, Skip, Written};
use crate::bus::state::{Delivery, State};
use crate::domain::id::{CallId, RequestId, SessionId, TaskId};
use crate::domain::message::Way;
use crate::domain::request::RequestStatus;

/// Writes that the answer of a call of this session has been written, as long as that matters.
pub(super) fn note_written(writer: &mut Writer<'_>, me: SessionId, call: CallId) {
    let state = writer.state;
    if !state.handed_to(me, call).is_empty() && !state.is_written(me, call) {
        writer.push(Event::AnswerWritten(Written {
            session: me,
            call,
            skip: Skip,
        }));
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
    let mut calls = state.calls_handed_by(session, Way::Hook);
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
    let Some(notice) = notice else { return Ok(()) };
    if matches!(notice.delivery(&holder.name), Some(Delivery::Unread { .. })) {
        writer.push(Event::MessageHanded {
            ids: vec![notice.id.clone()],
            member: holder.name.clone(),
            session: me,
            call,
            way: Way::Piggyback,
        });
    }
    Ok(())
}

/// Opens a request again whose claim this session has made and never heard of.
pub(super) fn release(writer: &mut Writer<'_>, me: SessionId, id: &RequestId) {
    let request = writer.state.request(id);
    let is_mine = request.is_some_and(|request| {
        let owner = request.owner.as_ref();
        request.status == RequestStatus::Claimed && owner.is_some_and(|owner| owner.session == me)
    });
    if is_mine {
        requests::reopen_as(writer, id, "was not told that it had won it");
    }
}
