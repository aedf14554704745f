//! How long the bridge waits, and how often it looks: for each time, what waits, and why so long.
//!
//! Three other files hold numbers. `grace_periods` has the steps of endings, which have to add up. `limits` has sizes and counts.
//! `config::defaults` has what a user can set. A pause that concerns one file alone, and no user, stands in that file.
//!
//! The rules of the bus count in milliseconds, and the tools in seconds, as their names say; the rest are `Duration`s.

use std::time::Duration;

// Calls of tools.

/// A tool that does not wait answers within this.
pub const TOOL: Duration = Duration::from_secs(5);

/// A call waits for its server to join the bus: perhaps for [`NAME`] until the holder of its name has left, and then for the bus.
pub const JOIN: Duration = TOOL.saturating_mul(2);

/// The default of `wait_for_message`'s `timeout_seconds`, in the specification.
pub const WAIT_SECONDS: u64 = 30;

/// The longest `wait_for_message`: all five agents hold a call of that length.
pub const MAX_WAIT_SECONDS: u64 = 120;

/// The default of `assign_task`'s `timeout_seconds`: below the 60 s at which many clients cut a call.
pub const ASSIGN_WAIT_SECONDS: u64 = 50;

/// The longest wait of `assign_task`, like that of `wait_for_message`.
pub const MAX_ASSIGN_WAIT_SECONDS: u64 = MAX_WAIT_SECONDS;

/// A client that waits in `assign_task` and asked for progress hears of it this often.
pub const PROGRESS: Duration = Duration::from_secs(2);

/// A call waits for the user's yes. Clients abandon a call sooner or later; the answer counts for the next one all the same.
pub const CONSENT: Duration = Duration::from_secs(MAX_ASSIGN_WAIT_SECONDS);

/// `cancel_task` and `cancel_workflow` wait for the agent's own word: real agents take a tenth of a second.
pub const CANCEL_ANSWER: Duration = Duration::from_secs(3);

/// The promise of `kill_agent`: SIGTERM, 5 s, SIGKILL, and the time to see that the agent is gone.
pub const KILL_AGENT: Duration = Duration::from_secs(10);

/// A client of ours waits for its server to introduce itself.
pub const GREETING: Duration = Duration::from_secs(10);

/// How long each step of a hook may take: to read what Claude Code says, to requeue what an earlier hook left, to receive, and to
/// record what it has said. Longer than [`BUS_BUSY`], whose own error says more. All four fit into the 15 s that the documented
/// settings give a hook; the next hook does what is left.
pub const HOOK: Duration = Duration::from_millis(3_500);

// Requests, steps and gates.

/// The default of `request_task`'s `timeout_seconds`, after which members are reminded, in the specification.
pub const REQUEST_NUDGE_SECONDS: u64 = 30;

/// The default of `request_task`'s `ttl_seconds`: turns last minutes, so an offer must outlive one.
pub const REQUEST_TTL_SECONDS: u64 = 900;

/// The longest `ttl_seconds` and `timeout_seconds` of a request: a day.
pub const MAX_REQUEST_SECONDS: u64 = 24 * 60 * 60;

/// The longest `timeout_seconds` of a step: a day.
pub const MAX_STEP_SECONDS: u64 = 24 * 60 * 60;

/// The default time of a gate: a test suite takes minutes.
pub const GATE_SECONDS: u64 = 600;

/// A step that is blocked by something temporary, such as a busy bus, fails after this.
pub const STEP_BLOCKED: Duration = Duration::from_mins(1);

// The bus.

/// A command waits for the lock of the bus. Then it is withdrawn: the bus is busy.
pub const BUS_BUSY: Duration = Duration::from_secs(2);

/// A joining session waits for its name while the holder is live: a client that restarts its server closes the old one first.
pub const NAME: Duration = Duration::from_secs(5);

/// A process looks this often for lost wakeups, for dead sessions, and for what is due.
pub const LOOK_AROUND: Duration = Duration::from_secs(1);

