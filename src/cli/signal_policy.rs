//! The effect of SIGINT, SIGTERM and SIGHUP, in any mix, on each command.
//!
//! | command | first signal | second signal | third signal |
//! |---|---|---|---|
//! | `orchestrator` | ends all agents gracefully, within 30 s, and leaves the bus | kills the agents, within 2 s | ends at once |
//! | `run` | the same; the workflow is interrupted and can be resumed | the same | ends at once |
//! | `agent` | finishes its answers and closes the bus, within 3 s | - | ends at once |
//! | `peer` | finishes its answers and leaves the bus, within 3 s | - | ends at once |
//! | `doctor` | kills the agents that it tries out, within 2 s | - | ends at once |
//! | `watch` | ends at once, with code 0 | - | - |
//! | `top` | gives the terminal back, within 1 s, and ends with code 0 | - | ends at once |
//! | `web` | ends its connections, within 1 s, and ends with code 0 | - | ends at once |
//! | any other | dies of it, as by default | - | - |
//!
//! - A command that is already ending (its input is closed, its workflow is over) treats the first signal as the second.
//! - To end at once means: SIGKILL to everything that the agents and gates have started, without a last word to the bus, to agents
//!   or to the terminal, and exit code 128 + the number of the signal. The next process that looks at the bus finds the agents
//!   dead.
//! - If a `demo` dies, its orchestrator sees the end of its input, and stops its agents gracefully.
//!
//! The times are in `domain::grace_periods`.

use tokio::sync::watch;

use super::{Failure, output};
use crate::supervisor;
use crate::sys::process::Signal;
use crate::sys::signal_streams::EndSignals;

/// The number of the signal that ends the process at once.
const LAST: usize = 3;

/// What shells add to the number of a fatal signal.
const SIGNALLED: i32 = 128;

/// The signals that a command acts on, each once. The last one never reaches the command. A clone starts with the signals that the
/// original has not yet acted on, without consuming them.
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
            // The sender lives as long as the command.
            return std::future::pending().await;
        };
        self.acted_on += 1;
        signal
    }

    /// Waits for the signal to kill the agents, which are stopping gracefully, and reports it. Cancel safe.
    pub(crate) async fn force_stop(&mut self, report: impl FnOnce(&str)) {
        let signal = self.next().await;
        report(&format!("{signal}: killing all agents; another signal ends this process at once"));
    }
}

/// Runs a command under the signal policy in the table.
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
    // A shell needs its lines and its echo; this waits for nothing.
    output::leave_silently();
    // Without a message: stderr may be a full pipe or a paused terminal.
    std::process::exit(SIGNALLED + signal as i32)
}
