//! Refuses to start profiles and commands before the user has approved the file that brings them.

use std::path::Path;
use std::sync::Arc;

use super::assign::role_word::{profile_with, role_of};
use super::error::TeamError;
use super::project_trust::{Consent, Trust, UnreadableApproval};
use super::team_handle::Team;
use crate::config::{Brought, Config, ProjectFile};
use crate::domain::name::Name;
use crate::domain::text::shell_word::shell_word;

/// How many characters of a file's commands an error repeats.
const SHOWN_CHARS: usize = 1_000;

/// The command that asks the user for approval.
const COMMAND: &str = "cli-team-bridge trust";

/// Returns the command that asks the user for approval of a file, or of the project's own.
pub fn trust_command(file: Option<&Path>) -> String {
    match file {
        Some(file) => format!("{COMMAND} {}", shell_word(&file.to_string_lossy())),
        None => COMMAND.to_owned(),
    }
}

/// Refuses profiles that files of the project have made or widened, unless the user has approved those files. Names that are not
/// profiles pass.
pub fn agreed<'a>(
    config: &Config,
    trust: &Trust,
    profiles: impl IntoIterator<Item = &'a str>,
) -> Result<(), TeamError> {
    let names: Vec<_> = profiles.into_iter().filter_map(|name| Name::parse(name).ok()).collect();
    // Also a file that was approved when this bridge started: the user may have revoked the approval.
    config.project_files().iter().try_for_each(|file| agreed_to_file(file, trust, &names))
}

fn agreed_to_file(file: &ProjectFile, trust: &Trust, profiles: &[Name]) -> Result<(), TeamError> {
    let mut demanded = profiles.iter().filter_map(|name| Some((name, file.demanded_of(name)?)));
    let Some((name, demand)) = demanded.next() else {
        return Ok(());
    };
    let title = file.title();
    let what = format!("`{name}` was not started: it is defined by {title}. It {demand}");
    // The user may have approved it meanwhile, perhaps in another program.
    if holds(trust, &file.file, &what)? {
        return Ok(());
    }
    Err(TeamError::Unagreed(Arc::new(Consent {
        file: file.file.clone(),
        what,
        command: trust_command(file.trust_argument()),
        lines: file.lines(),
        trust: trust.clone(),
    })))
}

/// Returns whether the user's approval of a file holds now; if it cannot be read, `what` names the action that was not taken.
fn holds(trust: &Trust, file: &Brought, what: &str) -> Result<bool, TeamError> {
    trust.has(file).map_err(|why| TeamError::UnreadableApproval { what: what.to_owned(), why })
}

impl Team {
    /// Refuses profiles that need an approval which the user has not given. A role stands for the profile that would be started for it.
    pub fn agreed<'a>(&self, profiles: impl IntoIterator<Item = &'a str>) -> Result<(), TeamError> {
        let (config, launch) = (self.config(), &self.inner.launch);
        let of_role = |name: &'a str| match role_of(name) {
            Some(role) => Some(profile_with(config, launch, &role)?.name.as_str()),
            None => Some(name),
        };
        agreed(config, &launch.trust, profiles.into_iter().filter_map(of_role))
    }

    /// Returns the files of the project that have made or widened this profile.
    pub(super) fn files_of(&self, profile: &Name) -> Vec<Brought> {
        let files = self.config().project_files().iter();
        let asking = files.filter(|file| file.demanded_of(profile).is_some());
        asking.map(|file| file.file.clone()).collect()
    }

    /// Returns whether the user's approval of these bytes at this path holds now.
    pub fn is_approved(&self, file: &Brought) -> Result<bool, UnreadableApproval> {
        self.inner.launch.trust.has(file)
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
        if holds(&self.inner.launch.trust, file, &what)? {
            return Ok(());
        }
        Err(TeamError::Unagreed(Arc::new(Consent {
            file: file.clone(),
            what,
            command: trust_command(Some(Path::new(&named))),
            lines: runs,
            trust: self.inner.launch.trust.clone(),
        })))
    }
}
