//! Opens the bus of a project for a command that only looks, and says why there is none to look at.

use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::bus::storage::file::{FileLog, Follower, Foreign, PresentBus, Proof};
use crate::bus::storage::{LogError, OnWakeup};
use crate::cli::find_project::{self, Project};
use crate::cli::{Failure, open_bus, output, with_hint};
use crate::domain::text::shown_path::ShownPath as _;
use crate::sys::fs::disk::RealDisk;
use crate::sys::fs::user_state_dir::StateDirectory;

/// Which project to look at, and in what form.
#[derive(Clone, Debug, Args)]
pub(in crate::cli::commands) struct Place {
    /// The project directory [default: found from the current directory].
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Print JSON instead of lines for people.
    #[arg(long)]
    pub(in crate::cli::commands) json: bool,
}

/// A project's bus, opened for reading.
pub(crate) struct OpenedBus {
    /// The project.
    pub(crate) root: PathBuf,
    /// The directory of its bus, which may not exist.
    pub(crate) directory: PathBuf,
    /// Its bus; none if the project has no team yet.
    pub(crate) bus: Option<Box<Follower>>,
}

/// Opens the bus of the named project, or of the current directory's, as a reader, which calls `on_change` after every possible append.
pub(crate) fn open_project(
    named: Option<&Path>,
    on_change: Option<OnWakeup>,
) -> Result<OpenedBus, Failure> {
    let project = find_project::find(named)?;
    let directory = project.bus_directory();
    if let Some(why) = open_bus::fetch_for_window(&directory) {
        output::tell(&format!("What is shown may be old: {why}"));
    }
    let bus = match Follower::look_at(&directory, &whose(), on_change) {
        Ok(PresentBus::Readable(bus)) => Some(bus),
        Ok(PresentBus::Absent) => None,
        Ok(PresentBus::Foreign) => return Err(foreign(&directory)),
        Err(error) => return Err(unusable(error)),
    };
    Ok(OpenedBus { root: project.root, directory, bus })
}

/// A bus of a command that looks once and then ends: the exit of the process frees a state of a hundred thousand messages at once, and the
/// command would take a tenth of its time to free each.
pub(super) type BusUntilExit = ManuallyDrop<Box<Follower>>;

pub(super) fn until_exit(bus: Box<Follower>) -> BusUntilExit {
    ManuallyDrop::new(bus)
}

impl Place {
    /// Finds the project, and what proves that its bus was created here.
    pub(in crate::cli::commands) fn project_and_proof(&self) -> Result<(Project, Proof), Failure> {
        Ok((find_project::find(self.project.as_deref())?, whose()))
    }

    /// Opens the bus as a reader, which calls `on_change` after every possible append.
    pub(super) fn open(&self, on_change: Option<OnWakeup>) -> Result<OpenedBus, Failure> {
        open_project(self.project.as_deref(), on_change)
    }

    /// Opens the bus once, or says that there is no team yet and returns none.
    pub(super) fn open_once(&self) -> Result<Option<BusUntilExit>, Failure> {
        let OpenedBus { root, bus, .. } = self.open(None)?;
        if bus.is_none() {
            output::tell(&no_team(&root));
        }
        Ok(bus.map(until_exit))
    }
}

/// Returns what proves that a bus was created here.
pub(in crate::cli::commands) fn whose() -> Proof {
    Proof { state: StateDirectory::of_process(), foreign: Foreign::PutAside }
}

/// Says that a bus was not created where it is.
pub(in crate::cli::commands) fn foreign(directory: &Path) -> Failure {
    let what = format!("the bus `{}` was not created here, so it is not read", directory.shown());
    if FileLog::is_mirror(directory, &RealDisk) {
        let what = format!("{what}; it says that it is a copy of one that several machines share");
        return with_hint(
            what,
            "move it aside, and run `cli-team-bridge bus init` with the server and the team",
        );
    }
    with_hint(
        what,
        "if it is yours, run `cli-team-bridge orchestrator --adopt < /dev/null` in the project",
    )
}

/// Says why a bus cannot be used.
pub(in crate::cli::commands) fn unusable(error: LogError) -> Failure {
    match error {
        LogError::Newer => {
            let hint = "update this program: `cli-team-bridge doctor` names its version";
            with_hint(error.to_string(), hint)
        }
        error => error.into(),
    }
}

/// Says that a project has no team yet.
pub(in crate::cli::commands) fn no_team(root: &Path) -> String {
    format!("There is no team in `{}` yet.", root.shown())
}

/// Refuses what needs a team, where there is none yet.
pub(crate) fn needs_team(root: &Path) -> Failure {
    with_hint(
        format!("there is no team in `{}` yet", root.shown()),
        "a team begins when a connected client starts there; `cli-team-bridge` says what to do next, and --project names another project",
    )
}

/// Prints a part of the read model as JSON.
pub(crate) fn print_json(part: &impl Serialize) {
    let text = serde_json::to_string_pretty(part).expect("the read model is plain data");
    output::say(&text);
}
