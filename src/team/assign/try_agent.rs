//! The trial of an agent: it is started as for a task, but gets none. No prompt is sent, so no model is asked and nothing is paid for.

use std::path::PathBuf;

use super::start_new_agent::{Ground, Newcomer, Started};
use crate::bus::rules::NameChoice;
use crate::config::Restart;
use crate::domain::ids::SessionId;
use crate::domain::name::Name;
use crate::team::error::TeamError;
use crate::team::team_handle::Team;

/// An agent on trial. The bus shows how it starts and ends.
#[derive(Clone, Debug)]
pub struct TriedAgent {
    pub session: SessionId,
    pub name: Name,
}

impl Team {
    /// Starts an agent of a profile in a directory, without a task. If its process ends, it is not restarted.
    pub async fn try_agent(&self, profile: &str, cwd: PathBuf) -> Result<TriedAgent, TeamError> {
        let mut profile = self.inner.config.profile(profile)?.clone();
        self.agreed([profile.name.as_str()])?;
        profile.restart.value = Restart::Never;
        let program = self.inner.launch.program(&profile)?;
        let new = Newcomer {
            choice: NameChoice::Like(profile.name.clone()),
            program,
            model: None,
            ground: Ground { root: cwd.clone(), cwd },
            earlier: None,
            is_on_trial: true,
            profile,
        };
        let Started { session, name } = self.start_new(new, None).await?;
        Ok(TriedAgent { session, name })
    }

    /// Returns the version that a live agent of this bridge reports.
    pub fn version_of(&self, session: SessionId) -> Option<String> {
        self.inner.offers.version(session).map(Into::into)
    }

    /// Returns what a live agent of this bridge has printed beside messages; empty if it has printed nothing.
    pub fn printed_by(&self, session: SessionId) -> String {
        self.inner.printed.shown(session)
    }
}
