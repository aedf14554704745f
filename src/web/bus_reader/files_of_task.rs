//! Which files a task has changed, and where its agent works: what git is asked about. Of a task that ran on another host git is asked
//! nothing: whatever has that path here is another file.

use std::path::PathBuf;

use crate::bus::storage::file::Follower;
use crate::domain::ids::TaskId;
use crate::domain::member::Host;
use crate::domain::name::Name;
use crate::domain::task::result::FileChange;
use crate::reader::WholeTask;
use crate::web::pages::FilesElsewhere;

/// The files that a task has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::web) struct ChangedFiles {
    /// The directory in which its agent works.
    pub(in crate::web) cwd: PathBuf,
    /// The paths in the project.
    pub(in crate::web) paths: Vec<String>,
}

/// Looks where the files of a task are; none if that is here, or not known.
pub(super) fn files_elsewhere(bus: &Follower, task: &WholeTask) -> Option<FilesElsewhere> {
    let task = bus.state().task(&TaskId::parse(&task.row.task_id).ok()?)?;
    let machine = task.host.clone()?;
    let is_namesake = machine.eq_ignore_ascii_case(&bus.machine());
    let is_elsewhere = match task.host_id.filter(|_| bus.host().is_some()) {
        Some(id) => bus.is_elsewhere(&Host { id, name: machine.clone() }),
        // An earlier version has kept the name alone, and a bus that has left its server has no hosts.
        None => !is_namesake,
    };
    is_elsewhere.then_some(FilesElsewhere { machine, is_namesake })
}

impl ChangedFiles {
    /// Returns those of a task; none if it has changed none here, or it is not known where its agent works.
    pub(super) fn of(bus: &Follower, task: &WholeTask) -> Option<Self> {
        if files_elsewhere(bus, task).is_some() {
            return None;
        }
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
