//! Waiting for the write lock: when another process writes, a separate thread waits for this process's turn.
//!
//! Nothing can cut that wait short, so the thread holds nothing meanwhile. The caller waits for its answer up to a deadline, after
//! which a command that is not being done is withdrawn, even one that has lost its turn more than once.

use std::io;
use std::sync::{Arc, Weak, mpsc};

use tokio::sync::oneshot;

use super::append_in_order::append_in_order;
use crate::bus::error::BusError;
use crate::bus::rules::Command;
use crate::bus::shared::withdrawal::{WithdrawOnDrop, Withdrawal};
use crate::bus::shared::{BusShared, Queued, Receipt, no_thread};
use crate::bus::storage::{LogError, Sequencer, WriteTurn};

use crate::domain::wait_times;
use crate::sys::mutex::lock;

/// Waits for a command's turn up to [`wait_times::BUS_BUSY`], and does it. Dropping the future withdraws the command.
pub(crate) async fn wait_for_turn(
    shared: &Arc<BusShared>,
    command: Command,
) -> Result<Receipt, BusError> {
    let withdrawal = Arc::new(Withdrawal::default());
    let (reply, mut answer) = oneshot::channel();
    let _dropped = WithdrawOnDrop(Arc::clone(&withdrawal));
    let queued = Queued { command, withdrawal: Arc::clone(&withdrawal), reply };
    thread(shared)?.send(queued).map_err(|_| BusError::Closed)?;
    let deadline = wait_times::BUS_BUSY;
    let answered = match tokio::time::timeout(deadline, &mut answer).await {
        Ok(answered) => answered,
        Err(_) if withdrawal.withdraw() => {
            let holder = shared.turn.holder();
            return Err(LogError::Busy { holder }.into());
        }
        // It is being done, and no longer waits for another process.
        Err(_) => answer.await,
    };
    answered.map_err(|_| BusError::Closed)?
}

/// Returns the channel to the thread, which is started for the first command that has to wait.
fn thread(shared: &Arc<BusShared>) -> Result<mpsc::Sender<Queued>, BusError> {
    let mut thread = lock(&shared.queue);
    if let Some(sender) = &*thread {
        return Ok(sender.clone());
    }
    let started = start(Arc::downgrade(shared), Arc::clone(&shared.turn));
    let sender = started.map_err(no_thread)?;
    *thread = Some(sender.clone());
    Ok(sender)
}

/// Starts the thread. It ends with the last handle of the bus.
fn start(shared: Weak<BusShared>, turn: Arc<dyn WriteTurn>) -> io::Result<mpsc::Sender<Queued>> {
    let (sender, inbox) = mpsc::channel::<Queued>();
    std::thread::Builder::new().name("bus-queue".to_owned()).spawn(move || {
        while let Ok(queued) = inbox.recv() {
            let order = shared.upgrade().and_then(|shared| shared.order.clone());
            if let Some(order) = order {
                serve_in_order(&shared, &*order, queued);
            } else {
                serve(&shared, &*turn, queued);
                // Not where a server keeps the order: the thread that links the host waits for the turn too, and may have just got it.
                turn.release();
            }
        }
    })?;
    Ok(sender)
}

/// Waits for a turn and does the command, unless it has been withdrawn meanwhile.
pub(crate) fn serve(shared: &Weak<BusShared>, turn: &dyn WriteTurn, queued: Queued) {
    let Queued { command, withdrawal, reply } = queued;
    let outcome = loop {
        if let Err(error) = turn.wait() {
            break Err(error.into());
        }
        if !withdrawal.begin() {
            return;
        }
        let Some(shared) = shared.upgrade() else {
            return;
        };
        match shared.append(&command) {
            Ok(Some(receipt)) => break Ok(receipt),
            // Another thread of this process was faster, or there was too much to read first.
            Ok(None) if withdrawal.wait_on() => {}
            Ok(None) => {
                let holder = turn.holder();
                break Err(LogError::Busy { holder }.into());
            }
            Err(error) => break Err(error),
        }
    };
    // The waiting future may have been dropped.
    let _ = reply.send(outcome);
}

/// Does a command through the server that keeps the order, unless it has been withdrawn meanwhile.
fn serve_in_order(shared: &Weak<BusShared>, order: &dyn Sequencer, queued: Queued) {
    let Queued { command, withdrawal, reply } = queued;
    if !withdrawal.begin() {
        return;
    }
    if let Some(shared) = shared.upgrade() {
        // The waiting future may have been dropped.
        let _ = reply.send(append_in_order(&shared, order, &command));
    }
}

#[cfg(test)]
mod tests;
