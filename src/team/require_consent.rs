//! Refuses to start profiles and commands before the user has approved the file that brings them.

use std::sync::Arc;

use super::error::TeamError;
use super::project_trust::{Consent, UnreadableApproval};
use super::team_handle::Team;
use crate::config::Brought;
use crate::domain::name::Name;

/// How many characters of a file's commands an error repeats.
const SHOWN_CHARS: usize = 1_000;

/// The command that asks the user for approval.
const COMMAND: &str = "cli-team-bridge trust";

impl Team {
    /// Refuses profiles that the project's own file has made or widened, unless the user has approved that file. Names that are not
    /// profiles pass.
    pub fn agreed<'a>(&self, profiles: impl IntoIterator<Item = &'a str>) -> Result<(), TeamError> {
        // Also a file that was approved when this bridge started: the user may have revoked the approval.
        let asking = self.config().project_file();
        let Some(file) = asking.filter(|file| file.needs_yes()) else {
            return Ok(());
        };
        let demanded = |name: &str| {
            let name = Name::parse(name).ok()?;
            Some((file.demanded_of(&name)?, name))
        };
        let mut demanded = profiles.into_iter().filter_map(demanded);
        let Some((demand, name)) = demanded.next() else {
            return Ok(());
        };
        let what = format!(
            "`{name}` was not started: it is defined by the project's own bridge.toml. It {demand}"
        );
        // The user may have approved it meanwhile, perhaps in another program.
        if self.holds(&file.file, &what)? {
            return Ok(());
        }
        Err(TeamError::Unagreed(Arc::new(Consent {
            file: file.file.clone(),
            what,
            command: COMMAND.to_owned(),
            lines: file.lines(),
            trust: self.inner.launch.trust.clone(),
        })))
    }

    /// Returns the project's own file, if it has made or widened this profile.
    pub(super) fn file_of(&self, profile: &Name) -> Option<Brought> {
        let asking = self.config().project_file();
        let file = asking.filter(|file| file.demanded_of(profile).is_some());
        file.map(|file| file.file.clone())
    }

    /// Returns whether the user's approval of these bytes at this path holds now.
    pub fn is_approved(&self, file: &Brought) -> Result<bool, UnreadableApproval> {
        self.inner.launch.trust.has(file)
    }

    /// Does the same; if the approval cannot be read, `what` names the action that was not taken.
    fn holds(&self, file: &Brought, what: &str) -> Result<bool, TeamError> {
        self.is_approved(file)
            .map_err(|why| TeamError::UnreadableApproval { what: what.to_owned(), why })
    }

    /// Refuses the commands of a project's file, unless the user has approved that file.
    pub fn agreed_to(&self, file: &Brought, runs: Vec<String>) -> Result<(), TeamError> {
        if runs.is_empty() {
            return Ok(());
        }
        let path = file.path.strip_prefix(self.ground());
        let named = path.unwrap_or(&file.path).to_string_lossy().into_owned();
        let secrets = self.inner.launch.all_secrets(&self.inner.config);
        let shown = secrets.hidden(runs.join(", ")).clipped(SHOWN_CHARS);
        let what = format!("the plan {named:?} was not run: {shown}");
        if self.holds(file, &what)? {
            return Ok(());
        }
        Err(TeamError::Unagreed(Arc::new(Consent {
            file: file.clone(),
            what,
            command: format!("{COMMAND} {named:?}"),
            lines: runs,
            trust: self.inner.launch.trust.clone(),
        })))
    }
}
