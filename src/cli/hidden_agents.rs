//! Finds live agents that may be ancestors of this process although it cannot see them.
//!
//! In a PID namespace of its own a process does not see its ancestors, and an agent's process can create such a namespace. There
//! the buses of this user decide: while an agent is live that cannot be seen from here, this process neither leads nor joins. In a
//! container with all agents inside, they are seen.

use crate::bus::Bus;
use crate::bus::state::Session;
use crate::domain::member::MemberKind;
use crate::domain::name::Name;
use crate::sys::process::pid_namespace;

/// Returns why an act is refused while that agent is live.
pub(super) fn hides(agent: &Name, act: &str) -> String {
    format!(
        "the live agent `{agent}` is not visible from this process's PID namespace (a container, \
         `bwrap` or `unshare`), so it may have started this process, and an agent cannot {act}. Do \
         it where the bridge of `{agent}` runs or outside all containers, or stop `{agent}` first"
    )
}

/// Returns a live agent of a bus.
pub(super) fn any_agent(bus: &Bus) -> Option<Name> {
    find_agent(bus, |_| true)
}

/// Returns a live agent of a bus that may be a hidden ancestor of this process.
pub(super) fn hidden_agent(bus: &Bus) -> Option<Name> {
    find_agent(bus, |agent| {
        // The processes of a starting agent are not known yet.
        let run = agent.run.as_ref();
        let own = run.into_iter().flat_map(|run| [Some(run.agent), run.shim]);
        pid_namespace::may_hide(own.flatten().map(|mark| (mark.pid, mark.started)))
    })
}

/// Returns a live agent of a bus that meets a condition.
fn find_agent(bus: &Bus, meets: impl Fn(&Session) -> bool) -> Option<Name> {
    let agents = bus.look(|state| {
        let live = state.live_sessions().into_iter();
        let agents = live.filter(|live| live.kind == MemberKind::Agent && meets(live));
        let agents = agents.map(|agent| (agent.id, agent.name.clone()));
        agents.collect::<Vec<_>>()
    });
    // The log may be out of date.
    let mut held = agents.into_iter().filter(|(id, _)| bus.is_held(*id));
    held.next().map(|(_, name)| name)
}
