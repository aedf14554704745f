//! The word by which work is for a role, and the profile from which an agent is started for it.

use crate::config::{Config, Profile};
use crate::domain::member::Label;
use crate::domain::messaging::Group;
use crate::team::launch::Launch;

/// Returns the role that an assignee names, if it names one.
pub fn role_of(agent: &str) -> Option<Label> {
    match Group::parse(agent.trim()) {
        Ok(Some(Group::Word(role))) => Some(role),
        _ => None,
    }
}

/// Returns the first profile with a role: one whose program is installed, and that needs no consent of the user, before others. So a file
/// that a project brings keeps no work from the user's own profiles.
pub(crate) fn profile_with<'a>(
    config: &'a Config,
    launch: &Launch,
    role: &Label,
) -> Option<&'a Profile> {
    let is_installed = |profile: &Profile| launch.program(profile).is_ok();
    let needs_yes =
        |profile: &Profile| config.unagreed().any(|file| file.demanded_of(&profile.name).is_some());
    let with_it = config.profiles().filter(|profile| profile.has_word(role));
    with_it.min_by_key(|profile| (!is_installed(profile), needs_yes(profile)))
}
