//! Claims of agents that hang on the answer of a call. They have the timer of what a call was handed until that answer is written:
//! who was told may work for hours without a word.

use super::apply::At;
use super::{Due, Session, State};
use crate::bus::event::{ProvenClaim, UnheardClaim};
use crate::domain::ids::{CallId, RequestId, SessionId};
use crate::domain::messaging::RequestStatus;
use crate::domain::timeouts;

impl Session {
    /// Says whether a claim hangs on the answer of this call.
    pub fn hangs_on(&self, call: CallId) -> bool {
        self.unheard.values().any(|by| *by == call)
    }
}

impl State {
    /// Says whether a call holds messages or a claim, of which nothing proves that they have come to its model.
    pub fn holds(&self, session: SessionId, call: CallId) -> bool {
        let session = self.sessions.get(&session);
        session.is_some_and(|session| session.handed.contains_key(&call) || session.hangs_on(call))
    }

    /// Says whether a session holds a request and may not know it.
    pub fn may_not_know(&self, session: SessionId, request: &RequestId) -> bool {
        let session = self.sessions.get(&session);
        session.is_some_and(|session| session.unheard.contains_key(request))
    }

    pub(super) fn claim_unheard(&mut self, unheard: &UnheardClaim, at: &At) {
        let UnheardClaim { session, call, request, .. } = unheard;
        let is_held = self.requests.get(request).is_some_and(|request| {
            let owner = request.owner.as_ref();
            let is_owner = owner.is_some_and(|owner| owner.session == *session);
            is_owner && request.status == RequestStatus::Claimed
        });
        let Some(holder) = self.sessions.get_mut(session).filter(|_| is_held) else {
            return;
        };
        let before = holder.unheard.insert(request.clone(), *call);
        holder.held_since.insert(*call, at.tick.ms);
        self.timers.start(Due::Handed(*session, *call), at.tick.ms, timeouts::HANDED_MS);
        if let Some(before) = before {
            self.let_go(*session, before);
        }
    }

    /// Notes that a session knows of its claim. What the call was handed by which it claimed stays as it is.
    pub(super) fn claim_known(&mut self, known: &ProvenClaim) {
        let holder = self.sessions.get_mut(&known.session);
        if let Some(call) = holder.and_then(|holder| holder.unheard.remove(&known.request)) {
            self.let_go(known.session, call);
        }
    }

    /// Notes that nothing hangs on an answer any more about this request: it is answered, or open.
    pub(super) fn end_unheard(&mut self, request: &RequestId) {
        let owner = self.requests.get(request).and_then(|one| one.owner.clone());
        let Some(session) = owner.map(|owner| owner.session) else {
            return;
        };
        let holder = self.sessions.get_mut(&session);
        if let Some(call) = holder.and_then(|holder| holder.unheard.remove(request)) {
            self.let_go(session, call);
        }
    }

    /// Stops the timer of a call on which nothing hangs any more, or only a claim whose answer was written; and forgets in the
    /// first case that it was.
    pub(super) fn let_go(&mut self, session: SessionId, call: CallId) {
        let Some(holder) = self.sessions.get_mut(&session) else {
            return;
        };
        if holder.handed.contains_key(&call) {
            return;
        }
        let hangs = holder.hangs_on(call);
        if !hangs || holder.written.contains(&call) {
            self.timers.stop(&Due::Handed(session, call));
        }
        if !hangs {
            holder.written.remove(&call);
            holder.held_since.remove(&call);
        }
    }
}
