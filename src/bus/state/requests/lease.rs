//! The lease of a claim: how long it lasts without a sign of its owner.
//!
//! Two thirds into that time the owner is reminded. Signs of the owner write nothing: whoever finds the lease due looks for one.

use serde::{Deserialize, Serialize};

use crate::bus::state::Session;

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
    /// Signs are compared in wall time, and the lease runs in the machine's own time. A sign that seems older than that was given before a
    /// clock was set, or nobody has looked for long: the owner gets the whole time once more.
    pub(in crate::bus) fn left_ms(self, owner: &Session, now_ms: i64) -> Option<u64> {
        if !owner.waits.is_empty() {
            return Some(self.until_reminder_ms());
        }
        let silent_ms = u64::try_from(now_ms.saturating_sub(owner.sign_ms())).unwrap_or_default();
        let left_ms =
            self.until_reminder_ms().checked_sub(silent_ms).filter(|left_ms| *left_ms > 0);
        (owner.sign_ms() != self.sign_ms).then_some(left_ms.unwrap_or(self.until_reminder_ms()))
    }
}
