//! When the leases of claims run: not in the turns of an agent.

use crate::bus::state::event_place::At;
use crate::bus::state::{Due, Lease, Request, Session, State};
use crate::domain::ids::{RequestId, SessionId};
use crate::domain::member::{Activity, MemberKind};
use crate::domain::messaging::RequestStatus;
use crate::domain::time::Now;

impl Session {
    /// Returns when its owner last gave a sign that keeps its claims, in wall time.
    pub(in crate::bus) fn sign_ms(&self) -> i64 {
        self.called_ms.unwrap_or(self.last_ms)
    }

    /// Notes that the model of an orchestrator has called.
    pub(in crate::bus::state) fn note_call(&mut self, at: &At) {
        if self.kind == MemberKind::Orchestrator {
            self.called_ms = Some(at.wall_ms());
        }
    }

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

    /// Returns when the claim of a request ends if its owner gives no further sign, in wall time; none while its lease does not run.
    pub fn lease_ends_ms(&self, request: &Request, now: Now) -> Option<i64> {
        let lease = request.lease.filter(|_| request.status == RequestStatus::Claimed)?;
        let owner = self.session(request.owner.as_ref()?.session)?;
        let runs_out_ms = self.due_at_ms(&Due::Lease(request.id.clone()), now)?;
        if !owner.waits.is_empty() {
            return None;
        }
        let by_sign_ms = owner.sign_ms().saturating_add_unsigned(lease.ms);
        let after_ms = if lease.reminded { 0 } else { lease.after_reminder_ms() };
        // Whoever finds it due looks for a sign since it began to run.
        let has_signed = owner.sign_ms() != lease.sign_ms && by_sign_ms > now.wall_ms;
        let runs_out_ms = runs_out_ms.saturating_add_unsigned(after_ms);
        Some(if has_signed { by_sign_ms } else { runs_out_ms })
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
            owner.map_or((0, false), |owner| (owner.sign_ms(), owner.is_in_turn()));
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
