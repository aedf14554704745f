//! The subcommands of `bus`, and where each is.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::copy_command::{self, CopyArguments};
use super::export_command::{self, ExportArguments};
use super::init_command::{self, InitArguments};
use super::prune_command::{self, PruneArguments};
use super::status_command::{self, StatusArguments};
use super::verify_command::{self, VerifyArguments};
use crate::cli::output;

/// What to do with the bus.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge bus status   where the order of the bus is kept
  cli-team-bridge bus verify   check every line and text
  cli-team-bridge bus export   all of its history, as JSON lines")]
pub(crate) struct BusArguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Clone, Debug, Subcommand)]
enum Action {
    /// Share the bus with other machines, by way of a PostgreSQL server.
    Init(InitArguments),
    /// Take the bus with its history to a server, or back into files.
    Copy(CopyArguments),
    /// Show where the order of the bus is kept, and whether this machine is up to date.
    Status(StatusArguments),
    /// Check every line, snapshot and text, and say what is damaged.
    Verify(VerifyArguments),
    /// Write the whole history as JSON lines, each event with its texts.
    Export(ExportArguments),
    /// Remove history that is old and that nothing needs, now.
    Prune(PruneArguments),
}

/// Runs a subcommand. Returns its exit code: that of `verify` says what it has found.
pub(crate) fn run(arguments: &BusArguments) -> ExitCode {
    let done = match &arguments.action {
        Action::Verify(arguments) => return verify_command::run(arguments),
        Action::Init(arguments) => init_command::run(arguments),
        Action::Copy(arguments) => copy_command::run(arguments),
        Action::Status(arguments) => status_command::run(arguments),
        Action::Export(arguments) => export_command::run(arguments),
        Action::Prune(arguments) => prune_command::run(arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::error(&failure);
            ExitCode::FAILURE
        }
    }
}
