//! Examines all agents: how each is installed, and then, all at the same time, how each starts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::join_all;

use super::agent_kinds;
use super::judge_program::{self, Consented, InstalledProgram, Judged};
use super::judge_trial::{self, Tried};
use super::trial_room::TrialRoom;
use super::{installed_version, trial};
use crate::config::{Command, Config, Profile, ValueOrigin};
use crate::doctor::examination_step::{OnStep, Step};
use crate::doctor::finding::{Finding, Subject};
use crate::domain::wait_times;
use crate::setup::installed_agents::{self, FoundProgram, InstalledAgent};
use crate::setup::known_client::Places;
use crate::supervisor::npm_folder;
use crate::sys::process::find_program;
use crate::team::{Launch, trust_command};

/// Whether the doctor starts agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starting {
    Allowed,
    /// Only files are examined.
    LeftOut,
}

/// Examines the agents of all profiles, and the bridge itself with the scripted agent. `force` resolves when all must end quickly.
pub(crate) async fn examine(
    launch: &Launch,
    config: &Config,
    starting: Starting,
    on_step: &OnStep,
    force: impl Future<Output = ()>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut to_start = Vec::new();
    let mut installed_agents = 0;
    let known = examine_known(launch, config);
    let npm_folder = ask_npm_folder(launch, &known).await;
    for profile in config.profiles() {
        if is_own(profile) {
            if consent(launch, config, profile) == Consented::Yes {
                to_start.push((Subject::Bridge, profile, None));
            }
            continue;
        }
        let known = known.iter().find(|known| known.profile == profile.name.as_str());
        let installed = examine_installed(launch, config, profile, known);
        let off_path = known.and_then(|known| known.off_path(npm_folder.as_deref()));
        let installed = InstalledProgram { off_path, ..installed };
        let Judged { findings: found, is_installed, may_start } = judge_program::judge(&installed);
        findings.extend(found);
        installed_agents += usize::from(is_installed);
        if may_start {
            let subject = Subject::Agent(profile.name.to_string());
            to_start.push((subject, profile, Some(installed)));
        }
    }
    if installed_agents == 0 {
        findings.push(Finding::problem(
            &Subject::Agents,
            "installed",
            "no agent is installed, so no task can be assigned",
            "install one of the agents below, and log in",
        ));
    }
    if starting == Starting::Allowed {
        let started = start_all(launch, config, to_start, on_step, force).await;
        findings = judge_trial::with_trials(findings, started);
    }
    findings
}

type ToStart<'a> = (Subject, &'a Profile, Option<InstalledProgram>);

async fn start_all(
    launch: &Launch,
    config: &Config,
    agents: Vec<ToStart<'_>>,
    on_step: &OnStep,
    force: impl Future<Output = ()>,
) -> Vec<Finding> {
    let room = match TrialRoom::open(launch, config).await {
        Ok(room) => room,
        Err(error) => {
            let says = format!("no agent is tried out: {error}");
            let unknown = Finding::unknown(&Subject::Bridge, "start", says);
            return vec![unknown.with_remedy(error.remedy())];
        }
    };
    let trying = agents.into_iter().map(|(subject, profile, installed)| {
        let (team, cwd) = (room.team.clone(), room.path().to_owned());
        let (name, on_step) = (profile.name.to_string(), Arc::clone(on_step));
        let tried = installed.map(|installed| tried(profile, &installed));
        async move {
            on_step(&subject, Step::Begins);
            // A tokio task of its own, so that a panic in one trial does not end the others.
            let trying = tokio::spawn(async move { trial::run(&team, &name, cwd).await });
            let finding = match (trying.await, &tried) {
                (Ok(outcome), Some(tried)) => judge_trial::judge(tried, &outcome),
                (Ok(outcome), None) => judge_own(&outcome),
                (Err(error), _) => {
                    Finding::unknown(&subject, "start", format!("the trial itself failed: {error}"))
                }
            };
            on_step(&subject, Step::Ends(finding.level));
            finding
        }
    });
    tokio::pin!(force);
    let findings = tokio::select! {
        findings = join_all(trying) => findings,
        () = &mut force => Vec::new(),
    };
    room.close(force_if(findings.is_empty())).await;
    findings
}

/// Resolves at once if the trials were interrupted, so that their agents end quickly.
async fn force_if(is_interrupted: bool) {
    if !is_interrupted {
        std::future::pending::<()>().await;
    }
}

/// Says whether a profile is this program's own, whose agents need no model.
fn is_own(profile: &Profile) -> bool {
    profile.name.as_str() == "scripted" && profile.command.value == Command::OwnBinary
}

