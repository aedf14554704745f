//! Acts of which nobody knows whether they took effect, because a server has not acknowledged them, or a disk failed to store them.
//!
//! Whoever does the same again within a while repeats the same command, by its id: so it takes effect once, however the first attempt ended.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Instant;

use sha2::{Digest as _, Sha256};

use crate::bus::rules::Operation;
use crate::domain::ids::{CommandId, SessionId};
use crate::domain::wait_times;
use crate::sys::mutex::lock;
use crate::sys::random_ids;

/// What a process tries in that time while its server is away; an entry takes less than 100 bytes.
const MOST: usize = 4_096;

/// Who does something, and what: equal acts are equal words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Act {
    by: Option<SessionId>,
    digest: [u8; 32],
}

impl Act {
    pub(crate) fn of(by: Option<SessionId>, operation: &Operation) -> Self {
        Self { by, digest: Sha256::digest(format!("{operation:?}")).into() }
    }
}

#[derive(Default)]
pub(crate) struct Unsettled(Mutex<VecDeque<(Act, CommandId, Instant)>>);

impl Unsettled {
    /// Begins an act, by the command of an earlier attempt whose outcome is unknown, if there is one.
    pub(crate) fn attempt(&self, act: Act) -> Attempt<'_> {
        let id = self.take(&act).unwrap_or_else(random_ids::command);
        Attempt { unsettled: self, act, id, is_settled: false }
    }

    /// Says whether no act is known whose outcome is unknown.
    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    /// Takes the command of an earlier attempt at an act whose outcome is unknown, if there is one.
    pub(crate) fn take(&self, act: &Act) -> Option<CommandId> {
        let mut acts = lock(&self.0);
        acts.retain(|(.., since)| since.elapsed() < wait_times::REPEATED_WITHIN);
        let at = acts.iter().position(|(known, ..)| known == act)?;
        acts.remove(at).map(|(_, id, _)| id)
    }

    /// Notes that nobody knows whether an act took effect.
    pub(crate) fn keep(&self, act: Act, id: CommandId) {
        let mut acts = lock(&self.0);
        while acts.len() >= MOST {
            acts.pop_front();
        }
        acts.push_back((act, id, Instant::now()));
    }
}

/// An act under way. Unless it is settled, the same act will be the same command: also if nobody waits for its outcome any longer.
pub(crate) struct Attempt<'a> {
    unsettled: &'a Unsettled,
    act: Act,
    id: CommandId,
    is_settled: bool,
}

impl Attempt<'_> {
    pub(crate) fn id(&self) -> CommandId {
        self.id
    }

    /// Notes that the outcome is known.
    pub(crate) fn settle(&mut self) {
        self.is_settled = true;
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            self.unsettled.keep(self.act, self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::member::Label;

    fn lane(by: Option<SessionId>, name: &str) -> Act {
        Act::of(by, &Operation::ClaimLane(Label::parse(name).unwrap()))
    }

    #[test]
    fn the_same_act_of_the_same_member_is_the_same_command_until_its_outcome_is_known() {
        let (ann, ben) = (Some(random_ids::session()), Some(random_ids::session()));
        let unsettled = Unsettled::default();
        let id = unsettled.attempt(lane(ann, "core")).id();
        for other in [lane(ben, "core"), lane(ann, "docs")] {
            let mut attempt = unsettled.attempt(other);
            assert_ne!(attempt.id(), id);
            attempt.settle();
        }
        assert_eq!(unsettled.attempt(lane(ann, "core")).id(), id, "its outcome is unknown still");
        let mut settled = unsettled.attempt(lane(ann, "core"));
        assert_eq!(settled.id(), id);
        settled.settle();
        drop(settled);
        assert_ne!(unsettled.attempt(lane(ann, "core")).id(), id);
    }
}
