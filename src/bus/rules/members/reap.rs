//! Reaping sessions whose processes are gone.

use super::leave::{EndNotice, Leaving, write_left};
use super::session_summary::notify_all;
use crate::bus::rules::command::DeadSession;
use crate::bus::rules::decision::Decision;
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::{Session, State};
use crate::domain::ids::SessionId;
use crate::domain::member::Departure;

/// Writes the end of sessions whose presence no process holds. Skips those that have already left. Very many take several
/// appends: the process that found them looks again.
pub(in crate::bus::rules) fn reap(
    decision: &mut Decision<'_>,
    sessions: &[DeadSession],
) -> Result<(), Refusal> {
    let mut gone = Vec::new();
    let is_among = |id: SessionId| sessions.iter().any(|dead| dead.session == id);
    for dead in sessions {
        if decision.is_full() {
            break;
        }
        decision.step(|writer| {
            if let Some(session) = writer.state.session(dead.session) {
                let ends_too = session.owner.is_some_and(is_among);
                let is_orphan = ends_too || lost_its_bridge(writer.state, session);
                if is_orphan {
                    gone.push(session.name.clone());
                }
                let notice = if is_orphan { EndNotice::InSummary } else { EndNotice::Separate };
                let how = Leaving { alive_ms: dead.alive_ms, ..Leaving::of(Departure::Dead) };
                write_left(writer, session, how, notice);
            }
            Ok(())
        })?;
    }
    if !gone.is_empty() {
        decision.step(|writer| {
            notify_all(writer, &gone);
            Ok(())
        })?;
    }
    Ok(())
}

fn lost_its_bridge(state: &State, agent: &Session) -> bool {
    let owner = agent.owner;
    owner.is_some_and(|owner| state.session(owner).is_none())
}