/// Judges the trial of the scripted agent, which tests the bridge itself.
fn judge_own(outcome: &judge_trial::Trial) -> Finding {
    let subject = Subject::Bridge;
    match outcome {
        judge_trial::Trial::Ready { after, .. } => Finding::ok(
            &subject,
            "start",
            format!(
                "starts an agent and serves it its tools in {:.1} s (the scripted agent)",
                after.as_secs_f64()
            ),
        ),
        other => {
            let reason = match other {
                judge_trial::Trial::Ended(reason) => judge_trial::clipped(reason),
                _ => format!("not ready within {} s", wait_times::DOCTOR_START.as_secs()),
            };
            Finding::problem(
                &subject,
                "start",
                format!("even the scripted agent does not start: {reason}"),
                "run `cli-team-bridge demo` and report its output",
            )
        }
    }
}

fn examine_installed(
    launch: &Launch,
    config: &Config,
    profile: &Profile,
    known: Option<&InstalledAgent>,
) -> InstalledProgram {
    let kind = agent_kinds::of_profile(profile.name.as_str());
    let search = launch.environment.iter().find(|(name, _)| name == "PATH");
    let search = search.map(|(_, path)| path.as_os_str());
    let find = |program: &str| find_program(Path::new(program), search);
    let program = profile.program(&launch.own_binary, find);
    let consent = consent(launch, config, profile);
    // The advice of a file that the user has not approved is not shown: it may name any command.
    let advises = consent == Consented::Yes;
    let install = profile.install.as_ref().filter(|_| advises).map(|install| install.value.clone());
    let version = program.as_ref().ok().zip(install.as_deref()).and_then(|(program, install)| {
        installed_version::of_program(program, installed_version::package_of(install)?)
    });
    InstalledProgram {
        profile: profile.name.to_string(),
        kind,
        cli: other_cli(known),
        program,
        version,
        is_chosen: profile.command.source != ValueOrigin::BuiltIn,
        lacks_npm: install.as_ref().is_some_and(|it| it.starts_with("npm "))
            && find("npm").is_none(),
        install,
        how_to_log_in: profile.login.as_ref().filter(|_| advises).map(|login| login.value.clone()),
        off_path: None,
        login: known.map(|known| known.login.clone()),
        consent,
    }
}

/// Asks npm where its programs are, if one that it installs is missing.
async fn ask_npm_folder(launch: &Launch, known: &[InstalledAgent]) -> Option<PathBuf> {
    let environment = launch.environment.clone();
    let search = environment.iter().find(|(name, _)| name == "PATH");
    let npm = find_program(Path::new("npm"), search.map(|(_, path)| path.as_os_str()));
    let npm = npm.filter(|_| installed_agents::lack_an_adapter_of_npm(known))?;
    let asking = move || npm_folder::global_programs(&npm, environment, wait_times::NPM_ANSWER);
    tokio::task::spawn_blocking(asking).await.ok().flatten()
}

/// Returns the vendor's own program, if it is installed and not the one that the bridge starts.
fn other_cli(known: Option<&InstalledAgent>) -> Option<FoundProgram> {
    let known = known?;
    let is_other = known.cli.name != known.adapter.name && known.cli.path.is_some();
    is_other.then(|| known.cli.clone())
}

/// Returns the five agents as setup sees them; none without a home directory.
fn examine_known(launch: &Launch, config: &Config) -> Vec<InstalledAgent> {
    let variable = |name: &str| {
        let found = launch.environment.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    };
    let Some(places) = Places::read(variable, cfg!(target_os = "macos")) else {
        return Vec::new();
    };
    let search = variable("PATH");
    let find = |program: &str| find_program(Path::new(program), search.as_deref());
    installed_agents::look(config, &places, &launch.own_binary, find, variable)
}

fn consent(launch: &Launch, config: &Config, profile: &Profile) -> Consented {
    let files = config.project_files().iter();
    for file in files.filter(|file| file.demanded_of(&profile.name).is_some()) {
        match launch.trust.has(&file.file) {
            Ok(true) => {}
            Ok(false) => {
                let command = trust_command(file.trust_argument());
                return Consented::No { file: file.title(), command };
            }
            Err(why) => return Consented::Unreadable(why.to_string()),
        }
    }
    Consented::Yes
}

fn tried(profile: &Profile, installed: &InstalledProgram) -> Tried {
    let program = installed.program.as_ref().map(|program| program.to_string_lossy().into_owned());
    let words = std::iter::once(program.unwrap_or_default()).chain(profile.args.value.clone());
    let is_old = installed.kind.zip(installed.version.as_deref());
    let is_old = is_old.is_some_and(|(kind, version)| kind.is_older(version));
    let install = installed.install.as_ref().filter(|_| is_old);
    Tried {
        profile: installed.profile.clone(),
        command: words.collect::<Vec<_>>().join(" "),
        how_to_log_in: installed.how_to_log_in.clone(),
        update: install.map(|install| format!("{install}@latest")),
    }
}
