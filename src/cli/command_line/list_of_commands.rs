//! The commands of the program, with their one-line help. The flags of each are in its own file.

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use crate::cli::commands::completions::CompletionsArguments;
use crate::cli::commands::demo::DemoArguments;
use crate::cli::commands::doctor::DoctorArguments;
use crate::cli::commands::hook::HookArguments;
use crate::cli::commands::man::ManArguments;
use crate::cli::commands::orchestrator::OrchestratorArguments;
use crate::cli::commands::peer::PeerArguments;
use crate::cli::commands::run::RunArguments;
use crate::cli::commands::scripted_agent::ScriptedArguments;
use crate::cli::commands::setup::SetupArguments;
use crate::cli::commands::trust::TrustArguments;
use crate::cli::commands::watch::WatchArguments;

/// Runs a team of coding agents from several vendors that message each other while they work.
#[derive(Debug, Parser)]
#[command(name = "cli-team-bridge", version, about, max_term_width = 100)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
}

// A new command is one variant here, one file in `commands/`, and one line in `run_command`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Connect the clients on this machine (Claude Code, editors, …) to the bridge, and show which agents are installed.
    Setup(SetupArguments),
    /// Lead a team of agents in a project (MCP server on stdio).
    Orchestrator(OrchestratorArguments),
    /// Serve the messaging tools to an agent that the bridge started (MCP server on stdio; not for manual use).
    Agent,
    /// Join a project's team under a name, with the messaging tools (MCP server on stdio).
    Peer(PeerArguments),
    /// Run a workflow from a plan file, or resume an interrupted one.
    Run(RunArguments),
    /// Review and approve what a project's bridge.toml or a plan's gates would run, or revoke an approval.
    Trust(TrustArguments),
    /// Check whether the agents, the bus and this machine are ready for a team, and say how to fix what is not.
    Doctor(DoctorArguments),
    /// Print one line per new message, for Claude Code's Monitor tool.
    Watch(WatchArguments),
    /// Deliver unread messages through a Claude Code hook (hook JSON on stdin).
    Hook(HookArguments),
    /// Act as an ACP agent that follows a script instead of a model (for demos, tests and trial runs).
    ScriptedAgent(ScriptedArguments),
    /// Run a demo team of scripted agents in a temporary project.
    Demo(DemoArguments),
    /// Print a script that completes commands and flags in your shell.
    Completions(CompletionsArguments),
    /// Print the manual page, or write the pages of all commands into a directory.
    Man(ManArguments),
}

impl Arguments {
    /// Parses the arguments, or returns the answer to print instead: help, the version, or an error.
    pub(super) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        Self::try_parse_from(arguments)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn read(line: &str) -> Result<Arguments, clap::Error> {
        Arguments::read(line.split(' ').map(OsString::from))
    }

    #[test]
    fn the_arguments_are_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_peer_has_a_name_and_any_number_of_roles() {
        let read = read("bridge peer --name ann --role reviewer --role writer").unwrap();
        let Command::Peer(peer) = read.command else {
            panic!("a peer was asked for");
        };
        assert_eq!(peer.name.as_str(), "ann");
        assert_eq!(peer.roles, ["reviewer", "writer"]);
        assert_eq!(peer.project, None);
    }

    #[test]
    fn errors_name_the_correction() {
        let error = |line: &str| read(line).unwrap_err().to_string();
        assert!(error("bridge peer").contains("--name <NAME>"));
        assert!(error("bridge peer --name all").contains("`all` is reserved: choose another name"));
        assert!(error("bridge per --name x").contains("'peer'"));
    }
}
