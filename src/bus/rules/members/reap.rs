//! Reaping sessions whose processes are gone.

use super::leadership::settle_lead;
use super::leave::{EndNotice, Leaving, write_left};
use super::peer_signals::{Subject, tell_left};
use super::session_summary;
use crate::bus::rules::command::DeadSession;
use crate::bus::rules::decision::Decision;
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::{Session, State};
use crate::domain::ids::SessionId;
use crate::domain::limits;
use crate::domain::member::Departure;

/// Writes the end of sessions whose presence no process holds. Skips those that have already left. Very many take several
/// appends: the process that found them looks again.
pub(in crate::bus::rules) fn reap(
    decision: &mut Decision<'_>,
    sessions: &[DeadSession],
) -> Result<(), Refusal> {
    let (mut gone, mut left) = (Vec::new(), Vec::new());
    let lead = decision.state().lead().map(|lead| lead.id);
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
                // Agents that die with their bridge are told of together.
                if left.len() < limits::DEPARTURES_AT_ONCE && session.pid.is_some() {
                    left.push(Subject::of(session));
                }
            }
            Ok(())
        })?;
    }
    settle_lead(decision)?;
    if left.is_empty() && gone.is_empty() {
        return Ok(());
    }
    decision.step(|writer| {
        let is_new = writer.state.lead().map(|lead| lead.id) != lead;
        if !gone.is_empty() {
            session_summary::notify_lead(writer, &gone);
        } else if is_new {
            session_summary::inherit(writer);
        }
        for subject in &left {
            tell_left(writer, subject, Departure::Dead);
        }
        Ok(())
    })
}

fn lost_its_bridge(state: &State, agent: &Session) -> bool {
    let owner = agent.owner;
    owner.is_some_and(|owner| state.session(owner).is_none())
}
