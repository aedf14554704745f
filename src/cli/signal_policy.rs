//! What the signals that ask a process to end do to each command: SIGINT, SIGTERM and SIGHUP, in any mix.
//!
//! | command | first signal | second signal | third signal |
//! |---|---|---|---|
//! | `orchestrator` | ends all agents gracefully, within 30 s, and leaves the bus | kills the agents, within 2 s | ends at once |
//! | `run` | the same; the workflow is interrupted and can be resumed | the same | ends at once |
//! | `agent` | finishes its answers and closes the bus, within 3 s | - | ends at once |
//! | `peer` | finishes its answers and leaves the bus, within 3 s | - | ends at once |
//! | `doctor` | kills the agents that it tries out, within 2 s | - | ends at once |
//! | `watch` | ends at once, with code 0 | - | - |
//! | `hook`, `demo`, `trust`, `scripted-agent` | dies of it, as by default | - | - |
//!
//! - A command that already ends by itself (its input is closed, its workflow is over) takes the first signal as the second.
//! - To end at once means: SIGKILL to everything that the agents and gates have started, without a last word to the bus, to agents
//!   or to the terminal, and exit code 128 + the number of the signal. Whoever looks at the bus next finds the agents dead.
//! - The orchestrator of a `demo` that has died sees the end of its input, and ends its agents gracefully.
//!
//! The times stand in `domain::grace_periods`.

use tokio::sync::watch;

use super::Failure;
use crate::supervisor;
use crate::sys::process::Signal;
use crate::sys::signal_streams::EndSignals;

/// The signal that ends the process at once.
const LAST: usize = 3;

/// What shells add to the number of the signal that a process has died of.
const SIGNALLED: i32 = 128;

/// The signals that a command acts on, each once. The last one never gets to the command. A clone acts on those that this one has not
/// acted on yet, and leaves them to it.
#[derive(Clone)]
pub(crate) struct StopRequests {
    received: watch::Receiver<Vec<Signal>>,
    acted_on: usize,
}

impl StopRequests {
    /// Waits for the next signal. Cancel safe.
    pub(crate) async fn next(&mut self) -> Signal {
        let nth = self.acted_on;
        let received = self.received.wait_for(|received| received.len() > nth).await;
        let Ok(signal) = received.map(|received| received[nth]) else {
            // The sender goes only with the command.
            return std::future::pending().await;
        };
        self.acted_on += 1;
        signal
    }

    /// Waits until the agents, which are being ended gracefully, are to be killed. Cancel safe.
    pub(crate) async fn force_stop(&mut self) {
        let signal = self.next().await;
        tracing::warn!("{signal}: killing all agents; another signal ends this process at once");
    }
}

/// Runs a command that acts on signals as the table says.
pub(super) async fn obey<F>(command: impl FnOnce(StopRequests) -> F) -> Result<(), Failure>
where
    F: Future<Output = Result<(), Failure>>,
{
    let mut signals = EndSignals::listen()?;
    let (sender, received) = watch::channel(Vec::new());
    let last = async {
        loop {
            let signal = signals.recv().await;
            sender.send_modify(|received| received.push(signal));
            if sender.borrow().len() == LAST {
                return signal;
            }
        }
    };
    tokio::select! {
        biased;
        signal = last => end_at_once(signal),
        done = command(StopRequests { received, acted_on: 0 }) => done,
    }
}

#[expect(
    clippy::exit,
    clippy::disallowed_methods,
    reason = "to return to `main` would drop the bus and the runtime, which may wait for a disk or a pipe that hangs"
)]
fn end_at_once(signal: Signal) -> ! {
    supervisor::kill_all_children();
    // Not a word: stderr may be a pipe that is full, or a terminal that is stopped.
    std::process::exit(SIGNALLED + signal as i32)
}
