//! Whether this process runs below an agent of a team, or below a gate, which runs what agents wrote. Then it does not lead.
//!
//! The agent's mark in the environment says so. So does an ancestor that is a shim, a bridge that leads, or a process with the mark:
//! an agent may clear its environment, and a process that leaves its parent falls to the shim, or to the bridge when the shim is
//! killed. A bridge that leads starts nothing by itself that would lead, join or say yes. Without `/proc` only the process's own
//! environment counts.
//!
//! A process in a PID namespace of its own does not see its ancestors outside: there `hidden_agents` decides.

use super::Failure;
use crate::domain::env_vars;
use crate::supervisor::shim_process::SHIM;
use crate::sys::process;
use crate::sys::process::descendants;
use crate::sys::process::pid_namespace::{self, Sight};

/// Why something is not done below an agent.
const WHY: &str = "this process was started by an agent of a team (BRIDGE_RUN is set, or a shim or \
                   an orchestrator of the bridge is among its ancestors)";

/// The commands in which this binary leads a team, so that orphans of its agents fall to it.
const LEADS: [&str; 3] = ["orchestrator", "run", "doctor"];

/// Why something is not done where nothing can be seen.
const BLIND: &str = "this process cannot see its ancestors, so an agent of a team may have started \
                     it. Start it where `/proc` belongs to its own PID namespace";

/// Says whether this process runs below an agent, or cannot know.
pub(super) fn is_below_an_agent() -> bool {
    find_reason().is_some()
}

/// Returns why this process does not lead or join, once that is known.
pub(super) fn why() -> &'static str {
    find_reason().unwrap_or(WHY)
}

fn find_reason() -> Option<&'static str> {
    let own = process::own_pid();
    let leads = |pid: u32, command: &str| {
        // The first process of a container may lead, and orphans of its agents fall to it too.
        Some(pid) != own && LEADS.contains(&command) && process::runs_this_program(pid)
    };
    let tells = |pid: u32| {
        let command = process::first_argument(pid).unwrap_or_default();
        let is_marked = || process::has_variable(pid, env_vars::RUN) || command == SHIM;
        leads(pid, &command) || (pid > 1 && is_marked())
    };
    let is_below = std::env::var_os(env_vars::RUN).is_some()
        || descendants::ancestors_and_self().into_iter().any(tells);
    if is_below {
        return Some(WHY);
    }
    (pid_namespace::look() == Sight::Blind).then_some(BLIND)
}

/// Refuses what only a user or an orchestrator may do.
pub(super) fn refuse_to(act: &str) -> Result<(), Failure> {
    match find_reason() {
        Some(why) => Err(format!("{why}, and an agent cannot {act}").into()),
        None => Ok(()),
    }
}
