//! Rules of proofs: which answers were written.

use super::writer::Writer;
use crate::bus::event::{Event, Skip, Written};
use crate::domain::id::{CallId, SessionId};

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
