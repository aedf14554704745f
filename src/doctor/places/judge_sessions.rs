//! Judges the sessions of a bus. Pure.

use std::path::Path;

use crate::bus::state::{Session, State};
use crate::bus::storage::file::{ExaminedBus, SeenPresence};
use crate::doctor::finding::{Finding, Fix, Subject};
use crate::domain::ids::SessionId;
use crate::domain::text::counted::counted_as;
use crate::domain::wait_times;

const SUBJECT: Subject = Subject::Bus;

/// Judges each session that is live according to the log. `suspended` lists those whose process a signal has stopped.
pub(super) fn judge(
    state: &State,
    presences: &[SeenPresence],
    suspended: &[(SessionId, u32)],
    now_ns: i128,
) -> Vec<Finding> {
    let live = state.live_sessions();
    let found: Vec<_> = live
        .iter()
        .filter_map(|session| {
            let presence = presences.iter().find(|presence| presence.session == session.id);
            let stopped = suspended.iter().find(|(id, _)| *id == session.id);
            judge_session(session, presence, stopped.map(|(_, pid)| *pid), now_ns)
        })
        .collect();
    if !found.is_empty() {
        return found;
    }
    let says = match live.len() {
        0 => "none is live".to_owned(),
        number => format!("{}, all well", counted_as(number, "is live", "are live")),
    };
    vec![Finding::ok(&SUBJECT, "sessions", says).with_fact("live", live.len())]
}

fn judge_session(
    session: &Session,
    presence: Option<&SeenPresence>,
    suspended: Option<u32>,
    now_ns: i128,
) -> Option<Finding> {
    let name = &session.name;
    let check = "sessions";
    if !presence.is_some_and(|presence| presence.is_held) {
        let says = format!("`{name}` ended without leaving the bus");
        return Some(
            Finding::note(&SUBJECT, check, says)
                .with_remedy("nothing: the next session that opens the bus records its end"),
        );
    }
    if let Some(pid) = suspended {
        return Some(Finding::problem(
            &SUBJECT,
            check,
            format!("the process {pid} of `{name}` was stopped by a signal, so it does nothing"),
            format!("continue it with `kill -CONT {pid}`, or end it with `kill -KILL {pid}`"),
        ));
    }
    let silent_ns = presence.and_then(|presence| presence.beat_ns).map(|beat| now_ns - beat);
    let hung_ns = i128::try_from(wait_times::HUNG.as_nanos()).unwrap_or(i128::MAX);
    if session.hung || silent_ns.is_some_and(|silent| silent > hung_ns) {
        let seconds = silent_ns.unwrap_or_default() / 1_000_000_000;
        return Some(Finding::problem(
            &SUBJECT,
            check,
            format!("the process that holds `{name}` has shown no sign of life for {seconds} s"),
            "check whether it is suspended (Ctrl-Z, a debugger) or the machine is overloaded; if it \
             does not recover, end that client",
        ));
    }
    if session.stuck || session.stalled {
        return Some(Finding::problem(
            &SUBJECT,
            check,
            format!("`{name}` is {}: its turn shows no sign of life", session.status()),
            format!("let its leader call cancel_task, or kill_agent with `{name}`"),
        ));
    }
    None
}

/// Judges the processes left behind by agents of this bus.
pub(super) fn judge_leftovers(pids: &[u32]) -> Finding {
    if pids.is_empty() {
        return Finding::ok(&SUBJECT, "leftovers", "no process of an agent is left behind");
    }
    let listed: Vec<_> = pids.iter().map(u32::to_string).collect();
    Finding::problem(
        &SUBJECT,
        "leftovers",
        format!(
            "{} left behind by agents that have ended: {}",
            counted_as(pids.len(), "process was", "processes were"),
            listed.join(", ")
        ),
        "start one of your clients in the project: its orchestrator ends them",
    )
    .with_fact("pids", pids.to_vec())
}

/// Judges the presences of dead sessions.
pub(super) fn judge_presences(directory: &Path, bus: &ExaminedBus) -> Option<Finding> {
    let is_live =
        |session: SessionId| bus.state.as_ref().is_ok_and(|state| state.session(session).is_some());
    let left = bus.presences.iter().filter(|one| !one.is_held && !is_live(one.session)).count();
    if left == 0 {
        return None;
    }
    let says = format!("{} by dead sessions", counted_as(left, "file was left", "files were left"));
    Some(
        Finding::note(&SUBJECT, "presences", says)
            .with_remedy("they do no harm: the next session that opens the bus removes them, and `cli-team-bridge doctor --fix` those whose end is known")
            .with_fix(Fix::LeftPresences(directory.to_owned())),
    )
}
