//! Names without a session: their mail waits for the next session of that name.

use crate::bus::state::{Due, State, Watch};
use crate::domain::limits;
use crate::domain::name::Name;
use crate::domain::time::Now;
use crate::domain::wait_times;

/// The expiry of mail that does not wait.
const AT_ONCE: i64 = 0;

impl State {
    /// Says whether an absent name's mail waits for its full time instead of being abandoned at once.
    pub(in crate::bus) fn has_waited(&self, name: &Name) -> bool {
        self.absent.get(name).is_some_and(|until| *until > AT_ONCE)
    }

    /// Returns the earlier of a wall time and the latest time in the log: something is old only if it is old by both.
    pub(in crate::bus) fn seen_ms(&self, wall_ms: i64) -> i64 {
        wall_ms.min(self.watch.wall_ms())
    }

    /// Returns a time whose wall time is not before the latest one in the log.
    pub(in crate::bus) fn not_before_log(&self, now: Now) -> Now {
        Now { wall_ms: now.wall_ms.max(self.watch.wall_ms()), ..now }
    }

    /// Returns the earlier of the wall time and the latest time in the log plus the machine's running time since: a clock that was
    /// set ahead makes nothing old before the next entry.
    pub fn ran_to_ms(&self, now: Now) -> i64 {
        now.wall_ms.min(self.watch.run_on_ms(now.tick))
    }

    /// Says whether a task that this name assigned has not ended: the notice of its end will be mail for the next session of that
    /// name.
    pub(in crate::bus::state) fn has_tasks_by(&self, name: &Name) -> bool {
        let mut unended = self.sessions.values().flat_map(|session| {
            let ids = session.running.iter().chain(&session.queue);
            ids.filter_map(|id| self.tasks.get(id))
        });
        unended.any(|task| task.by == *name && task.workflow.is_none())
    }

    /// Returns the absent names whose mail has expired, those that have waited longest first.
    pub(in crate::bus) fn due_names(&self, now: Now) -> Vec<Due> {
        if self.absent.is_empty() {
            return Vec::new();
        }
        let wall_ms = self.watch.after(now).wall_ms().min(now.wall_ms);
        let due = self.absent.iter().filter(|(_, until)| **until <= wall_ms);
        let mut due: Vec<_> = due.map(|(name, until)| (*until, name)).collect();
        due.sort();
        due.into_iter().map(|(_, name)| Due::Mail(name.clone())).collect()
    }

    /// Says whether a deadline is still pending.
    pub(in crate::bus) fn is_pending(&self, due: &Due) -> bool {
        match due {
            Due::Mail(name) => self.absent.contains_key(name),
            due => self.timers.runs(due),
        }
    }

    /// Returns when the mail of the first absent name expires, in milliseconds of the boot, if the machine runs until then.
    pub(in crate::bus::state) fn earliest_name_ms(&self, now: Now) -> Option<u64> {
        let until = *self.absent.values().min()?;
        let watch = self.watch.after(now);
        let seen_ms = watch.wall_ms().min(now.wall_ms);
        let left_ms = u64::try_from(until.saturating_sub(seen_ms)).unwrap_or_default();
        // The last entry may be a little later than the caller's clock reading; and no clock of a boot goes back.
        let of_boot = [&self.watch, &watch].map(|watch| watch.ms_of(now.tick.boot));
        let ms = of_boot.into_iter().flatten().max();
        Some(ms.unwrap_or(now.tick.ms).saturating_add(left_ms))
    }

    /// Notes that a name no longer has a session. If its mail waits, its time counts from the given wall time or from the latest
    /// time in the log, whichever is later: the log is behind after a long pause, and ahead if the wall clock was set back. Above
    /// the limit of absent names, the one that has waited longest is abandoned.
    pub(in crate::bus::state) fn name_is_absent(
        &mut self,
        name: &Name,
        waits_from_ms: Option<i64>,
    ) {
        let until = waits_from_ms.map_or(AT_ONCE, |from_ms| {
            let from_ms = from_ms.max(self.watch.wall_ms());
            from_ms.saturating_add_unsigned(wait_times::ABSENT_MAIL_MS)
        });
        self.absent.insert(name.clone(), until);
        if self.absent.len() > limits::WAITING_NAMES {
            let waiting = self.absent.iter_mut().filter(|(_, until)| **until > AT_ONCE);
            if let Some((_, until)) = waiting.min_by_key(|(_, until)| **until) {
                *until = AT_ONCE;
            }
        }
    }

    /// Converts a state of an older version, which had timers for absent names and no watch.
    pub(in crate::bus::state) fn rebuild_absent(&mut self) {
        if !self.watch.has_begun() {
            let messages = self.messages.values().map(|message| message.sent_ms);
            let sessions = self.sessions.values().map(|session| session.last_ms);
            let departed = self.departed.iter().map(|departed| departed.last_ms);
            if let Some(latest) = messages.chain(sessions).chain(departed).max() {
                self.watch = Watch::begin(latest);
            }
        }
        for (name, at_once) in self.timers.take_absent() {
            let from_ms = self.watch.wall_ms();
            self.name_is_absent(&name, (!at_once).then_some(from_ms));
        }
    }
}
