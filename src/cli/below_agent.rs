//! Whether this process runs below an agent of a team, or below a gate, which runs what agents wrote. Then it does not lead.
//!
//! The agent's mark in the environment says so, and so does a guard of ours, a bridge that leads, or a process with the mark, among
//! the ancestors: an agent may clear an environment, and whatever leaves its parent falls to the guard, or to the bridge when the
//! guard is killed. A bridge that leads starts nothing by itself that would lead, join or say yes. Where there is no `/proc` only
//! the own environment tells.
//!
//! In a PID namespace of its own a process does not see who has started it, and an agent's process can make one. There the buses of
//! this user decide: while an agent is at work that is not seen from here, nobody leads or joins. In a container where all of them
//! are, they are seen.

use std::io::{IsTerminal as _, stdin};

use super::commands::agent;
use super::{Failure, open_bus};
use crate::bus::Bus;
use crate::bus::state::Session;
use crate::domain::env_vars;
use crate::domain::member::MemberKind;
use crate::domain::name::Name;
use crate::supervisor::shim_process::SHIM;
use crate::sys::process::descendants;
use crate::sys::process::pid_namespace::{self, Sight};
use crate::sys::{process, terminal};

/// Why something is not done below an agent.
const WHY: &str = "this process was started by an agent of a team (BRIDGE_RUN is set, or a shim or \
                   an orchestrator of the bridge is among its ancestors)";

/// The commands in which this binary leads a team, so that orphans of its agents fall to it.
const LEADS: [&str; 2] = ["orchestrator", "run"];

/// Why something is not done where nothing can be seen.
const BLIND: &str = "this process cannot see its ancestors, so an agent of a team may have started \
                     it. Start it where `/proc` belongs to its own PID namespace";

/// What such a process is told instead of any answer.
const ADVICE: &str = "use the tools of the MCP server `bridge` that this agent was started with";

/// Says whether this process runs below an agent, or cannot know.
pub(super) fn is_below_an_agent() -> bool {
    why().is_some()
}

fn why() -> Option<&'static str> {
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
    match why() {
        Some(why) => Err(format!("{why}, and an agent cannot {act}").into()),
        None => Ok(()),
    }
}

/// Refuses a yes that an agent at work may be saying: below it, where it cannot be seen from here, or without a terminal, as what has
/// left the tree of its agent (`at`, `systemd-run`) has none. While no agent is at work, containers and CI need neither.
pub(super) fn refuse_an_agents_yes() -> Result<(), Failure> {
    if let Some(agent) = hidden_anywhere()? {
        return Err(hides(&agent, "give its user's approval").into());
    }
    if !stdin().is_terminal()
        && !terminal::is_there()
        && let Some(agent) = open_bus::agent_at_work(|bus| find_agent(bus, |_| true))?
    {
        return Err(format!(
            "this process has no terminal, and `{agent}` is a live agent, which cannot give its \
             user's approval. Run this in a terminal, or stop `{agent}` first"
        )
        .into());
    }
    Ok(())
}

/// Serves the endpoint of the agent above in the place of what was asked for; where it is not known whose, each call says why not.
pub(super) fn serve(instead_of: &'static str) -> Result<(), Failure> {
    let why = why().unwrap_or(WHY);
    agent::serve(move |error| {
        tracing::debug!("cannot read the agent's identity: {error}");
        format!("{why}, and an agent cannot {instead_of}: {ADVICE}")
    })
}

/// Says why something is not done here as long as that agent is at work.
pub(super) fn hides(agent: &Name, act: &str) -> String {
    format!(
        "the live agent `{agent}` is not visible from this process's PID namespace (a container, \
         `bwrap` or `unshare`), so it may have started this process, and an agent cannot {act}. Do \
         it where the bridge of `{agent}` runs or outside all containers, or stop `{agent}` first"
    )
}

/// Returns an agent at work, on any bus of this user, that may be above this process without being seen from here.
pub(super) fn hidden_anywhere() -> Result<Option<Name>, Failure> {
    if pid_namespace::look() == Sight::Whole {
        return Ok(None);
    }
    open_bus::agent_at_work(hidden_agent)
}

/// Returns a live agent of a bus that may be above this process without being seen from here.
pub(super) fn hidden_agent(bus: &Bus) -> Option<Name> {
    find_agent(bus, |agent| {
        // Of one that is being started it is not known yet.
        let run = agent.run.as_ref();
        let own = run.into_iter().flat_map(|run| [Some(run.agent), run.shim]);
        pid_namespace::may_hide(own.flatten().map(|mark| (mark.pid, mark.started)))
    })
}

/// Returns an agent of a bus that is alive and as wanted.
fn find_agent(bus: &Bus, wanted: impl Fn(&Session) -> bool) -> Option<Name> {
    let agents = bus.look(|state| {
        let live = state.live_sessions().into_iter();
        let agents = live.filter(|live| live.kind == MemberKind::Agent && wanted(live));
        let agents = agents.map(|agent| (agent.id, agent.name.clone()));
        agents.collect::<Vec<_>>()
    });
    // What the log says of it may be long ago.
    let mut held = agents.into_iter().filter(|(id, _)| bus.is_held(*id));
    held.next().map(|(_, name)| name)
}
