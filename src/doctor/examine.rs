//! The whole examination: all parts run at the same time, each with a time limit, and their findings make one report.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::agents::examine_agents::{self, Starting};
use super::ask_clients;
use super::examination_step::{OnStep, Step};
use super::finding::{Finding, Fixing, Level, Report, Subject};
use super::places::examine_bus_directory::{self, NetworkPlace};
use super::places::examine_clients::{self, Known, StartedIn};
use super::places::{
    examine_agents_files, examine_environment, examine_project_file, examine_rights,
};
use super::{fix, judge_answers};
use crate::bus::storage::file::{Foreign, Proof};
use crate::config::Config;
use crate::domain::text::shown_path::ShownPath as _;
use crate::domain::wait_times;
use crate::setup::edits::entry_arguments::JudgeArguments;
use crate::sys::fs::user_state_dir::StateDirectory;
use crate::team::{self, Launch};

/// An examination that is to be made.
pub struct Examination {
    /// How agents are launched here: the environment, this binary, and the user's approvals.
    pub launch: Launch,
    pub config: Config,
    /// Why the configuration could not be read; then `config` holds the built-in profiles.
    pub config_problem: Option<String>,
    /// Why there is no project here, if there is none; then neither a bus nor a project file is examined.
    pub no_project: Option<String>,
    /// The directories in which a client may be started, links resolved: it may keep an entry for sessions in one of them alone.
    pub client_directories: Vec<PathBuf>,
    /// Says what is wrong with the arguments with which a client starts the bridge.
    pub judge_arguments: JudgeArguments,
    pub state: Option<StateDirectory>,
    pub starting: Starting,
    pub fixing: Fixing,
}

/// Examines everything. `force` resolves when the started agents have to end quickly.
pub async fn examine(
    examination: Examination,
    on_step: &OnStep,
    force: impl Future<Output = ()>,
) -> Report {
    let Examination { launch, config, state, starting, fixing, .. } = &examination;
    let proof = Proof { state: state.clone(), foreign: Foreign::PutAside };
    // First, because a directory to which others may write is not used, and then much cannot be examined.
    let state_rights = {
        let (state, fixing) = (state.clone(), *fixing);
        let work = move || {
            let state = state.map(|state| state.path());
            state.map(|path| examine_rights::of_state(&path, fixing)).unwrap_or_default()
        };
        within(&Subject::Bridge, wait_times::DOCTOR_LOOK, work).await
    };
    let environment = {
        let (launch, state) = (launch.clone(), state.clone());
        let work = move || {
            let variable = |name: &str| {
                let found = launch.environment.iter().find(|(one, _)| one == name);
                found.map(|(_, value)| value.as_os_str())
            };
            let (own, home) = (&launch.own_binary, variable("HOME").map(Path::new));
            examine_environment::examine(own, variable("PATH"), home, state.as_ref())
        };
        limited(&Subject::Bridge, work, on_step)
    };
    let bus = async {
        if examination.no_project.is_some() {
            return Vec::new();
        }
        let (directory, proof) = (launch.bus_dir.clone(), proof.clone());
        let place = if config.limits().allow_network_file_system.value {
            NetworkPlace::Allowed
        } else {
            NetworkPlace::Refused
        };
        let fixing = *fixing;
        let (webhooks, environment) = (config.webhooks().to_vec(), launch.environment.clone());
        let work = move || {
            let is_set = |name: &str| {
                environment.iter().any(|(one, value)| one == name && !value.is_empty())
            };
            let webhooks = (&*webhooks, is_set);
            examine_bus_directory::examine(&directory, &proof, place, fixing, webhooks)
        };
        let mut findings = limited(&Subject::Bus, work, on_step).await;
        findings.extend(tracked_by_git(launch).await);
        findings
    };
    let clients = look_at_clients(&examination, Vec::new());
    let has_project = examination.no_project.is_none();
    let project_root = has_project.then_some(launch.project.as_path());
    let answers = ask_clients::ask(launch, project_root, &examination.client_directories);
    let agents = examine_agents::examine(launch, config, *starting, on_step, force);
    let (environment, bus, mut clients, answers, agents) =
        tokio::join!(environment, bus, clients, answers, agents);
    let unused = judge_answers::unused_files(&answers);
    if !unused.is_empty() {
        clients = look_at_clients(&examination, unused).await;
    }
    judge_answers::add(&mut clients, &answers);
    let mut findings = environment;
    findings.extend(state_rights);
    findings.extend(project(&examination));
    findings.extend(bus);
    findings.extend(clients);
    findings.extend(agents);
    if *fixing == Fixing::Done {
        for finding in &mut findings {
            fix::apply(finding, &proof);
        }
    }
    Report::of(findings)
}

