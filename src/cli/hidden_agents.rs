//! Agents at work that may be above this process without being seen from here.
//!
//! In a PID namespace of its own a process does not see who has started it, and an agent's process can make one. There the buses of
//! this user decide: while an agent is at work that cannot be seen from here, nothing is led or joined. In a container that holds all
//! agents, they are seen.

use crate::bus::Bus;
use crate::bus::state::Session;
use crate::domain::member::MemberKind;
use crate::domain::name::Name;
use crate::sys::process::pid_namespace;

/// Says why something is not done here while that agent is at work.
pub(super) fn hides(agent: &Name, act: &str) -> String {
    format!(
        "the live agent `{agent}` is not visible from this process's PID namespace (a container, \
         `bwrap` or `unshare`), so it may have started this process, and an agent cannot {act}. Do \
         it where the bridge of `{agent}` runs or outside all containers, or stop `{agent}` first"
    )
}

/// Returns an agent of a bus that is at work.
pub(super) fn any_agent(bus: &Bus) -> Option<Name> {
    find_agent(bus, |_| true)
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

/// Returns a live agent of a bus that meets a condition.
fn find_agent(bus: &Bus, meets: impl Fn(&Session) -> bool) -> Option<Name> {
    let agents = bus.look(|state| {
        let live = state.live_sessions().into_iter();
        let agents = live.filter(|live| live.kind == MemberKind::Agent && meets(live));
        let agents = agents.map(|agent| (agent.id, agent.name.clone()));
        agents.collect::<Vec<_>>()
    });
    // What the log says of it may be long ago.
    let mut held = agents.into_iter().filter(|(id, _)| bus.is_held(*id));
    held.next().map(|(_, name)| name)
}
