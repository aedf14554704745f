//! Unheard claims of agents: nothing proves that the agent got the answer of the claiming call. Until that answer is written, the
//! claim has the same deadline as the messages of the call. An agent that knows of its claim may work for hours in silence.

use crate::bus::event::{ProvenClaim, UnheardClaim};
use crate::bus::state::event_place::At;
use crate::bus::state::{Due, Session, State};
use crate::domain::ids::{CallId, RequestId, SessionId};
use crate::domain::messaging::RequestStatus;
use crate::domain::wait_times;

impl Session {
    /// Says whether a claim depends on the answer of this call.
    pub(in crate::bus) fn has_claim_by(&self, call: CallId) -> bool {
        self.unheard.values().any(|by| *by == call)
    }
}

impl State {
    /// Says whether a call holds messages or a claim without proof that its model has received them.
    pub fn holds(&self, session: SessionId, call: CallId) -> bool {
        let session = self.sessions.get(&session);
        session.is_some_and(|session| {
            session.in_flight.contains_key(&call) || session.has_claim_by(call)
        })
    }

    /// Says whether a session has claimed a request and may not know it.
    pub(in crate::bus) fn is_claim_unheard(&self, session: SessionId, request: &RequestId) -> bool {
        let session = self.sessions.get(&session);
        session.is_some_and(|session| session.unheard.contains_key(request))
    }

    pub(in crate::bus::state) fn claim_unheard(&mut self, unheard: &UnheardClaim, at: &At) {
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
        self.timers.start(Due::Requeue(*session, *call), at.tick.ms, wait_times::HANDED_MS);
        if let Some(before) = before {
            self.release_call(*session, before);
        }
    }

    /// Notes that a session knows of its claim. The messages of the claiming call stay in flight.
    pub(in crate::bus::state) fn claim_known(&mut self, known: &ProvenClaim) {
        let holder = self.sessions.get_mut(&known.session);
        if let Some(call) = holder.and_then(|holder| holder.unheard.remove(&known.request)) {
            self.release_call(known.session, call);
        }
    }

    /// Ends the unheard claim of a request that was answered or reopened.
    pub(in crate::bus::state) fn end_unheard(&mut self, request: &RequestId) {
        let owner = self.requests.get(request).and_then(|one| one.owner.clone());
        let Some(session) = owner.map(|owner| owner.session) else {
            return;
        };
        let holder = self.sessions.get_mut(&session);
        if let Some(call) = holder.and_then(|holder| holder.unheard.remove(request)) {
            self.release_call(session, call);
        }
    }

    /// Stops the timer of a call that holds nothing any more, or only a claim whose answer was written. Forgets the call in the
    /// first case.
    pub(in crate::bus::state) fn release_call(&mut self, session: SessionId, call: CallId) {
        let Some(holder) = self.sessions.get_mut(&session) else {
            return;
        };
        if holder.in_flight.contains_key(&call) {
            return;
        }
        let has_claim = holder.has_claim_by(call);
        if !has_claim || holder.written.contains(&call) {
            self.timers.stop(&Due::Requeue(session, call));
        }
        if !has_claim {
            holder.written.remove(&call);
            holder.held_since.remove(&call);
        }
    }
}
