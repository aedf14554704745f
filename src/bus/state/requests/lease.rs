//! The lease of a claim: how long it lasts without a sign of its owner.
//!
//! Two thirds into that time the owner is reminded. It does not run in the turns of an agent. Other signs write nothing: whoever finds the
//! lease due looks for one.

use serde::{Deserialize, Serialize};

use crate::bus::state::event_place::At;
use crate::bus::state::{Due, Session, State};
use crate::domain::ids::{RequestId, SessionId};
use crate::domain::member::Activity;
use crate::domain::messaging::RequestStatus;

/// The lease of the claims of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Its length, in milliseconds.
    pub ms: u64,
    /// The owner's last sign when the lease began to run, in wall time.
    #[serde(default)]
    pub sign_ms: i64,
    /// Whether the owner was reminded since its last sign.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reminded: bool,
}

impl Lease {
    pub(in crate::bus) fn of(ms: u64) -> Self {
        Self { ms, sign_ms: 0, reminded: false }
    }

    /// Returns the milliseconds from the owner's last sign to its reminder.
    pub(in crate::bus) fn until_reminder_ms(self) -> u64 {
        self.ms - self.after_reminder_ms()
    }

    /// Returns the milliseconds from the reminder to the end.
    pub(in crate::bus) fn after_reminder_ms(self) -> u64 {
        self.ms / 3
    }

    /// Returns the milliseconds that are left until the reminder of an owner that has given a sign since the lease began to run.
    ///
    /// Signs are compared in wall time, for their difference alone: a clock that was set costs the owner a reminder at most, as the
    /// lease runs in the machine's own time.
    pub(in crate::bus) fn left_ms(self, owner: &Session, now_ms: i64) -> Option<u64> {
        if !owner.waits.is_empty() {
            return Some(self.until_reminder_ms());
        }
        let silent_ms = u64::try_from(now_ms.saturating_sub(owner.last_ms)).unwrap_or_default();
        let left_ms = self.until_reminder_ms().saturating_sub(silent_ms);
        (owner.last_ms != self.sign_ms && left_ms > 0).then_some(left_ms)
    }
}

impl Session {
    fn is_in_turn(&self) -> bool {
        let works = matches!(self.activity, Activity::Starting | Activity::Running);
        self.owner.is_some() && works
    }
}

impl State {
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
