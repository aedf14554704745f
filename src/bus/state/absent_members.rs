//! Names that nobody has now: their mail waits for whoever takes them up again.

use super::{Due, State, Watch};
use crate::domain::limits;
use crate::domain::name::Name;
use crate::domain::time::Now;
use crate::domain::timeouts;

/// When something is due that does not wait.
const AT_ONCE: i64 = 0;

impl State {
    /// Says whether a name is absent and its mail has waited for all its time, which is more than being given up at once.
    pub(in crate::bus) fn has_waited(&self, name: &Name) -> bool {
        self.absent.get(name).is_some_and(|until| *until > AT_ONCE)
    }

    /// Returns the earlier of a wall time and of that which the log has seen: what is to be old by age alone has to be old by both.
    pub(in crate::bus) fn seen_ms(&self, wall_ms: i64) -> i64 {
        wall_ms.min(self.watch.wall_ms())
    }

    /// Returns the earlier of the wall time and of what the log has seen with what the machine has run since: a clock that somebody has
    /// set ahead makes nothing old before the next entry.
    pub fn ran_to_ms(&self, now: Now) -> i64 {
        now.wall_ms.min(self.watch.run_on_ms(now.tick))
    }

    /// Says whether a task still has to end whose end a name is told: that notice is then mail for whoever takes the name up.
    pub(super) fn has_tasks_by(&self, name: &Name) -> bool {
        let mut unended = self.sessions.values().flat_map(|session| {
            let ids = session.running.iter().chain(&session.queue);
            ids.filter_map(|id| self.tasks.get(id))
        });
        unended.any(|task| task.by == *name && task.workflow.is_none())
    }

    /// Returns the absent names whose mail is to be given up now, those that have waited longest first.
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

    /// Says whether something is still to happen by itself.
    pub(in crate::bus) fn is_pending(&self, due: &Due) -> bool {
        match due {
            Due::Mail(name) => self.absent.contains_key(name),
            due => self.timers.runs(due),
        }
    }

    /// Returns when the first absent name is given up, in milliseconds of the boot, if the machine runs until then.
    pub(super) fn earliest_name_ms(&self, now: Now) -> Option<u64> {
        let until = *self.absent.values().min()?;
        let watch = self.watch.after(now);
        let seen_ms = watch.wall_ms().min(now.wall_ms);
        let left_ms = u64::try_from(until.saturating_sub(seen_ms)).unwrap_or_default();
        // The last entry may have been written a moment after the caller looked at its clock; and no clock of a boot goes back.
        let of_boot = [&self.watch, &watch].map(|watch| watch.ms_of(now.tick.boot));
        let ms = of_boot.into_iter().flatten().max();
        Some(ms.unwrap_or(now.tick.ms).saturating_add(left_ms))
    }

    /// Notes that nobody has a name any more, and that its mail waits from a wall time on, if it does: or from what the log has seen,
    /// which is behind after a long pause, and ahead where the wall clock was set back. Of too many, the one that has waited
    /// longest is given up.
    pub(super) fn name_is_absent(&mut self, name: &Name, waits_from_ms: Option<i64>) {
        let until = waits_from_ms.map_or(AT_ONCE, |from_ms| {
            let from_ms = from_ms.max(self.watch.wall_ms());
            from_ms.saturating_add_unsigned(timeouts::ABSENT_MAIL_MS)
        });
        self.absent.insert(name.clone(), until);
        if self.absent.len() > limits::WAITING_NAMES {
            let waiting = self.absent.iter_mut().filter(|(_, until)| **until > AT_ONCE);
            if let Some((_, until)) = waiting.min_by_key(|(_, until)| **until) {
                *until = AT_ONCE;
            }
        }
    }

    /// Takes over what an older version wrote: it had timers for the absent, and did not know how late it was.
    pub(super) fn rebuild_absent(&mut self) {
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
