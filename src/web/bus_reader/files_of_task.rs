//! Which files a task has changed, and where its agent works: what git is asked about.

use std::path::PathBuf;

use crate::bus::storage::file::Follower;
use crate::domain::name::Name;
use crate::domain::task::result::FileChange;
use crate::reader::WholeTask;

/// The files that a task has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::web) struct ChangedFiles {
    /// The directory in which its agent works.
    pub(in crate::web) cwd: PathBuf,
    /// The paths in the project.
    pub(in crate::web) paths: Vec<String>,
}

impl ChangedFiles {
    /// Returns those of a task; none if it has changed none, or it is not known where its agent works.
    pub(super) fn of(bus: &Follower, task: &WholeTask) -> Option<Self> {
        let files = &task.details.as_ref()?.files;
        let agent = Name::parse(&task.row.agent).ok()?;
        let live = bus.state().live(&agent).and_then(|session| session.cwd.clone());
        let past = || bus.state().past_agent(&agent).map(|(_, past)| past.cwd.clone());
        let cwd = live.or_else(past)?.into();
        // Where the agent says what it has changed, what else has changed meanwhile is most likely the work of others.
        let has_own = files.iter().any(FileChange::is_own);
        let shown = files.iter().filter(|file| file.is_own() || !has_own);
        let paths: Vec<_> = shown.map(|file| file.path.clone()).collect();
        (!paths.is_empty()).then_some(Self { cwd, paths })
    }
}
