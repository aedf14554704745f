//! Withdrawing a command that waits for its turn: at its deadline, or when its answer is no longer wanted.
//!
//! A command that is being done is not withdrawn, as it may be in the log already.

use crate::sys::mutex::lock;
use std::sync::{Arc, Mutex, MutexGuard};

/// Whether one command is withdrawn. Shared by the future that waits for its answer and the thread that does it.
#[derive(Default)]
pub(crate) struct Withdrawal(Mutex<Progress>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Progress {
    /// It waits for its turn.
    #[default]
    Waiting,
    /// It is being done.
    Begun,
    /// Its deadline came while it is being done: it waits for no other turn.
    Late,
    /// It will not be done.
    Withdrawn,
}

impl Withdrawal {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        // One assignment cannot leave it half-done.
        lock(&self.0)
    }

    /// Says whether it may be done now.
    pub(crate) fn begin(&self) -> bool {
        let mut progress = self.progress();
        let waits = *progress == Progress::Waiting;
        if waits {
            *progress = Progress::Begun;
        }
        waits
    }

    /// Says whether it may wait for another turn: nothing of it was done in this one.
    pub(crate) fn wait_on(&self) -> bool {
        let mut progress = self.progress();
        let in_time = *progress == Progress::Begun;
        *progress = if in_time { Progress::Waiting } else { Progress::Withdrawn };
        in_time
    }

    /// Ends the waiting, as its deadline has come; says whether it is withdrawn. Else its answer comes as soon as what is being
    /// done is done.
    pub(crate) fn withdraw(&self) -> bool {
        let mut progress = self.progress();
        *progress = match *progress {
            Progress::Waiting | Progress::Withdrawn => Progress::Withdrawn,
            Progress::Begun | Progress::Late => Progress::Late,
        };
        *progress == Progress::Withdrawn
    }
}

/// Withdraws a command that is still waiting when it is dropped.
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
    fn a_command_is_withdrawn_at_its_deadline_but_while_it_is_being_done() {
        let withdrawal = Withdrawal::default();
        assert!(withdrawal.begin());
        assert!(withdrawal.wait_on(), "it may wait as long as nobody says otherwise");
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
