//! The command line: arguments, the only printer, one file a command.
//!
//! In the modes that speak MCP, stdout carries protocol and nothing else; whatever is said to people goes to stderr.

mod list_of_commands;
mod below_agent;
mod claude_session;
pub(crate) mod commands;
mod find_project;
mod hidden_agents;
mod lead_team;
mod load_config;
mod logging;
mod open_bus;
mod output;
mod serve_endpoint;
mod serve_mcp;
mod signal_policy;
mod how_to_watch;

use std::process::ExitCode;

use self::list_of_commands::{Arguments, Command};
use crate::supervisor::shim_process;

/// What was wrong with how the program was called; the number that most programs use for it.
const USAGE: u8 = 2;

/// Why a command has failed, for the person at the terminal.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Runs the command that the process was started with.
pub fn run() -> ExitCode {
    let mut words = std::env::args_os();
    if words.nth(1).is_some_and(|word| word == shim_process::SHIM) {
        // Before all else: a shim has one thread, no runtime, and no user.
        return shim_process::run(words);
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
    logging::start();
    let done = match arguments.command {
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
        Command::Trust(arguments) => commands::trust::run(&arguments),
        Command::Demo(arguments) => commands::demo::run(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::error(failure.as_ref());
            ExitCode::FAILURE
        }
    }
}
