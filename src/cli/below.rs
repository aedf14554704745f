//! Whether this process runs below an agent of a team, or below a gate, which runs what agents wrote. Then it does not lead.
//!
//! The agent's mark in the environment says so, and so does a guard of ours, or a process with the mark, among the ancestors: an
//! agent may clear an environment, and whatever leaves its parent falls to the guard. Where there is no `/proc` only the own
//! environment tells.

use super::{Failure, agent};
use crate::supervisor::shim::SHIM;
use crate::sys::{family, process};
use crate::team::RUN_MARK;

/// Why something is not done below an agent.
const WHY: &str = "this process runs below an agent of a team (by BRIDGE_RUN in an environment, or by a guard of the bridge among its \
                   ancestors)";

/// What such a process is told instead of any answer.
const ADVICE: &str =
    "an agent has the tools of the MCP server `bridge` that its own bridge gave it, and no others";

/// Says whether this process runs below an agent.
pub(super) fn is_below_an_agent() -> bool {
    let tells = |pid: u32| {
        process::has_variable(pid, RUN_MARK)
            || process::first_argument(pid).as_deref() == Some(SHIM)
    };
    std::env::var_os(RUN_MARK).is_some()
        || family::ancestors_and_self()
            .into_iter()
            .filter(|pid| *pid > 1)
            .any(tells)
}

/// Refuses what only a user or an orchestrator may do.
pub(super) fn refuse_to(act: &str) -> Result<(), Failure> {
    if is_below_an_agent() {
        return Err(format!("{WHY}, and an agent cannot {act}").into());
    }
    Ok(())
}

/// Serves the endpoint of the agent above in the place of what was asked for; where it is not known whose, each call says why not.
pub(super) fn serve(instead_of: &'static str) -> Result<(), Failure> {
    agent::serve(|error| {
        tracing::debug!("no identity: {error}");
        format!("{WHY}, and an agent cannot {instead_of}: {ADVICE}")
    })
}
