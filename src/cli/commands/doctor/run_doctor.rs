//! The command itself: finds the project, runs the examination, and prints the report.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use clap::Args;

use super::progress_lines::Rows;
use super::report_lines;
use crate::cli::find_project::{self, Project};
use crate::cli::signal_policy::{self, StopRequests};
use crate::cli::{Failure, below_agent, lead_team, load_config, output, serve_mcp};
use crate::config::{Config, Load};
use crate::doctor::{self, Examination, Fixing, Level, OnStep, Report, Starting, report_json};
use crate::setup::edits::entry_arguments::JudgeArguments;
use crate::sys::fs::user_state_dir::StateDirectory;
use crate::sys::mutex::lock;

/// The exit code if there are problems.
const PROBLEMS: u8 = 1;

/// The exit code if there are only unknowns, or if the examination itself failed.
const UNKNOWN: u8 = 2;

/// The arguments of `doctor`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge doctor              start each agent once, and check all
  cli-team-bridge doctor --no-start   the same without starting any agent
  cli-team-bridge doctor --fix        fix what can be fixed without loss")]
pub(crate) struct DoctorArguments {
    /// The project whose bus and configuration to check [default: the current project].
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// A configuration file that overrides all others.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Do not start the agents; check only files.
    #[arg(long)]
    no_start: bool,
    /// Fix problems that can be fixed without losing anything.
    #[arg(long)]
    fix: bool,
    /// Print the report as JSON (docs/doctor.md describes it).
    #[arg(long)]
    json: bool,
}

impl DoctorArguments {
    /// The examination at the end of setup, which starts no agents.
    pub(in crate::cli) fn after_setup() -> Self {
        Self { project: None, config: None, no_start: true, fix: false, json: false }
    }
}

/// Examines all and reports it. The command line judges the arguments of clients' entries.
pub(crate) fn run(arguments: &DoctorArguments, judge_arguments: JudgeArguments) -> ExitCode {
    let mut report = None;
    let done = examine(arguments, judge_arguments, &mut report);
    if let Err(failure) = done {
        output::error(&failure);
        return ExitCode::from(UNKNOWN);
    }
    let Some(report) = report else {
        return ExitCode::from(UNKNOWN);
    };
    if arguments.json {
        output::say(&format!("{:#}", report_json::of(&report)));
    } else {
        let (colours, columns) = (output::wants_colours_on_stdout(), output::columns_of_stdout());
        for line in report_lines::of(&report, colours, columns) {
            output::say_coloured(&line);
        }
    }
    match report.level() {
        Level::Problem => ExitCode::from(PROBLEMS),
        Level::Unknown => ExitCode::from(UNKNOWN),
        Level::Ok | Level::Note => ExitCode::SUCCESS,
    }
}

fn examine(
    arguments: &DoctorArguments,
    judge_arguments: JudgeArguments,
    report: &mut Option<Report>,
) -> Result<(), Failure> {
    below_agent::refuse_to("start agents to check them, as the doctor does")?;
    let examination = prepare(arguments, judge_arguments)?;
    lead_team::adopt_orphans();
    serve_mcp::run_team(async move || {
        let watch = async move |stop| {
            *report = Some(watched(examination, stop).await?);
            Ok(())
        };
        signal_policy::obey(watch).await
    })
}

/// Prepares the examination. A missing project or a broken configuration is a finding, but a project that the user named must exist.
fn prepare(
    arguments: &DoctorArguments,
    judge_arguments: JudgeArguments,
) -> Result<Examination, Failure> {
    let found = find_project::find(arguments.project.as_deref());
    let (project, no_project) = match found {
        Ok(project) => (project, None),
        Err(error) if arguments.project.is_some() => return Err(error.into()),
        Err(error) => {
            // This directory has no configuration, and is never created.
            let nowhere = load_config::nowhere();
            (Project { root: nowhere.clone(), ground: nowhere }, Some(error.to_string()))
        }
    };
    let (config, config_problem) =
        match load_config::load(&project.root, arguments.config.as_deref()) {
            Ok(config) => (config, None),
            Err(error) => (built_in(&load_config::nowhere())?, Some(error.to_string())),
        };
    let mut client_directories: Vec<_> = match arguments.project {
        Some(_) => Vec::new(),
        None => find_project::current_directory().into_iter().collect(),
    };
    if no_project.is_none() {
        client_directories.push(project.root.clone());
    }
    Ok(Examination {
        launch: lead_team::launch_in(project)?,
        config,
        config_problem,
        no_project,
        client_directories,
        judge_arguments,
        state: StateDirectory::of_process(),
        starting: if arguments.no_start { Starting::LeftOut } else { Starting::Allowed },
        fixing: if arguments.fix { Fixing::Done } else { Fixing::Offered },
    })
}

fn built_in(nowhere: &Path) -> Result<Config, Failure> {
    let load = Load { project: nowhere, home: None, config_home: None, explicit: None };
    Ok(Config::load(load)?)
}

/// Runs the examination, and shows its progress on a terminal.
async fn watched(examination: Examination, mut stop: StopRequests) -> Result<Report, Failure> {
    let rows = Arc::new(Mutex::new(Rows::default()));
    let on_step: OnStep = {
        let rows = Arc::clone(&rows);
        Arc::new(move |subject, step| lock(&rows).note(subject, step))
    };
    let mut interrupted = None;
    let force = async { interrupted = Some(stop.next().await) };
    let examining = Box::pin(doctor::examine(examination, &on_step, force));
    let report = if output::can_paint() {
        Rows::shown_while(&rows, examining).await
    } else {
        examining.await
    };
    match interrupted {
        Some(signal) => Err(format!("interrupted by {signal}").into()),
        None => Ok(report),
    }
}
