//! Unheard claims: the claimer may not know of them, because nothing proves that it got the answer of the claiming call.
//!
//! Such a claim depends on that answer. The request is reopened if the answer cannot arrive any more.

use super::reopen::{Reopening, reopen_as};
use crate::bus::event::{Event, ProvenClaim, Skip, UnheardClaim};
use crate::bus::rules::decision::Decision;
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::{Session, State};
use crate::domain::ids::{CallId, MessageId, RequestId, SessionId};
use crate::domain::messaging::RequestStatus;

/// Writes that an agent's claim depends on the answer of this call.
pub(in crate::bus::rules) fn note_unheard(
    writer: &mut Writer<'_>,
    session: SessionId,
    call: CallId,
    id: &RequestId,
) {
    writer.push(Event::ClaimUnheard(UnheardClaim {
        session,
        call,
        request: id.clone(),
        skip: Skip,
    }));
}

/// Makes a claim depend on a later call that claims the same request, unless the agent knows of its claim.
pub(in crate::bus::rules) fn note_unheard_again(
    writer: &mut Writer<'_>,
    holder: &Session,
    call: CallId,
    id: &RequestId,
) {
    if let Some(before) = holder.unheard.get(id)
        && *before != call
        && !is_seen_now(writer, holder.id, *before)
    {
        note_unheard(writer, holder.id, call, id);
    }
}

/// Says whether this command proves that the answer of a call was read.
fn is_seen_now(writer: &Writer<'_>, session: SessionId, call: CallId) -> bool {
    let mut seen_now = writer.seen_calls();
    seen_now.any(|seen| seen == (session, call))
}

/// Writes that a session knows of its claim, because the answer to it was written and the session writes in the thread of the request.
/// Without that answer it may know the thread alone. This proves nothing else in the answer of the claiming call.
pub(in crate::bus::rules) fn note_known(writer: &mut Writer<'_>, me: &Session, thread: &MessageId) {
    let of_thread = |id: &RequestId| {
        let request = writer.state.request(id);
        request.is_some_and(|request| request.message == *thread)
    };
    let known = me.unheard.iter().find(|(id, _)| of_thread(id));
    if let Some((request, call)) = known
        && me.written.contains(call)
        && !is_seen_now(writer, me.id, *call)
    {
        writer.push(Event::ClaimKnown(ProvenClaim {
            session: me.id,
            request: request.clone(),
            skip: Skip,
        }));
    }
}

/// The unheard claims of a session that end.
#[derive(Clone, Copy)]
pub(in crate::bus::rules) enum Unheard {
    All,
    /// Those of this call.
    Of(CallId),
    /// Those of this call, unless its answer was written.
    Unwritten(CallId),
}

impl Unheard {
    /// Returns the requests of these claims.
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

/// Reopens the requests of unheard claims. This is a step of its own, after the one that requeues the messages of the call: one of
/// them may be the request itself.
pub(in crate::bus::rules) fn end_unheard(
    decision: &mut Decision<'_>,
    state: &State,
    session: SessionId,
    ending: Unheard,
) -> Result<(), Refusal> {
    let ends = |holder: &Session| !ending.of(holder).is_empty();
    if !state.session(session).is_some_and(ends) {
        return Ok(());
    }
    decision.step(|writer| {
        let holder = writer.state.session(session);
        for id in holder.map(|holder| ending.of(holder)).unwrap_or_default() {
            reopen(writer, session, &id);
        }
        Ok(())
    })
}

/// Releases a claim because its claimer did not get the answer of this call. An agent's claim is released only if the state says
/// that it depends on this call.
pub(in crate::bus::rules) fn release(
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

/// Reopens a request whose claim by this session is unheard.
fn reopen(writer: &mut Writer<'_>, me: SessionId, id: &RequestId) {
    let request = writer.state.request(id);
    let is_mine = request.is_some_and(|request| {
        let owner = request.owner.as_ref();
        request.status == RequestStatus::Claimed && owner.is_some_and(|owner| owner.session == me)
    });
    if is_mine {
        let how = "may not have received the answer to its claim";
        reopen_as(writer, id, how, Reopening::default());
    }
}
