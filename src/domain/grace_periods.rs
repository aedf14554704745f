//! How long each step of a shutdown may take: of a turn, an agent, its processes, a gate, and the bridge itself.
//!
//! They stand in one table because they have to add up; the tests below check the sums. Waits that end nothing are in `wait_times`.

use std::time::Duration;

/// How long each step of stopping a process group may take. A caller that wants `polite` to have an effect closes the child's stdin
/// first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopPlan {
    /// For the child to exit by itself. Then the group gets SIGTERM.
    pub polite: Duration,
    /// For the group to be gone after SIGTERM. Then it gets SIGKILL. Zero leaves SIGTERM out.
    pub term_grace: Duration,
    /// For the group to be gone after SIGKILL. Then the stop has failed.
    pub kill_grace: Duration,
}

impl StopPlan {
    /// `kill_agent`: SIGTERM at once, 5 s, SIGKILL. It promises an answer within 10 s, so 3 s remain for the killed processes to
    /// disappear, and 2 s for the caller.
    pub const KILL: Self = Self {
        polite: Duration::ZERO,
        term_grace: Duration::from_secs(5),
        kill_grace: Duration::from_secs(3),
    };

    /// `shutdown_agent`, once the turn is over and the session is closed. 1.5 s after SIGKILL the shim reports the processes that are
    /// still there.
    pub const GRACEFUL: Self = Self {
        polite: Duration::from_secs(2),
        term_grace: Duration::from_secs(1),
        kill_grace: Duration::from_secs(2),
    };

    /// An agent whose bridge got a second signal.
    pub const FORCED: Self = Self {
        polite: Duration::ZERO,
        term_grace: Duration::from_millis(700),
        kill_grace: Duration::from_millis(700),
    };

    /// The command of a gate that has exceeded its time limit.
    pub const GATE: Self = Self {
        polite: Duration::ZERO,
        term_grace: Duration::from_secs(2),
        kill_grace: Duration::from_secs(3),
    };

    /// A program that carries a notification and has exceeded its time.
    pub const ALERT: Self = Self {
        polite: Duration::ZERO,
        term_grace: Duration::from_millis(500),
        kill_grace: Duration::from_secs(1),
    };

    /// The orchestrator of the demo, after its input is closed: it may need [`BRIDGE`] for its agents.
    pub const DEMO: Self = Self {
        polite: Duration::from_secs(35),
        term_grace: Duration::from_secs(5),
        kill_grace: Duration::from_secs(3),
    };
}

/// How long a running turn may continue after a request for a graceful stop.
pub const TURN: Duration = Duration::from_secs(20);

/// How long an agent may take to end a turn that was cancelled. All five real agents took 0.1 s.
pub const CANCEL: Duration = Duration::from_secs(10);

/// The same while the agent is being stopped: the whole stop has [`AGENT`].
pub const CANCEL_WHILE_STOPPING: Duration = Duration::from_secs(2);

/// How long the agent may take to close its session: it is answered from memory.
pub const CLOSE_SESSION: Duration = Duration::from_secs(1);

/// How long closing the session and stdin may take together, even if the agent reads nothing and its pipe is full.
pub const CLOSE: Duration = Duration::from_secs(3);

/// How long stdin may stay open after a shutdown: at most a `session/cancel` is still to be written.
pub const LAST_WRITES: Duration = Duration::from_secs(2);

/// The longest graceful stop of one agent: the promise of `shutdown_agent`.
pub const AGENT: Duration = Duration::from_secs(30);

/// How long the stdout of an agent is read and discarded after a shutdown, so that its last lines meet no broken pipe: as long as its
/// whole stop may take.
pub const DISCARD_OUTPUT: Duration = AGENT;

/// How long all agents together may take to end when their bridge ends.
pub const BRIDGE: Duration = Duration::from_secs(30);

/// The same after a second signal.
pub const BRIDGE_FORCED: Duration = Duration::from_secs(2);

/// How long a process may run after it closed its stdout, unless its agent is asked to stop. An exit takes milliseconds, but on a very
/// busy machine the shim reports it, with its exit code, seconds later.
pub const LAST_BREATH: Duration = Duration::from_secs(5);

/// How long the stdout of a process may stay open after its exit: a process that left its group may hold it.
pub const LAST_OUTPUT: Duration = Duration::from_secs(2);

/// How long an agent that closed its stdin may take to close its stdout as well: an agent that exits leaves its last answer in the pipe,
/// and a pipe is emptied in milliseconds.
pub const LAST_WORDS: Duration = Duration::from_secs(1);

