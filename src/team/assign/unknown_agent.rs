//! The error for work that is meant for a name which is neither a live agent's nor a profile's: one sentence for a task and for a step
//! of a plan.

use crate::domain::limits;
use crate::domain::text::suggest::nearest;
use crate::team::error::TeamError;

/// Makes the error, with the nearest of the known names.
pub(super) fn unknown_agent(
    name: &str,
    members: impl Iterator<Item = String>,
    profiles: Vec<String>,
) -> TeamError {
    let names: Vec<_> = members.chain(profiles.iter().cloned()).collect();
    TeamError::Unknown {
        nearest: nearest(name, &names),
        name: name.chars().take(limits::SHOWN_NAME_CHARS).collect(),
        profiles,
    }
}
