//! Claims whose claimer may not have been told of them: they depend on the answer of the call that claimed, and end with it.

use super::reopen::reopen_as;
use crate::bus::event::{Event, ProvenClaim, Skip, UnheardClaim};
use crate::bus::rules::decision::Decision;
use crate::bus::rules::event_writer::Writer;
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::{Session, State};
use crate::domain::ids::{CallId, MessageId, RequestId, SessionId};
use crate::domain::request::RequestStatus;

/// Writes on the answer of which call the claim of an agent hangs: of a new claim, or of one that it may not know of.
pub(in crate::bus::rules) fn hang(
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

/// Lets a claim hang on the answer of a later call that has claimed the same, unless the agent knows that it has it.
pub(in crate::bus::rules) fn hang_on_later(
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
    let mut seen_now = writer.seen_calls();
    seen_now.any(|seen| seen == (session, call))
}

/// Writes that a session knows what it has claimed, as it writes in the thread of the request. That proves nothing else of the answer
/// on which the claim hangs.
pub(in crate::bus::rules) fn note_knows(writer: &mut Writer<'_>, me: &Session, thread: &MessageId) {
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
pub(in crate::bus::rules) enum Untold {
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
pub(in crate::bus::rules) fn end_untold(
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

/// Opens a request again whose claim this session has made and never heard of.
fn reopen(writer: &mut Writer<'_>, me: SessionId, id: &RequestId) {
    let request = writer.state.request(id);
    let is_mine = request.is_some_and(|request| {
        let owner = request.owner.as_ref();
        request.status == RequestStatus::Claimed && owner.is_some_and(|owner| owner.session == me)
    });
    if is_mine {
        reopen_as(writer, id, "was not told that it had won it");
    }
}
