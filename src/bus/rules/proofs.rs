//! Rules of proofs: which answers were written, and what is given back that was never shown.

use super::messages::give_back;
use super::writer::Writer;
use crate::bus::event::{Event, Skip, Written};
use crate::bus::state::State;
use crate::domain::id::{CallId, SessionId};
use crate::domain::message::Way;

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
