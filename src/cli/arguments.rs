//! What the program can be asked for.

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use super::commands::demo::DemoArguments;
use super::commands::hook::HookArguments;
use super::commands::orchestrator::OrchestratorArguments;
use super::commands::peer::PeerArguments;
use super::commands::run::RunArguments;
use super::commands::scripted_agent::ScriptedArguments;
use super::commands::trust::TrustArguments;
use super::commands::watch::WatchArguments;

/// Lets coding agents of several vendors work as a team and talk to each other while they work.
#[derive(Debug, Parser)]
#[command(name = "cli-team-bridge", version, about, max_term_width = 100)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
}

// A new command is one variant here, one file in `commands/`, and one line in `cli::run`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Lead a team of agents in a project: everybody's tools and the orchestrator's (MCP on stdio).
    Orchestrator(OrchestratorArguments),
    /// Serve the team's tools to an agent that a bridge has started (MCP on stdio; identity from the environment).
    Agent,
    /// Join the team of a project by name and serve its tools (MCP on stdio).
    Peer(PeerArguments),
    /// Run a workflow from a plan file, or go on with an interrupted one.
    Run(RunArguments),
    /// Show what a project's own bridge.toml would run or widen, and say yes to it, or take a yes back.
    Trust(TrustArguments),
    /// Print one line a message for a member, as it comes: a doorbell for Claude Code's Monitor tool.
    Watch(WatchArguments),
    /// Answer a hook of Claude Code: what is unread goes into the session (hook JSON on stdin).
    Hook(HookArguments),
    /// Play a script as an ACP agent on stdio: for demos, tests, and trying teams out without a model.
    ScriptedAgent(ScriptedArguments),
    /// Show a team of scripted agents at work in a temporary project.
    Demo(DemoArguments),
}

impl Arguments {
    /// Reads the arguments, or returns what to answer instead: help, the version, or what is wrong.
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
    fn what_is_wrong_is_said_with_what_is_right() {
        let told = |line: &str| read(line).unwrap_err().to_string();
        assert!(told("bridge peer").contains("--name <NAME>"));
        assert!(told("bridge peer --name all").contains("`all` is reserved: choose another name"));
        assert!(told("bridge per --name x").contains("'peer'"));
    }
}
