//! The error for a task or a step that names neither a live agent nor a profile.

use crate::domain::limits;
use crate::domain::text::suggest::nearest;
use crate::team::error::TeamError;

/// Makes the error, with the known name that is nearest.
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
