//! Deadlines in the machine's own time.

use serde::{Deserialize, Serialize};

use super::Chunked;
use crate::domain::ids::{CallId, MessageId, PermissionId, RequestId, SessionId};
use crate::domain::name::Name;

/// An action with a deadline.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Due {
    /// Reminds the team of an unclaimed request.
    Nudge(RequestId),
    /// Ends an unclaimed request.
    Expire(RequestId),
    /// Reopens a request whose owner has left.
    Reopen(RequestId),
    /// Reminds the owner of a request of its lease, and then reopens the request.
    Lease(RequestId),
    /// Requeues the messages of a call, which count as lost.
    #[serde(rename = "handed")]
    Requeue(SessionId, CallId),
    /// Ends a wait that its process did not end.
    Wait(SessionId, CallId),
    /// Abandons the mail of an absent name, and forgets the name. The watch of the state counts its days; older versions had a
    /// timer for it.
    Mail(Name),
    /// Ends a message that was not seen in time.
    Message(MessageId),
    /// Reminds who owes the answer to a message.
    Answer(MessageId),
    /// Takes a disagreement to who decides it, or ends it.
    Conflict(MessageId),
    /// Rejects a permission question without an answer.
    Permission(PermissionId),
}

/// When a timer began and how long it runs, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Timer {
    from_ms: u64,
    after_ms: u64,
}

impl Timer {
    fn due_ms(self) -> u64 {
        self.from_ms.saturating_add(self.after_ms)
    }
}

/// All running timers, by action and by deadline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(Due, u64, u64)>", into = "Vec<(Due, u64, u64)>")]
pub(in crate::bus) struct Timers {
    running: Chunked<Due, Timer>,
    order: Chunked<(u64, Due), ()>,
}

impl Timers {
    /// Starts a timer, in place of a running one for the same action.
    pub(crate) fn start(&mut self, due: Due, from_ms: u64, after_ms: u64) {
        self.stop(&due);
        let timer = Timer { from_ms, after_ms };
        self.order.insert((timer.due_ms(), due.clone()), ());
        self.running.insert(due, timer);
    }

    pub(crate) fn stop(&mut self, due: &Due) {
        if let Some(timer) = self.running.remove(due) {
            self.order.remove(&(timer.due_ms(), due.clone()));
        }
    }

    /// Returns the remaining time of a timer; zero if it is overdue or does not run.
    pub(crate) fn left_ms(&self, due: &Due, now_ms: u64) -> u64 {
        self.running.get(due).map_or(0, |timer| timer.due_ms().saturating_sub(now_ms))
    }

    pub(crate) fn runs(&self, due: &Due) -> bool {
        self.running.contains_key(due)
    }

    /// Lets every timer run in a new boot for the time that it had left at the last entry of the old boot; for its full length if
    /// the time of that entry is unknown.
    pub(crate) fn carry_over(&mut self, last_ms: Option<u64>, now_ms: u64) {
        for (due, timer) in std::mem::take(self).running.iter() {
            let left_ms = last_ms.map(|last_ms| timer.due_ms().saturating_sub(last_ms));
            self.start(due.clone(), now_ms, left_ms.unwrap_or(timer.after_ms));
        }
    }

    /// Removes the timers for absent names, which older versions had. Returns the names, and whether their mail is due at once.
    pub(super) fn take_absent(&mut self) -> Vec<(Name, bool)> {
        let names = self.running.iter().filter_map(|(due, timer)| match due {
            Due::Mail(name) => Some((name.clone(), timer.after_ms == 0)),
            _ => None,
        });
        let names: Vec<_> = names.collect();
        for (name, _) in &names {
            self.stop(&Due::Mail(name.clone()));
        }
        names
    }

    /// Returns the earliest deadline, in milliseconds of the boot.
    pub(crate) fn earliest_ms(&self) -> Option<u64> {
        self.order.keys().next().map(|(due_ms, _)| *due_ms)
    }

    /// Returns the due actions, earliest first.
    pub(crate) fn due(&self, now_ms: u64) -> impl Iterator<Item = &Due> {
        self.order.keys().take_while(move |(due_ms, _)| *due_ms <= now_ms).map(|(_, due)| due)
    }
}

impl From<Vec<(Due, u64, u64)>> for Timers {
    fn from(list: Vec<(Due, u64, u64)>) -> Self {
        let mut timers = Self::default();
        for (due, from_ms, after_ms) in list {
            timers.start(due, from_ms, after_ms);
        }
        timers
    }
}

impl From<Timers> for Vec<(Due, u64, u64)> {
    fn from(timers: Timers) -> Self {
        timers
            .running
            .iter()
            .map(|(due, timer)| (due.clone(), timer.from_ms, timer.after_ms))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nudge(bits: u64) -> Due {
        Due::Nudge(RequestId::from_bits(bits))
    }

    #[test]
    fn due_actions_come_earliest_first() {
        let mut timers = Timers::default();
        timers.start(nudge(1), 100, 50);
        timers.start(nudge(2), 100, 20);
        timers.start(nudge(3), 100, 500);
        assert_eq!(timers.earliest_ms(), Some(120));
        assert_eq!(timers.due(150).collect::<Vec<_>>(), [&nudge(2), &nudge(1)]);
        timers.stop(&nudge(2));
        assert_eq!(timers.due(150).collect::<Vec<_>>(), [&nudge(1)]);
    }

    #[test]
    fn a_new_boot_keeps_the_remaining_time() {
        let mut timers = Timers::default();
        timers.start(nudge(1), 1_000_000, 50);
        timers.carry_over(Some(1_000_030), 7);
        assert_eq!(timers.left_ms(&nudge(1), 7), 20);
        timers.carry_over(None, 3);
        assert_eq!(timers.left_ms(&nudge(1), 3), 20);
        let copy: Timers = Vec::from(timers.clone()).into();
        assert_eq!(copy, timers);
    }
}
