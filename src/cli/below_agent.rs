//! Detects whether this process runs below an agent of a team, or below a gate, which runs code that agents wrote. Such a process
//! must not lead.
//!
//! The evidence is the agent's mark in the environment, or an ancestor that is a shim, a bridge that leads, or a process with the
//! mark. An agent may clear its environment, and an orphan is adopted by the shim, or by the bridge if the shim was killed. A
//! bridge that leads never itself starts a process that would lead, join or approve. Without `/proc` only the process's own
//! environment counts.
//!
//! A process in a PID namespace of its own does not see its ancestors outside: for these, `hidden_agents` decides.

use super::Failure;
use crate::domain::env_vars;
use crate::supervisor::shim_process::SHIM;
use crate::sys::process;
use crate::sys::process::descendants;
use crate::sys::process::pid_namespace::{self, Sight};

/// Why a command is refused below an agent.
const WHY: &str = "this process was started by an agent of a team (BRIDGE_RUN is set, or a shim or \
                   an orchestrator of the bridge is among its ancestors)";

/// The commands that lead a team, and so adopt the orphans of its agents.
const LEADS: [&str; 4] = ["orchestrator", "run", "host", "doctor"];

/// Why a command is refused where the ancestors cannot be seen.
const BLIND: &str = "this process cannot see its ancestors, so an agent of a team may have started \
                     it. Start it where `/proc` belongs to its own PID namespace";

/// Returns whether this process runs below an agent, or cannot know.
pub(super) fn is_below_an_agent() -> bool {
    find_reason().is_some()
}

/// Returns why this process must not lead or join, once that is known.
pub(super) fn why() -> &'static str {
    find_reason().unwrap_or(WHY)
}

fn find_reason() -> Option<&'static str> {
    let own = process::own_pid();
    let leads = |pid: u32, command: &str| {
        // The first process of a container may lead, and then adopts orphans of its agents too.
        Some(pid) != own && LEADS.contains(&command) && process::runs_this_program(pid)
    };
    let is_evidence = |pid: u32| {
        let command = process::first_argument(pid).unwrap_or_default();
        let is_marked = || process::has_variable(pid, env_vars::RUN) || command == SHIM;
        leads(pid, &command) || (pid > 1 && is_marked())
    };
    let is_below = std::env::var_os(env_vars::RUN).is_some()
        || descendants::ancestors_and_self().into_iter().any(is_evidence);
    if is_below {
        return Some(WHY);
    }
    (pid_namespace::look() == Sight::Blind).then_some(BLIND)
}

/// Refuses an act that only a user or an orchestrator may do.
pub(super) fn refuse_to(act: &str) -> Result<(), Failure> {
    match find_reason() {
        Some(why) => Err(format!("{why}, and an agent cannot {act}").into()),
        None => Ok(()),
    }
}
