//! Gathers the overview. It reads files only: it starts nothing, and neither joins nor changes the bus.

use std::collections::BTreeSet;
use std::path::Path;

use super::overview_lines;
use super::overview_parts::{BusView, FileView, Overview, ProjectView};
use super::suggested_step::suggested_step;
use crate::bus::state::State;
use crate::bus::storage::file::{Foreign, PresentState, Proof, SeenPresence, read_state};
use crate::cli::commands::look as look_commands;
use crate::cli::commands::run::can_be_resumed;
use crate::cli::{Failure, find_project, load_config, output, with_hint};
use crate::setup::connected_clients::{self, StartedIn};
use crate::setup::edits::entry_arguments::JudgeArguments;
use crate::setup::installed_agents;
use crate::setup::known_client::Places;
use crate::sys::fs::user_state_dir::StateDirectory;
use crate::sys::process;
use crate::team::trust_command;

/// Prints the overview.
pub(in crate::cli) fn run(judge_arguments: JudgeArguments) -> Result<(), Failure> {
    for line in overview_lines::of(&look(judge_arguments)?) {
        output::say(&line);
    }
    let team = look_commands::lines_if_alive();
    if !team.is_empty() {
        output::say("\nThe team here, as `cli-team-bridge status` shows it:");
    }
    for line in team {
        output::say(&line);
    }
    Ok(())
}

/// Returns the step that the overview suggests in the current directory.
pub(in crate::cli) fn next_step(judge_arguments: JudgeArguments) -> Result<String, Failure> {
    Ok(suggested_step(&look(judge_arguments)?))
}

fn look(judge_arguments: JudgeArguments) -> Result<Overview, Failure> {
    let variable = |name: &str| std::env::var_os(name);
    let places = Places::read(variable, cfg!(target_os = "macos"));
    let no_home = || with_hint("there is no home directory", "set HOME to an absolute path");
    let places = places.ok_or_else(no_home)?;
    let search_path = std::env::var_os("PATH");
    let program = |name: &str| process::find_program(Path::new(name), search_path.as_deref());
    let own = std::env::current_exe()?;
    // A project's own file must not say what is installed.
    let agents = load_config::load_without_project()
        .map(|config| installed_agents::look(&config, &places, &own, program, variable))
        .map_err(|error| error.to_string());
    let project = find_project::find(None);
    let directory = find_project::current_directory().ok();
    let started_in = StartedIn {
        project: project.as_ref().ok().map(|project| project.root.as_path()),
        directory: directory.as_deref(),
        judge_arguments,
    };
    Ok(Overview {
        clients: connected_clients::look(&places, started_in, &own, program),
        agents,
        project: match &project {
            Err(error) => ProjectView::Absent(error.to_string()),
            Ok(project) => ProjectView::Found {
                root: project.root.to_string_lossy().into_owned(),
                file: look_at_file(&project.root),
                bus: look_at_bus(&project.bus_directory()),
            },
        },
    })
}

fn look_at_file(project: &Path) -> FileView {
    let config = match load_config::load(project, None) {
        Ok(config) => config,
        Err(error) => return FileView::Invalid { place: error.place(), why: error.to_string() },
    };
    let unapproved = config.unagreed().next();
    unapproved.map_or(FileView::Good, |file| FileView::Unapproved {
        title: file.title(),
        command: trust_command(file.trust_argument()),
    })
}

fn look_at_bus(directory: &Path) -> BusView {
    let proof = Proof { state: StateDirectory::of_process(), foreign: Foreign::PutAside };
    match read_state(directory, &proof) {
        Ok(PresentState::Absent) => BusView::Absent,
        Ok(PresentState::Foreign) => BusView::Foreign,
        Ok(PresentState::Read(state, presences)) => count(&state, &presences),
        Err(error) => BusView::Unusable(error.to_string()),
    }
}

fn count(state: &State, presences: &[SeenPresence]) -> BusView {
    let held = presences.iter().filter(|presence| presence.is_held);
    let held: BTreeSet<_> = held.map(|presence| presence.session).collect();
    // The death of a session may not be recorded yet.
    let live = state.session_ids().filter(|session| held.contains(session));
    let workflows = state.workflows();
    let unfinished = workflows
        .iter()
        .filter(|workflow| !workflow.status.is_final() && !workflow.is_interrupted_trial());
    let resumable = workflows
        .iter()
        .filter(|workflow| can_be_resumed(workflow, |owner| held.contains(&owner)))
        .map(|workflow| workflow.id.clone());
    BusView::Present {
        members: live.count(),
        unfinished: unfinished.count(),
        resumable: resumable.collect(),
    }
}
