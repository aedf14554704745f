//! The lease of a claim: how long it lasts without a sign of its owner.
//!
//! Two thirds into that time the owner is reminded. A sign of its owner writes nothing: whoever finds the lease due looks for one.

use serde::{Deserialize, Serialize};

use crate::bus::state::{Due, Session, State};
use crate::domain::ids::RequestId;
use crate::domain::member::Activity;
use crate::domain::time::Now;

/// The lease of the claims of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Its length, in milliseconds.
    pub ms: u64,
    /// Whether the owner was reminded since its last sign.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reminded: bool,
}

impl Lease {
    pub(in crate::bus) fn of(ms: u64) -> Self {
        Self { ms, reminded: false }
    }

    /// Returns the milliseconds from the owner's last sign to its reminder.
    pub(in crate::bus) fn until_reminder_ms(self) -> u64 {
        self.ms - self.after_reminder_ms()
    }

    /// Returns the milliseconds from the reminder to the end.
    pub(in crate::bus) fn after_reminder_ms(self) -> u64 {
        self.ms / 3
    }
}

impl Session {
    /// Returns the milliseconds since the session last gave a sign: none, if its model is in a turn or waits for a message. In wall
    /// time: a clock that was set ahead costs the owner a reminder at most, as the lease itself runs in the machine's own time.
    pub(in crate::bus) fn silent_ms(&self, now: Now) -> u64 {
        let is_agent = self.owner.is_some();
        let works = is_agent && matches!(self.activity, Activity::Starting | Activity::Running);
        if works || !self.waits.is_empty() {
            return 0;
        }
        u64::try_from(now.wall_ms.saturating_sub(self.last_ms)).unwrap_or_default()
    }
}

impl State {
    /// Lets the lease of a claim run until the reminder of its owner: for its whole time, or for what is left of that.
    pub(in crate::bus::state) fn lease_runs(
        &mut self,
        id: &RequestId,
        from_ms: u64,
        left_ms: Option<u64>,
    ) {
        let mut runs_ms = None;
        self.change_request(id, |request| {
            if let Some(lease) = &mut request.lease {
                lease.reminded = false;
                runs_ms = Some(left_ms.unwrap_or(lease.until_reminder_ms()));
            }
        });
        if let Some(ms) = runs_ms {
            self.timers.start(Due::Lease(id.clone()), from_ms, ms);
        }
    }

    /// Notes that the owner was reminded: the rest of the lease runs.
    pub(in crate::bus::state) fn owner_reminded(&mut self, id: &RequestId, from_ms: u64) {
        let mut rest_ms = None;
        self.change_request(id, |request| {
            if let Some(lease) = &mut request.lease {
                lease.reminded = true;
                rest_ms = Some(lease.after_reminder_ms());
            }
        });
        match rest_ms {
            Some(ms) => self.timers.start(Due::Lease(id.clone()), from_ms, ms),
            None => self.timers.stop(&Due::Lease(id.clone())),
        }
    }

    /// Returns the milliseconds that are left of the lease of a claim, unless its owner gives a sign.
    pub fn lease_left_ms(&self, id: &RequestId, now_ms: u64) -> Option<u64> {
        let due = Due::Lease(id.clone());
        let lease = self.request(id)?.lease.filter(|_| self.timers.runs(&due))?;
        let rest_ms = if lease.reminded { 0 } else { lease.after_reminder_ms() };
        Some(self.timers.left_ms(&due, now_ms).saturating_add(rest_ms))
    }
}
