//! Withdrawing a command that waits for its turn: at its deadline, or when its caller is gone.
//!
//! A command that is being done cannot be withdrawn: it may be in the log already.

use crate::sys::mutex::lock;
use std::sync::{Arc, Mutex, MutexGuard};

/// The withdrawal of one command, shared by the future that waits for its answer and the thread that does it.
#[derive(Default)]
pub(crate) struct Withdrawal(Mutex<Progress>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Progress {
    /// The command waits for its turn.
    #[default]
    Waiting,
    /// It is being done.
    Begun,
    /// Its deadline passed while it is being done: it will not wait for another turn.
    Late,
    /// It will not be done.
    Withdrawn,
}

impl Withdrawal {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        // Each change is one assignment, so a panic cannot leave it half-done.
        lock(&self.0)
    }

    /// Says whether the command may be done now.
    pub(crate) fn begin(&self) -> bool {
        let mut progress = self.progress();
        let waits = *progress == Progress::Waiting;
        if waits {
            *progress = Progress::Begun;
        }
        waits
    }

    /// Says whether the command may wait for another turn, after it lost this one.
    pub(crate) fn wait_on(&self) -> bool {
        let mut progress = self.progress();
        let in_time = *progress == Progress::Begun;
        *progress = if in_time { Progress::Waiting } else { Progress::Withdrawn };
        in_time
    }

    /// Withdraws the command at its deadline. Returns false if it is being done: then its answer comes soon.
    pub(crate) fn withdraw(&self) -> bool {
        let mut progress = self.progress();
        *progress = match *progress {
            Progress::Waiting | Progress::Withdrawn => Progress::Withdrawn,
            Progress::Begun | Progress::Late => Progress::Late,
        };
        *progress == Progress::Withdrawn
    }
}

/// Withdraws a waiting command when it is dropped.
pub(crate) struct WithdrawOnDrop(pub(crate) Arc<Withdrawal>);

impl Drop for WithdrawOnDrop {
    fn drop(&mut self) {
        self.0.withdraw();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_withdrawn_at_its_deadline_unless_it_is_being_done() {
        let withdrawal = Withdrawal::default();
        assert!(withdrawal.begin());
        assert!(withdrawal.wait_on(), "it may wait until it is withdrawn");
        assert!(withdrawal.withdraw());
        assert!(!withdrawal.begin());

        let withdrawal = Withdrawal::default();
        assert!(withdrawal.begin());
        assert!(!withdrawal.withdraw(), "it may be in the log already");
        assert!(!withdrawal.wait_on(), "it is late");
        assert!(withdrawal.withdraw());
        assert!(!withdrawal.begin());
    }
}
