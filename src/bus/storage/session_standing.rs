//! Decides from the state whether a session with files in the bus directory is live, has left, or is unknown.

use super::Standing;
use crate::bus::state::State;
use crate::domain::ids::SessionId;

/// Returns the standing of a session.
pub(in crate::bus) fn standing(state: &State, session: SessionId) -> Standing {
    if state.session(session).is_some() {
        Standing::Live
    } else if state.departed().any(|departed| departed.session == session) {
        Standing::Left
    } else {
        Standing::Unknown
    }
}
