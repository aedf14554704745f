//! The commands of this process that found another process writing: a thread of their own waits for the turn to write.
//!
//! It blocks for as long as the other one writes, which nothing can cut short; so it holds nothing meanwhile. Who asked waits for its
//! answer with a deadline, after which a command that is not being done is withdrawn, also one that has found another writer more
//! than once.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, Weak, mpsc};

use tokio::sync::oneshot;

use crate::bus::api::bus::{BusShared, Receipt};
use crate::bus::error::BusError;
use crate::bus::rules::Command;
use crate::bus::storage::{LogError, WriteTurn};
use crate::sys::mutex::lock;

/// A command that waits for its turn.
pub(crate) struct Queued {
    pub(crate) command: Command,
    pub(crate) claim: Arc<Claim>,
    pub(crate) reply: oneshot::Sender<Result<Receipt, BusError>>,
}

/// What decides whether a command is withdrawn at its deadline: it is, but for the time in which it is being done.
#[derive(Default)]
pub(crate) struct Claim(Mutex<Progress>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Progress {
    /// It waits for its turn.
    #[default]
    Waiting,
    /// It is being done.
    Begun,
    /// Its deadline came while it is being done: it waits for no other turn.
    Late,
    /// Nobody does it any more.
    Withdrawn,
}

impl Claim {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        // One assignment cannot leave it half-done.
        lock(&self.0)
    }

    /// Says whether it may be done now.
    fn begin(&self) -> bool {
        let mut progress = self.progress();
        let waits = *progress == Progress::Waiting;
        if waits {
            *progress = Progress::Begun;
        }
        waits
    }

    /// Says whether it may wait for another turn: nothing of it was done in this one.
    fn wait_on(&self) -> bool {
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
pub(crate) struct Withdrawn(pub(crate) Arc<Claim>);

impl Drop for Withdrawn {
    fn drop(&mut self) {
        self.0.withdraw();
    }
}

/// Starts the thread. It ends when nobody can send to it any more.
pub(crate) fn start(
    shared: Weak<BusShared>,
    turn: Arc<dyn WriteTurn>,
) -> io::Result<mpsc::Sender<Queued>> {
    let (sender, inbox) = mpsc::channel::<Queued>();
    std::thread::Builder::new().name("bus-queue".to_owned()).spawn(move || {
        while let Ok(queued) = inbox.recv() {
            serve(&shared, &*turn, queued);
            turn.give_back();
        }
    })?;
    Ok(sender)
}

/// Waits for a turn and does the command, unless it has been withdrawn meanwhile.
pub(crate) fn serve(shared: &Weak<BusShared>, turn: &dyn WriteTurn, queued: Queued) {
    let Queued { command, claim, reply } = queued;
    let outcome = loop {
        if let Err(error) = turn.wait() {
            break Err(error.into());
        }
        if !claim.begin() {
            return;
        }
        let Some(shared) = shared.upgrade() else {
            return;
        };
        match shared.append(&command) {
            Ok(Some(receipt)) => break Ok(receipt),
            // Another thread of this process has taken the turn, or much has come meanwhile.
            Ok(None) if claim.wait_on() => {}
            Ok(None) => {
                let holder = turn.holder();
                break Err(LogError::Busy { holder }.into());
            }
            Err(error) => break Err(error),
        }
    };
    // Who asked may be gone.
    let _ = reply.send(outcome);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_withdrawn_at_its_deadline_but_while_it_is_being_done() {
        let claim = Claim::default();
        assert!(claim.begin());
        assert!(claim.wait_on(), "it may wait as long as nobody says otherwise");
        assert!(claim.withdraw());
        assert!(!claim.begin());

        let claim = Claim::default();
        assert!(claim.begin());
        assert!(!claim.withdraw(), "it may be in the log already");
        assert!(!claim.wait_on(), "it is late");
        assert!(claim.withdraw());
        assert!(!claim.begin());
    }
}