/// The presences of a process show a sign of life this often.
pub const HEARTBEAT: Duration = Duration::from_secs(10);

/// A session counts as hung once a process has watched its heartbeat stand still for this long: three beats.
pub const HUNG: Duration = Duration::from_secs(30);

/// An orchestrator looks this often whether its server has joined a bus, or another one. Nothing urgent depends on it.
pub const LOOK_FOR_MEMBERSHIP: Duration = Duration::from_secs(10);

/// A running bridge looks this often for agents of dead bridges.
pub const LOOK_FOR_DEAD_BRIDGES: Duration = Duration::from_mins(1);

/// How long `get_agent_status` shows a departed session.
pub const DEPARTED_SHOWN_MS: u64 = 10 * 60 * 1000;

// Messages.

/// The bridge waits for an agent to accept or refuse messages for its running turn. Real agents answer within milliseconds, but for a
/// busy machine.
pub const STEER_ANSWER: Duration = Duration::from_secs(10);

/// How long an accepted text may be on its way from an agent's adapter to the agent: milliseconds, but for a busy machine.
pub const STEER_LAG: Duration = Duration::from_secs(2);

/// An agent's question for messages is answered with nothing at the latest after this: the agent waits 2 s.
pub const DRAIN_ANSWER: Duration = Duration::from_millis(1_500);

/// The end of a turn waits for the record that an answer was written which its agent has had: the agent may be faster than that record
/// on the bus.
pub const ANSWER_RECORDED: Duration = Duration::from_secs(1);

/// A message that was delivered to a call counts as lost when the session shows no sign of it for this long: longer than most turns.
pub const HANDED_MS: u64 = 10 * 60 * 1000;

/// How much later than a wait's own deadline another process may end it, for a process that did not.
pub const WAIT_SLACK_MS: u64 = 10_000;

/// How long messages for an absent name wait until a session takes that name again.
pub const ABSENT_MAIL_MS: u64 = 30 * 24 * 60 * 60 * 1000;

// Agents.

/// The bridge waits for the shim to report that the agent runs. It takes milliseconds, and seconds on a machine that swaps.
pub const SHIM_START: Duration = Duration::from_secs(10);

/// With signs of life an agent may take so many times its `start_seconds` to start.
pub const START_EXTENSION: u32 = 5;

/// The first prompt waits until the agent has asked our endpoint for its tools. Then messages go by prompt only.
pub const TOOLS_LISTED: Duration = Duration::from_secs(15);

/// A bridge looks at least this often for signs of life of an agent in a turn.
pub const LOOK_FOR_SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// A bridge records the signs of life of an agent on the bus this often.
pub const RECORD_SIGN_OF_LIFE: Duration = Duration::from_secs(30);

/// Two restarts of an agent are at least this far apart: an agent that ends at once would be restarted for ever.
pub const BETWEEN_RESTARTS: Duration = Duration::from_secs(5);

/// The time in which the restarts of an agent are counted.
pub const COUNT_RESTARTS: Duration = Duration::from_mins(1);

/// How much longer than the bus a bridge waits for the bus's own "no" to a question for permission, before it says no itself.
pub const PERMISSION_SLACK: Duration = Duration::from_secs(10);

/// A question for permission waits for a look at where its paths lead. It needs milliseconds.
pub const LOOK_AT_PATHS: Duration = Duration::from_secs(2);

/// The end of a task waits for git to tell which files have changed.
pub const GIT: Duration = Duration::from_secs(2);

/// A bridge tries to store the output of a task for this long before the task fails for that. A short output needs no storing, so such
/// an end can be reported all the same.
pub const STORE_OUTPUT: Duration = Duration::from_mins(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_waits_for_another_wait_waits_longer() {
        assert!(BUS_BUSY < TOOL && BUS_BUSY < HOOK);
        assert!(NAME + BUS_BUSY < JOIN);
        assert!(HEARTBEAT * 3 <= HUNG);
        assert!(STEER_LAG < STEER_ANSWER);
    }
}
