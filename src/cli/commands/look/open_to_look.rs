//! Opens the bus of a project for a command that only looks, and says why there is none to look at.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::bus::event::{BodyRef, Entry, LogPosition};
use crate::bus::state::State;
use crate::bus::storage::file::{Follower, Foreign, PresentBus, Proof, StoredTexts};
use crate::bus::storage::{LogError, OnWakeup};
use crate::cli::find_project::{self, Project};
use crate::cli::{Failure, output, with_hint};
use crate::domain::text::shown_path::ShownPath as _;
use crate::sys::fs::user_state_dir::StateDirectory;
use crate::view::{Board, KnownTexts, KnownWords, Looked, Texts};

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
    let bus = match Follower::look_at(&directory, &whose(), on_change) {
        Ok(PresentBus::Readable(bus)) => Some(bus),
        Ok(PresentBus::Absent) => None,
        Ok(PresentBus::Foreign) => return Err(foreign(&directory)),
        Err(error) => return Err(unusable(error)),
    };
    Ok(OpenedBus { root: project.root, directory, bus })
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
    pub(super) fn open_once(&self) -> Result<Option<Box<Follower>>, Failure> {
        let OpenedBus { root, bus, .. } = self.open(None)?;
        if bus.is_none() {
            output::tell(&no_team(&root));
        }
        Ok(bus)
    }
}

/// Returns what proves that a bus was created here.
pub(in crate::cli::commands) fn whose() -> Proof {
    Proof { state: StateDirectory::of_process(), foreign: Foreign::PutAside }
}

/// Says that a bus was not created where it is.
pub(in crate::cli::commands) fn foreign(directory: &Path) -> Failure {
    let what = format!("the bus `{}` was not created here, so it is not read", directory.shown());
    with_hint(what, "if it is yours, start an orchestrator once with --adopt")
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

/// Makes the board of a bus, with at most so many ended tasks, workflows and members of each.
pub(super) fn board(bus: &mut Follower, most_ended: usize) -> Board {
    board_again(bus, most_ended, &mut KnownWords::default())
}

/// Makes the board of a bus of which earlier boards have read words.
pub(in crate::cli::commands) fn board_again(
    bus: &mut Follower,
    most_ended: usize,
    known: &mut KnownWords,
) -> Board {
    let (seq, now, damaged_lines) = (bus.seq(), bus.now(), bus.damaged_lines());
    let sessions: Vec<_> = bus.state().session_ids().collect();
    let held: std::collections::BTreeSet<_> =
        sessions.into_iter().filter(|session| bus.is_held(*session)).collect();
    let (state, texts) = bus.state_and_texts();
    let is_held = |session| held.contains(&session);
    let looked = Looked { state, seq, now, is_held: &is_held, damaged_lines, most_ended };
    Board::of(&looked, &mut KnownTexts { texts: &mut LogTexts(texts), known })
}

/// The texts of a log, for the read model: one that cannot be read is missing.
pub(in crate::cli::commands) struct LogTexts<'a>(pub(in crate::cli::commands) StoredTexts<'a>);

impl Texts for LogTexts<'_> {
    fn text(&mut self, body: BodyRef) -> Option<String> {
        self.0.text(body).inspect_err(missed).ok()
    }

    fn long_text(&mut self, id: uuid::Uuid) -> Option<String> {
        self.0.long_text(id).inspect_err(missed).ok()
    }
}

fn missed(error: &LogError) {
    tracing::debug!(%error, "cannot read a text of the log");
}

/// Prints a part of the read model as JSON.
pub(crate) fn print_json(part: &impl Serialize) {
    let text = serde_json::to_string_pretty(part).expect("the read model is plain data");
    output::say(&text);
}

/// How many entries are read at a time: few enough to keep memory flat, enough to read fast.
const ENTRIES: usize = 256;

/// Calls a function with each entry of a log from a position on, and the state of its end. Returns the position after the last.
pub(super) fn walk(
    bus: &mut Follower,
    mut from: LogPosition,
    take: &mut dyn FnMut(&Entry, &State, &mut dyn Texts),
) -> Result<LogPosition, LogError> {
    loop {
        let (entries, next) = bus.entries_after(from, ENTRIES)?;
        if entries.is_empty() {
            return Ok(next);
        }
        let (state, texts) = bus.state_and_texts();
        let mut texts = LogTexts(texts);
        for (_, entry) in &entries {
            take(entry, state, &mut texts);
        }
        from = next;
    }
}

/// Calls a function with each entry of the whole log.
pub(super) fn walk_all(
    bus: &mut Follower,
    take: &mut dyn FnMut(&Entry, &State, &mut dyn Texts),
) -> Result<(), LogError> {
    let first = bus.parts()?.first().copied().unwrap_or_default();
    walk(bus, first, take).map(drop)
}
