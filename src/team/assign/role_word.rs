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

/// Returns the first profile with a role whose program is installed, else the first with it.
pub(crate) fn profile_with<'a>(
    config: &'a Config,
    launch: &Launch,
    role: &Label,
) -> Option<&'a Profile> {
    let has_it = |profile: &&Profile| profile.has_word(role);
    let is_installed = |profile: &&Profile| launch.program(profile).is_ok();
    let installed = config.profiles().filter(has_it).find(is_installed);
    installed.or_else(|| config.profiles().find(has_it))
}
