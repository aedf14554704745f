//! The fields of a profile that the project's own file sets and that need the user's consent.

use super::agent_profile::Profile;
use crate::config::value_origin::Sourced;

impl Profile {
    /// Says whether the project's own file decides which program runs, or with which permissions.
    ///
    /// A cloned repository may contain such a file, so the bridge notifies the user at the first start.
    pub fn comes_from_project_file(&self) -> bool {
        !self.fields_from_project_file().is_empty()
    }

    /// Returns the fields by which the project's own file decides which program runs, and with which permissions.
    pub fn fields_from_project_file(&self) -> Vec<&'static str> {
        [
            ("command", self.command.is_from_project()),
            ("args", self.args.is_from_project()),
            ("env", self.env.values().any(Sourced::is_from_project)),
            ("env_pass", self.env_pass.is_from_project()),
            ("permissions", self.permissions.is_from_project()),
            ("permission_seconds", self.permission_seconds.is_from_project()),
            ("file_system", self.file_system.is_from_project()),
            ("mode", self.mode.as_ref().is_some_and(Sourced::is_from_project)),
            ("modes", self.modes.iter().any(|(_, mode)| mode.is_from_project())),
        ]
        .into_iter()
        .filter_map(|(field, from_project)| from_project.then_some(field))
        .collect()
    }
}
