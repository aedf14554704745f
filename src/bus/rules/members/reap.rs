//! Sessions whose processes are gone: whoever finds them writes that they have left.

use super::leave::{Told, write_left};
use super::session_summary::tell_all;
use crate::bus::rules::decision::Decision;
use crate::bus::rules::refusal::Refusal;
use crate::bus::state::{Session, State};
use crate::domain::ids::SessionId;
use crate::domain::member::Departure;

/// Writes that sessions whose presence nobody holds have left. Those that left already are passed over; very many take several
/// appends, as whoever finds the dead looks again.
pub(in crate::bus::rules) fn bury(
    decision: &mut Decision<'_>,
    sessions: &[SessionId],
) -> Result<(), Refusal> {
    let mut gone = Vec::new();
    for id in sessions {
        if decision.is_full() {
            break;
        }
        decision.step(|writer| {
            if let Some(session) = writer.state.session(*id) {
                let ends_too = session.owner.is_some_and(|owner| sessions.contains(&owner));
                let is_orphan = ends_too || is_without_bridge(writer.state, session);
                if is_orphan {
                    gone.push(session.name.clone());
                }
                let told = if is_orphan { Told::Together } else { Told::Alone };
                write_left(writer, session, (Departure::Dead, None), told);
            }
            Ok(())
        })?;
    }
    if !gone.is_empty() {
        decision.step(|writer| {
            tell_all(writer, &gone);
            Ok(())
        })?;
    }
    Ok(())
}

fn is_without_bridge(state: &State, agent: &Session) -> bool {
    let owner = agent.owner;
    owner.is_some_and(|owner| state.session(owner).is_none())
}