/// How long the stderr of a process may stay open after its writers have exited: a process that left the group may hold it for ever. The
/// 64 KiB of a pipe are read in much less.
pub const LAST_STDERR: Duration = Duration::from_millis(500);

/// How long recording the end of an agent on the bus may take: longer than the bus may be busy.
pub const LAST_APPEND: Duration = Duration::from_secs(3);

/// How long a server may take to write its last answers once its input has ended: a client that stopped reading must not keep the process
/// alive.
pub const LAST_ANSWERS: Duration = Duration::from_secs(6);

/// How long the calls of a server that ends may take to requeue the messages that they hold: as long as the bus may be busy.
pub const LAST_CALLS: Duration = Duration::from_secs(2);

/// How long a terminal may take the last output of an interrupted `run`: a suspended terminal takes nothing.
pub const LAST_SCREEN: Duration = Duration::from_secs(1);

/// How long recording a server's end on the bus may take. Without that record, others find the session dead within about a second.
pub const SERVER: Duration = Duration::from_secs(3);

/// How long the last notification may take: a webhook at the other end of the world takes less than a second.
pub const ALERTS: Duration = Duration::from_secs(3);

/// How long the runtime waits for its threads: one of them may sit in a read of stdin that never returns.
pub const THREADS: Duration = Duration::from_millis(100);

/// How long an agent's group may take after SIGTERM when its bridge is dead. Agents that can save do so within a second, and the whole
/// group has to be gone 10 s after the bridge.
pub const SHIM_TERM: Duration = Duration::from_millis(1500);

/// How long a shim waits for killed processes to disappear. They need milliseconds; a process that needs longer hangs in the kernel.
pub const SHIM_KILL: Duration = Duration::from_millis(1500);

/// How long a shim may take after the order to kill: it stops waiting after [`SHIM_KILL`]. Shorter than the `kill_grace` of
/// [`StopPlan::KILL`], because a shim that hangs is then killed, and its agent with it.
pub const SHIM_ANSWER: Duration = Duration::from_secs(2);

/// How long a shim may take to exit after its last report: it has nothing left to do.
pub const SHIM_EXIT: Duration = Duration::from_millis(500);

/// How long a shim may take to end after its bridge is gone: more than [`SHIM_TERM`] and [`SHIM_KILL`] together. Then the next bridge
/// ends shim and agent.
pub const SHIM_WITHOUT_BRIDGE: Duration = Duration::from_secs(5);

/// How long the orphans of an agent whose shim is dead may take to disappear after SIGKILL: they need milliseconds. Orphans that keep
/// forking may need longer; then they are reported as still running, and are killed in the background.
pub const ORPHANS: Duration = Duration::from_millis(500);

/// How long a child without a shim may take to disappear after SIGKILL. Shorter than the `kill_grace` of [`StopPlan::KILL`].
pub const DIRECT_KILL: Duration = Duration::from_secs(2);

/// How long an MCP server of the scripted agent may take to end once its stdin is closed. Then it is killed.
pub const SCRIPTED_SERVER: Duration = Duration::from_secs(2);

/// The web server finishes the answers that it has begun.
pub const WEB_END: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    fn total(plan: StopPlan) -> Duration {
        plan.polite + plan.term_grace + plan.kill_grace
    }

    #[test]
    fn a_stop_keeps_its_promised_time_in_the_worst_case() {
        let gracefully = TURN + CANCEL_WHILE_STOPPING + CLOSE + total(StopPlan::GRACEFUL);
        assert!(gracefully <= AGENT, "{gracefully:?}");
        assert!(CLOSE_SESSION + LAST_WRITES <= CLOSE);
        assert!(total(StopPlan::KILL) < Duration::from_secs(10));
        assert!(total(StopPlan::FORCED) < BRIDGE_FORCED);
        assert!(BRIDGE < StopPlan::DEMO.polite);
    }

    #[test]
    fn the_wait_for_a_shim_is_longer_than_the_waits_of_the_shim() {
        assert!(SHIM_KILL < SHIM_ANSWER);
        assert!(SHIM_ANSWER < StopPlan::KILL.kill_grace);
        assert!(DIRECT_KILL < StopPlan::KILL.kill_grace);
        assert!(SHIM_TERM + SHIM_KILL < Duration::from_secs(10));
        assert!(SHIM_TERM + SHIM_KILL < SHIM_WITHOUT_BRIDGE);
    }
}