/// Examines the clients. These files are those of which one says itself that it uses nothing.
async fn look_at_clients(examination: &Examination, unused: Vec<PathBuf>) -> Vec<Finding> {
    let (launch, config) = (examination.launch.clone(), examination.config.clone());
    let has_project = examination.no_project.is_none();
    let directories = examination.client_directories.clone();
    let judge_arguments = examination.judge_arguments;
    let work = move || {
        let project = has_project.then_some(launch.project.as_path());
        let places = StartedIn { project, directories: &directories };
        let (environment, own) = (&launch.environment, &launch.own_binary);
        let known = Known { config: Some(&config), unused: &unused };
        examine_clients::examine(environment, own, judge_arguments, places, known)
    };
    within(&Subject::Bridge, wait_times::DOCTOR_LOOK, work).await
}

fn project(examination: &Examination) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(examination.no_project.as_deref().map(examine_project_file::no_project));
    if examination.no_project.is_none() {
        // In a linked worktree, agents work there.
        findings.extend(examine_agents_files::examine(&examination.launch.ground));
    }
    match &examination.config_problem {
        Some(why) => findings.extend(examine_project_file::unreadable(why)),
        None if examination.no_project.is_some() => {}
        None => {
            let trust = &examination.launch.trust;
            findings.extend(examine_project_file::examine(&examination.config, trust));
        }
    }
    findings
}

async fn tracked_by_git(launch: &Launch) -> Option<Finding> {
    let directory = &launch.bus_dir;
    let is_tracked = team::is_tracked_by_git(directory, launch.environment.clone()).await;
    is_tracked.then(|| {
        Finding::problem(
            &Subject::Bus,
            "git",
            "git tracks files in it, so a pull could change it",
            format!("run `git rm -r --cached {}` and commit", directory.shown()),
        )
    })
}

/// Examines a subject on a thread of its own, for a limited time. A failure is a finding.
async fn limited(
    subject: &Subject,
    work: impl FnOnce() -> Vec<Finding> + Send + 'static,
    on_step: &OnStep,
) -> Vec<Finding> {
    on_step(subject, Step::Begins);
    let findings = within(subject, wait_times::DOCTOR_LOOK, work).await;
    let worst = findings.iter().map(|finding| finding.level).max();
    on_step(subject, Step::Ends(worst.unwrap_or(Level::Ok)));
    findings
}

async fn within(
    subject: &Subject,
    limit: Duration,
    work: impl FnOnce() -> Vec<Finding> + Send + 'static,
) -> Vec<Finding> {
    match tokio::time::timeout(limit, tokio::task::spawn_blocking(work)).await {
        Ok(Ok(findings)) => findings,
        Ok(Err(error)) => {
            vec![Finding::unknown(subject, "check", format!("the check itself failed: {error}"))]
        }
        Err(_) => {
            let says = format!("no answer within {} s", limit.as_secs());
            vec![
                Finding::unknown(subject, "check", says)
                    .with_remedy("try again when the machine is less busy; if it happens again, check whether the disk hangs"),
            ]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_examination_that_fails_or_hangs_is_a_finding() {
        let broken = within(&Subject::Bus, wait_times::DOCTOR_LOOK, || panic!("a bug")).await;
        assert_eq!(broken[0].level, Level::Unknown);
        assert!(broken[0].says.starts_with("the check itself failed"), "{broken:?}");
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let hangs = move || {
            let _ = receiver.recv();
            Vec::new()
        };
        let hung = within(&Subject::Bus, Duration::ZERO, hangs).await;
        assert_eq!(
            (hung[0].level, hung[0].says.as_str()),
            (Level::Unknown, "no answer within 0 s")
        );
        drop(sender);
    }
}
