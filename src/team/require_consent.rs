//! What the team does not start before its user has said yes to the file that brings it: a profile, a command of a plan.

use std::sync::Arc;

use super::error::TeamError;
use super::project_trust::{Consent, UnreadableYes};
use super::team_handle::Team;
use crate::config::Brought;
use crate::domain::name::Name;

/// Characters that a sentence repeats of what a file would run.
const SHOWN_CHARS: usize = 1_000;

/// The command by which a user says yes.
const COMMAND: &str = "cli-team-bridge trust";

impl Team {
    /// Refuses profiles that the project's own file has made or widened, unless the user has said yes to it. What is no profile
    /// passes.
    pub fn agreed<'a>(&self, profiles: impl IntoIterator<Item = &'a str>) -> Result<(), TeamError> {
        // Also where the user had said yes when this bridge was started: they may have taken it back.
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
        // Said meanwhile, perhaps in another program.
        if self.said(&file.file, &what)? {
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

    /// Says whether the user has said yes to these bytes at this place, and not taken it back.
    pub fn has_yes_to(&self, file: &Brought) -> Result<bool, UnreadableYes> {
        self.inner.launch.trust.has(file)
    }

    /// Says the same; where it cannot be read, `what` says what is not done for that.
    fn said(&self, file: &Brought, what: &str) -> Result<bool, TeamError> {
        self.has_yes_to(file).map_err(|why| TeamError::UnreadableYes { what: what.to_owned(), why })
    }

    /// Refuses what a file of the project would run, line by line, unless the user has said yes to it.
    pub fn agreed_to(&self, file: &Brought, runs: Vec<String>) -> Result<(), TeamError> {
        if runs.is_empty() {
            return Ok(());
        }
        let path = file.path.strip_prefix(self.ground());
        let named = path.unwrap_or(&file.path).to_string_lossy().into_owned();
        let secrets = self.inner.launch.all_secrets(&self.inner.config);
        let shown = secrets.hidden(runs.join(", ")).clipped(SHOWN_CHARS);
        let what = format!("the plan {named:?} was not run: {shown}");
        if self.said(file, &what)? {
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
