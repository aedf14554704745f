//! Acts of which nobody knows whether they took effect, because a server has not acknowledged them.
//!
//! Whoever does the same again within a while repeats the same command, by its id: so it takes effect once, however the first attempt ended.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

use crate::bus::rules::Operation;
use crate::domain::ids::{CommandId, SessionId};
use crate::sys::mutex::lock;

/// Later, the same words mean something new. The error of the server names this time, too.
const REPEATED_WITHIN: Duration = Duration::from_mins(10);

/// More than a process has calls under way.
const MOST: usize = 64;

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
    /// Returns the command by which this was tried before, and forgets it.
    pub(crate) fn take(&self, act: &Act) -> Option<CommandId> {
        let mut acts = lock(&self.0);
        acts.retain(|(.., since)| since.elapsed() < REPEATED_WITHIN);
        let at = acts.iter().position(|(known, ..)| known == act)?;
        acts.remove(at).map(|(_, id, _)| id)
    }

    pub(crate) fn keep(&self, act: Act, id: CommandId) {
        let mut acts = lock(&self.0);
        while acts.len() >= MOST {
            acts.pop_front();
        }
        acts.push_back((act, id, Instant::now()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::member::Label;
    use crate::sys::random_ids;

    #[test]
    fn the_same_act_of_the_same_member_is_the_same_command_once() {
        let lane = |name: &str| Operation::ClaimLane(Label::parse(name).unwrap());
        let (ann, ben) = (Some(random_ids::session()), Some(random_ids::session()));
        let (unsettled, id) = (Unsettled::default(), random_ids::command());
        unsettled.keep(Act::of(ann, &lane("core")), id);
        assert_eq!(unsettled.take(&Act::of(ben, &lane("core"))), None);
        assert_eq!(unsettled.take(&Act::of(ann, &lane("docs"))), None);
        assert_eq!(unsettled.take(&Act::of(ann, &lane("core"))), Some(id));
        assert_eq!(unsettled.take(&Act::of(ann, &lane("core"))), None);
    }
}
