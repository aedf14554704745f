//! The command line: arguments, the only printer, one file a command.
//!
//! In the modes that speak MCP, stdout carries protocol and nothing else; whatever is said to people goes to stderr.

mod agent;
mod arguments;
mod below;
mod demo;
mod hook;
mod kin;
mod logging;
mod orchestrator;
mod peer;
mod project;
mod run;
mod scripted_agent;
mod served;
mod store;
mod trust;
mod ui;
mod watch;

use std::process::ExitCode;

use self::arguments::{Arguments, Command};
use crate::supervisor::shim_process;

/// What was wrong with how the program was called; the number that most programs use for it.
const USAGE: u8 = 2;

/// Why a command has failed, for the person at the terminal.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Runs the command that the process was started with.
pub fn run() -> ExitCode {
    let mut words = std::env::args_os();
    if words.nth(1).is_some_and(|word| word == shim_process::SHIM) {
        // Before all else: it has one thread, no runtime, and nobody to talk to.
        return shim_process::run(words);
    }
    let arguments = match Arguments::read(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(answer) => {
            ui::print_answer(&answer);
            return if hook::is_asked_for(std::env::args_os()) {
                ExitCode::SUCCESS
            } else if answer.use_stderr() {
                ExitCode::from(USAGE)
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    logging::start();
    let done = match arguments.command {
        Command::Orchestrator(arguments) => orchestrator::run(arguments),
        Command::Agent => agent::run(),
        Command::Peer(arguments) => peer::run(arguments),
        Command::Watch(arguments) => watch::run(arguments),
        Command::Hook(arguments) => {
            hook::run(arguments);
            Ok(())
        }
        Command::ScriptedAgent(arguments) => scripted_agent::run(arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Trust(arguments) => trust::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            ui::error(failure.as_ref());
            ExitCode::FAILURE
        }
    }
}
