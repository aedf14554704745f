//! When the leases of claims run: not in the turns of an agent.

use crate::bus::state::event_place::At;
use crate::bus::state::{Due, Lease, Session, State};
use crate::domain::ids::{RequestId, SessionId};
use crate::domain::member::Activity;
use crate::domain::messaging::RequestStatus;

impl Session {
    fn is_in_turn(&self) -> bool {
        let works = matches!(self.activity, Activity::Starting | Activity::Running);
        self.owner.is_some() && works
    }
}

impl State {
    /// Returns the length of the shortest lease of a session's claims, in milliseconds.
    pub(in crate::bus) fn shortest_lease_ms(&self, session: SessionId) -> Option<u64> {
        self.claimed_by(session).filter_map(|held| Some(held.lease?.ms)).min()
    }

    /// Lets the lease of a claim run until the reminder of its owner: for its whole time, or for what is left of that. Not in a turn of
    /// its owner.
    pub(in crate::bus::state) fn lease_runs(
        &mut self,
        id: &RequestId,
        at: &At,
        left_ms: Option<u64>,
    ) {
        let due = Due::Lease(id.clone());
        let claimed = self.request(id).filter(|one| one.status == RequestStatus::Claimed);
        let owner = claimed.and_then(|one| self.session(one.owner.as_ref()?.session));
        let (sign_ms, in_turn) =
            owner.map_or((0, false), |owner| (owner.last_ms, owner.is_in_turn()));
        let Some(lease) = claimed.and_then(|one| one.lease) else {
            self.timers.stop(&due);
            return;
        };
        let runs_ms = left_ms.unwrap_or(lease.until_reminder_ms());
        self.change_request(id, |request| {
            request.lease = Some(Lease { sign_ms, reminded: false, ..lease });
        });
        if in_turn {
            self.timers.stop(&due);
        } else {
            self.timers.start(due, at.tick.ms, runs_ms);
        }
    }

    /// Stops the leases of an agent that begins a turn, and lets them run anew after it.
    pub(in crate::bus::state) fn turn_changed(&mut self, session: SessionId, at: &At) {
        let Some(owner) = self.session(session) else {
            return;
        };
        let in_turn = owner.is_in_turn();
        let held: Vec<_> = self.claimed_by(session).map(|held| held.id.clone()).collect();
        for id in held {
            if in_turn == self.timers.runs(&Due::Lease(id.clone())) {
                self.lease_runs(&id, at, None);
            }
        }
    }

    /// Notes that the owner was reminded: the rest of the lease runs.
    pub(in crate::bus::state) fn owner_reminded(&mut self, id: &RequestId, at: &At) {
        let due = Due::Lease(id.clone());
        let claimed = self.request(id).filter(|one| one.status == RequestStatus::Claimed);
        let Some(lease) = claimed.and_then(|one| one.lease) else {
            self.timers.stop(&due);
            return;
        };
        self.change_request(id, |request| {
            request.lease = Some(Lease { reminded: true, ..lease });
        });
        self.timers.start(due, at.tick.ms, lease.after_reminder_ms());
    }
}
