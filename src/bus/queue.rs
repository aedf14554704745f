//! The commands of this process that found another process writing: a thread of their own waits for the turn to write.
//!
//! It blocks for as long as the other one writes, which nothing can cut short; so it holds nothing meanwhile. Who asked waits for its
//! answer with a deadline, after which a command that has not begun is withdrawn.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak, mpsc};

use tokio::sync::oneshot;

use super::handle::{BusError, Receipt, Shared};
use super::log::Turn;
use super::rules::Command;

/// A command that waits for its turn.
pub(super) struct Queued {
    pub(super) command: Command,
    pub(super) claim: Arc<Claim>,
    pub(super) reply: oneshot::Sender<Result<Receipt, BusError>>,
}

/// What decides whether a command is begun or withdrawn: whoever is first.
#[derive(Default)]
pub(super) struct Claim(AtomicBool);

impl Claim {
    /// Says whether the caller is the first.
    pub(super) fn take(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }
}

/// Starts the thread. It ends when nobody can send to it any more.
pub(super) fn start(shared: Weak<Shared>, turn: Arc<dyn Turn>) -> io::Result<mpsc::Sender<Queued>> {
    let (sender, inbox) = mpsc::channel::<Queued>();
    std::thread::Builder::new()
        .name("bus-queue".to_owned())
        .spawn(move || {
            while let Ok(queued) = inbox.recv() {
                serve(&shared, &*turn, queued);
                turn.give_back();
            }
        })?;
    Ok(sender)
}

/// Waits for a turn and does the command, unless it has been withdrawn meanwhile.
fn serve(shared: &Weak<Shared>, turn: &dyn Turn, queued: Queued) {
    let Queued {
        command,
        claim,
        reply,
    } = queued;
    let mut begun = false;
    let outcome = loop {
        if let Err(error) = turn.wait() {
            break Err(error.into());
        }
        begun = begun || claim.take();
        let Some(shared) = shared.upgrade().filter(|_| begun) else {
            return;
        };
        match shared.append(&command) {
            Ok(Some(receipt)) => break Ok(receipt),
            // Another thread of this process has taken the turn.
            Ok(None) => {}
            Err(error) => break Err(error),
        }
    };
    // Who asked may be gone.
    let _ = reply.send(outcome);
}
