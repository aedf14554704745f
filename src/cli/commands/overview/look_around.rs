//! Gathers the overview. It reads files only: it starts nothing, and neither joins nor changes the bus.

use std::collections::BTreeSet;
use std::path::Path;

use super::overview_lines;
use super::overview_parts::{BusView, FileView, Hindrance, Overview, ProjectView, TeamNow};
use super::suggested_step::suggested_step;
use crate::bus::state::{Delivery, State, Task};
use crate::bus::storage::file::{Foreign, PresentState, Proof, SeenPresence, read_state};
use crate::cli::commands::look as look_commands;
use crate::cli::commands::run::can_be_resumed;
use crate::cli::{Failure, find_project, load_config, output, with_hint};
use crate::doctor::{self, Finding, Level, Subject};
use crate::domain::ids::SessionId;
use crate::domain::member::MemberKind;
use crate::domain::task::TaskStatus;
use crate::setup::connected_clients::{self, Connection, InstalledClient, StartedIn};
use crate::setup::edits::entry_arguments::JudgeArguments;
use crate::setup::installed_agents;
use crate::setup::known_client::Places;
use crate::sys::fs::user_state_dir::StateDirectory;
use crate::sys::{clock, process};
use crate::team::trust_command;
use crate::view::{Board, Looked, NoTexts, WorkflowTree};

/// Prints the overview.
pub(in crate::cli) fn run(judge_arguments: JudgeArguments) -> Result<(), Failure> {
    for line in overview_lines::of(&look(judge_arguments)?) {
        output::say_fitted(&line);
    }
    let team = look_commands::lines_if_alive();
    if !team.is_empty() {
        output::say("\nThe team here, as `cli-team-bridge status` shows it:");
    }
    for line in team {
        output::say_fitted(&line);
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
    let clients = connected_clients::look(&places, started_in, &own, program, variable);
    let (clients, hindrances) = hindered(clients, &find_hindrances(&own, started_in));
    Ok(Overview {
        clients,
        hindrances,
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

/// Finds what keeps clients from starting the bridge, as the doctor says it.
fn find_hindrances(own: &Path, started_in: StartedIn<'_>) -> Vec<Finding> {
    let environment: Vec<_> = std::env::vars_os().collect();
    let directories = [started_in.directory, started_in.project];
    let directories: Vec<_> = directories.into_iter().flatten().map(Path::to_owned).collect();
    let places = doctor::StartedIn { project: started_in.project, directories: &directories };
    doctor::hindrances(&environment, own, started_in.judge_arguments, places)
}

/// Returns the clients, none of them called connected of which the doctor says something else, with what it says. Of each, the first
/// problem counts, and else that it does not trust the directory.
fn hindered(
    mut clients: Vec<InstalledClient>,
    findings: &[Finding],
) -> (Vec<InstalledClient>, Vec<Hindrance>) {
    use Connection::{Broken, Connected, Joins, Untrusted};
    let mut hindrances = Vec::new();
    let has_entry =
        |one: &&mut InstalledClient| [Connected, Joins, Broken].contains(&one.connection);
    for client in clients.iter_mut().filter(has_entry) {
        let is_of = |finding: &&Finding| matches!(&finding.subject, Subject::Client(name) if name == client.name);
        let of_client = || findings.iter().filter(is_of);
        let worst = of_client().find(|one| one.level == Level::Problem);
        let Some(finding) = worst.or_else(|| of_client().next()) else { continue };
        let is_trust = finding.level != Level::Problem;
        client.connection = match client.connection {
            Connected | Joins if is_trust => Untrusted,
            _ => Broken,
        };
        let (client, says) = (client.title, finding.says.clone());
        let remedy = finding.remedy.clone();
        hindrances.extend(remedy.map(|remedy| Hindrance { client, is_trust, says, remedy }));
    }
    (clients, hindrances)
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
    let lost = state.newest_tasks().into_iter().filter(|task| is_lost(state, task, &held));
    BusView::Present {
        team: team_now(state, &held),
        lost: lost.map(|task| task.id.clone()).collect(),
        members: live.count(),
        unfinished: unfinished.count(),
        trials: workflows.iter().filter(|workflow| workflow.is_interrupted_trial()).count(),
        resumable: resumable.collect(),
    }
}

/// Finds out how far the team is: what waits for the user counts only while a member lives.
fn team_now(state: &State, held: &BTreeSet<SessionId>) -> TeamNow {
    let is_held = |session: SessionId| held.contains(&session);
    let now = clock::now();
    let looked = Looked { state, seq: 0, now, is_held: &is_held, damaged_lines: 0, most_ended: 0 };
    let board = Board::of(&looked, &mut NoTexts);
    let live = |kind: MemberKind| {
        board.members.iter().any(|row| row.kind == kind.as_str() && is_held(row.session))
    };
    let runs = |workflow: &WorkflowTree| workflow.ended_at.is_none() && !workflow.has_no_leader();
    if held.is_empty() {
        TeamNow::Unled
    } else if !board.needs_you.is_empty() {
        TeamNow::NeedsYou
    } else if !live(MemberKind::Orchestrator) {
        TeamNow::Unled
    } else if live(MemberKind::Agent) || board.workflows.iter().any(runs) {
        TeamNow::AtWork
    } else {
        TeamNow::Alone
    }
}

/// Says whether a task was not done when its agent ended, and nobody was told of that yet. After a `kill -9` the end is not recorded; a
/// client that closes has its agents stopped, which cancels their tasks.
fn is_lost(state: &State, task: &Task, held: &BTreeSet<SessionId>) -> bool {
    if !task.status.is_final() {
        return !held.contains(&task.session);
    }
    let notice = task.notice.as_ref().and_then(|notice| state.message(notice));
    let delivery = notice.and_then(|notice| notice.delivery(&task.by));
    let is_led = || state.live(&task.by).is_some_and(|leader| held.contains(&leader.id));
    match task.status {
        TaskStatus::Interrupted => matches!(delivery, Some(Delivery::Unread { .. })),
        // Who cancels a task in a live session is told of it there.
        TaskStatus::Cancelled => {
            matches!(delivery, Some(Delivery::Unread { last: None })) && !is_led()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_client_is_called_connected_of_which_the_doctor_says_something_else() {
        use Connection::{Broken, Connected, Joins, NotConnected, Untrusted};
        let subject = |name: &str| Subject::Client(name.to_owned());
        let problem = Finding::problem(&subject("codex"), "entry", "it runs x", "remove it");
        let trust =
            |name: &str| Finding::note(&subject(name), "trust", "no trust").with_remedy("trust it");
        let findings = [trust("gemini"), trust("codex"), problem];
        let connections = |before: Connection| {
            let client = |name| InstalledClient { name, title: name, connection: before };
            let (after, hindrances) =
                hindered(["codex", "gemini", "zed"].map(client).to_vec(), &findings);
            let says: Vec<_> = hindrances.into_iter().map(|one| (one.client, one.says)).collect();
            (after.iter().map(|one| one.connection).collect::<Vec<_>>(), says)
        };
        let said = vec![("codex", "it runs x".to_owned()), ("gemini", "no trust".to_owned())];
        assert_eq!(connections(Connected), (vec![Broken, Untrusted, Connected], said.clone()));
        assert_eq!(connections(Joins), (vec![Broken, Untrusted, Joins], said));
        // Where there is no entry, the doctor speaks of none.
        assert_eq!(connections(NotConnected), (vec![NotConnected; 3], Vec::new()));
    }
}
