//! Runs the command that the process was started with, and turns its failure into an exit code.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::CommandFactory as _;

use super::client_arguments;
use super::list_of_commands::{Arguments, Command};
use crate::cli::commands::doctor::DoctorArguments;
use crate::cli::commands::setup::{SetupArguments, SetupEnd};
use crate::cli::logging::{self, LogReader};
use crate::cli::{Failure, commands, output};
use crate::supervisor::shim_process;

/// The exit code for wrong usage, as in most programs.
const USAGE: u8 = 2;

/// Runs the command that the process was started with. It fails also if its output is lost, as on a full disk.
pub fn run() -> ExitCode {
    let code = perform();
    match output::why_unwritten() {
        Some(error) => exit_code(Err(format!("cannot write to stdout: {error}").into())),
        None => code,
    }
}

fn perform() -> ExitCode {
    let mut words = std::env::args_os();
    if words.nth(1).is_some_and(|word| word == shim_process::SHIM) {
        // Before all else: a shim has one thread, no runtime, and no user.
        return shim_process::run(words);
    }
    if std::env::args_os().len() == 1 && std::io::stdout().is_terminal() {
        logging::start(LogReader::Person);
        return exit_code(commands::overview::run(client_arguments::judge));
    }
    let arguments = match Arguments::read(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(answer) => {
            output::print_answer(&answer);
            return if commands::hook::is_asked_for(std::env::args_os()) {
                ExitCode::SUCCESS
            } else if answer.use_stderr() {
                ExitCode::from(USAGE)
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    logging::start(arguments.command.log_reader());
    let done = match arguments.command {
        Command::Setup(arguments) => set_up(&arguments),
        Command::Orchestrator(arguments) => commands::orchestrator::run(arguments),
        Command::Agent => commands::agent::run(),
        Command::Peer(arguments) => commands::peer::run(arguments),
        Command::Watch(arguments) => commands::watch::run(arguments),
        Command::Hook(arguments) => {
            commands::hook::run(arguments);
            Ok(())
        }
        Command::ScriptedAgent(arguments) => commands::scripted_agent::run(arguments),
        Command::Run(arguments) => commands::run::run(&arguments),
        Command::Host(arguments) => commands::host::run(arguments),
        Command::Trust(arguments) => commands::trust::run(&arguments),
        Command::Demo(arguments) => commands::demo::run(&arguments, client_arguments::judge),
        Command::Top(arguments) => commands::top::run(&arguments),
        Command::Web(arguments) => commands::web::run(&arguments),
        Command::Status(arguments) => commands::look::status(&arguments),
        Command::Log(arguments) => commands::look::log(&arguments),
        Command::Messages(arguments) => commands::look::messages(&arguments),
        Command::Tasks(arguments) => commands::look::tasks(&arguments),
        Command::Task(arguments) => commands::look::task(&arguments),
        Command::Trace(arguments) => commands::look::trace(&arguments),
        Command::Workflows(arguments) => commands::look::workflows(&arguments),
        Command::Notify(arguments) => commands::notify::run(&arguments),
        Command::Search(arguments) => commands::look::search(&arguments),
        Command::Usage(arguments) => commands::look::usage(&arguments),
        // Their exit codes say what they have found.
        Command::Bus(arguments) => return commands::bus::run(&arguments),
        Command::Key(arguments) => commands::key::run(&arguments),
        Command::Send(arguments) => commands::act::send(&arguments),
        Command::Allow(arguments) => commands::act::allow(&arguments),
        Command::Deny(arguments) => commands::act::deny(arguments),
        Command::Cancel(arguments) => commands::act::cancel(&arguments),
        Command::Stop(arguments) => commands::act::stop(arguments),
        Command::Kill(arguments) => commands::act::kill(&arguments),
        // Its exit code says what it has found.
        Command::Doctor(arguments) => {
            return commands::doctor::run(&arguments, client_arguments::judge);
        }
        Command::Completions(arguments) => {
            commands::completions::run(&arguments, Arguments::command());
            Ok(())
        }
        Command::Man(arguments) => commands::man::run(&arguments, Arguments::command()),
    };
    exit_code(done)
}

/// Prints the failure of a command, if there is one.
fn exit_code(done: Result<(), Failure>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::error(&failure);
            ExitCode::FAILURE
        }
    }
}

/// Sets up, then prints what the doctor finds. Its findings do not make the setup fail.
fn set_up(arguments: &SetupArguments) -> Result<(), Failure> {
    let SetupEnd { next, failure } = commands::setup::run(arguments, client_arguments::judge)?;
    if arguments.end_with_doctor() {
        output::tell("\nWhat `cli-team-bridge doctor --no-start` finds now:\n");
        let _ = commands::doctor::run(&DoctorArguments::after_setup(), client_arguments::judge);
    }
    if let Some(next) = next {
        output::tell(&format!("\n{next}"));
    }
    failure.map_or(Ok(()), Err)
}
