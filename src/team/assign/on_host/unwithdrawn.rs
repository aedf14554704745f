//! Tasks that hosts were asked for, and that this bridge could not withdraw: they may be taken up yet.
//!
//! The error of the server tells the model to repeat the call. It then waits for the same task, instead of asking for a second one.

use std::sync::Mutex;
use std::time::Instant;

use sha2::{Digest as _, Sha256};

use crate::domain::ids::TaskId;
use crate::domain::wait_times;
use crate::sys::mutex::lock;

/// A bridge asks for a few tasks at once; older ones are answered or gone.
const MOST: usize = 64;

/// Of which bridge what was asked: the same words are the same call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked([u8; 32]);

impl Asked {
    pub(super) fn of(words: &str) -> Self {
        Self(Sha256::digest(words).into())
    }
}

#[derive(Default)]
pub(in crate::team) struct Unwithdrawn(Mutex<Vec<(Asked, TaskId, Instant)>>);

impl Unwithdrawn {
    pub(super) fn keep(&self, asked: Asked, id: TaskId) {
        let mut kept = lock(&self.0);
        if kept.len() >= MOST {
            kept.remove(0);
        }
        kept.push((asked, id, Instant::now()));
    }

    /// Returns the task of an earlier call, which is this call's from now on.
    pub(super) fn take(&self, asked: Asked) -> Option<TaskId> {
        let mut kept = lock(&self.0);
        kept.retain(|(.., since)| since.elapsed() < wait_times::REPEATED_WITHIN);
        let at = kept.iter().position(|(known, ..)| *known == asked)?;
        Some(kept.remove(at).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_call_waits_for_the_task_that_could_not_be_withdrawn_and_another_does_not() {
        let (unwithdrawn, id) = (Unwithdrawn::default(), TaskId::parse("task-aaaaaaab").unwrap());
        let [same, other] = [1, 2].map(|byte| Asked([byte; 32]));
        unwithdrawn.keep(same, id.clone());
        assert_eq!(unwithdrawn.take(other), None);
        assert_eq!(unwithdrawn.take(same), Some(id));
        assert_eq!(unwithdrawn.take(same), None, "then it is that call's own");
    }
}
