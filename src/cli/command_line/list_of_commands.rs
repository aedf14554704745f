//! The commands of the program, with their one-line help. The flags of each are in its own file.

use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal as _, stdin};

use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use super::help_groups;
use crate::cli::commands::act::{
    AllowArguments, CancelArguments, DenyArguments, KillArguments, SendArguments, StopArguments,
};
use crate::cli::commands::bus::BusArguments;
use crate::cli::commands::completions::CompletionsArguments;
use crate::cli::commands::demo::DemoArguments;
use crate::cli::commands::doctor::DoctorArguments;
use crate::cli::commands::hook::HookArguments;
use crate::cli::commands::host::HostArguments;
use crate::cli::commands::key::KeyArguments;
use crate::cli::commands::look::{
    LogArguments, MessagesArguments, SearchArguments, StatusArguments, TaskArguments,
    TasksArguments, TraceArguments, UsageArguments, WorkflowsArguments,
};
use crate::cli::commands::man::ManArguments;
use crate::cli::commands::notify::NotifyArguments;
use crate::cli::commands::orchestrator::OrchestratorArguments;
use crate::cli::commands::peer::PeerArguments;
use crate::cli::commands::run::RunArguments;
use crate::cli::commands::scripted_agent::ScriptedArguments;
use crate::cli::commands::setup::SetupArguments;
use crate::cli::commands::top::TopArguments;
use crate::cli::commands::trust::TrustArguments;
use crate::cli::commands::watch::WatchArguments;
use crate::cli::commands::web::WebArguments;
use crate::cli::logging::LogReader;
use crate::domain::text::suggest::nearest;

/// Runs a team of coding agents from several vendors that message each other while they work.
#[derive(Debug, Parser)]
#[command(name = "cli-team-bridge", version, about, max_term_width = 100, override_usage = "cli-team-bridge [COMMAND]", after_help = help_groups::EXAMPLES)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
}

// A new command is one variant here, one file in `commands/`, one line in `run_command`, and one name in `help_groups`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Connect Claude Code, editors and other clients to the bridge.
    Setup(SetupArguments),
    /// Lead a team of agents in a project (MCP server on stdio).
    Orchestrator(OrchestratorArguments),
    /// Serve an agent that the bridge started (MCP server on stdio).
    Agent,
    /// Join a project's team under a name (MCP server on stdio).
    Peer(PeerArguments),
    /// Run a workflow from a plan file, or resume an interrupted one.
    Run(RunArguments),
    /// Start agents on this machine for members on other machines.
    Host(HostArguments),
    /// Review and approve what a project or a plan would run.
    Trust(TrustArguments),
    /// Check agents, bus and machine, and say how to fix problems.
    Doctor(DoctorArguments),
    /// Watch the team in a window while it works.
    Top(TopArguments),
    /// Show the team as pages in your browser, from a local server.
    Web(WebArguments),
    /// Show who is there, what each does, and what waits for you.
    Status(StatusArguments),
    /// Show what has happened, and with -f what happens.
    Log(LogArguments),
    /// Show what the members wrote to each other, and who has seen it.
    Messages(MessagesArguments),
    /// List the tasks of the team.
    Tasks(TasksArguments),
    /// Show a task: its prompt, its result, its files.
    Task(TaskArguments),
    /// Show an exchange as a whole: messages, receipts, claims.
    Trace(TraceArguments),
    /// List the workflows of the team with their steps.
    Workflows(WorkflowsArguments),
    /// Sum up tokens and costs by agent, profile or day.
    Usage(UsageArguments),
    /// Send a trial notification to yourself.
    Notify(NotifyArguments),
    /// Find words in everything that the team has said and done.
    Search(SearchArguments),
    /// Share, copy, verify, export or prune the team's bus.
    Bus(BusArguments),
    /// Make, list and revoke keys for the API of `web`.
    Key(KeyArguments),
    /// Write to a member of the team, or to a group.
    Send(SendArguments),
    /// Allow what an agent asks, or approve a step of a workflow.
    Allow(AllowArguments),
    /// Refuse what an agent asks, or a step of a workflow.
    Deny(DenyArguments),
    /// Cancel a task or a workflow.
    Cancel(CancelArguments),
    /// Stop an agent once its turn is over, after 20 s at the latest.
    Stop(StopArguments),
    /// Kill an agent and all its processes.
    Kill(KillArguments),
    /// Print one line per new message, for Claude Code's Monitor tool.
    Watch(WatchArguments),
    /// Bring unread messages to a model through a hook of its client.
    Hook(HookArguments),
    /// Act as an ACP agent that follows a script instead of a model.
    ScriptedAgent(ScriptedArguments),
    /// Run a demo team of scripted agents in a temporary project.
    Demo(DemoArguments),
    /// Print a script that completes commands and flags in a shell.
    Completions(CompletionsArguments),
    /// Print a manual page, or write the pages of all commands.
    Man(ManArguments),
}

impl Arguments {
    /// Parses the arguments, or returns the answer to print instead: help, the version, or an error.
    pub(super) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let arguments: Vec<_> = arguments.into_iter().collect();
        if let [_, word, rest @ ..] = arguments.as_slice()
            && let Some(command) = Command::of_clients(word, rest)
        {
            return Ok(Self { command });
        }
        Self::read_among_all(arguments)
    }

    fn read_among_all(arguments: Vec<OsString>) -> Result<Self, clap::Error> {
        let mut program = help_groups::grouped(Self::command());
        let matches = program.try_get_matches_from_mut(arguments);
        let mut matches = matches.map_err(with_nearest_commands)?;
        Self::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut program))
    }
}

/// Parses the arguments of one command alone, if they are right and ask for no help.
fn parsed<A: Args>(arguments: &[OsString]) -> Option<A> {
    let program = clap::Command::new("command").no_binary_name(true);
    let mut matches = A::augment_args(program).try_get_matches_from(arguments).ok()?;
    A::from_arg_matches_mut(&mut matches).ok()
}

/// Leaves of the commands that an error suggests only those that the user may have meant, the nearest first: clap suggests many, and the
/// nearest last. What other programs call `install` is `setup`.
fn with_nearest_commands(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let hint = match word.as_str() {
        "install" | "init" | "configure" | "connect" => {
            Some("`cli-team-bridge setup` connects your clients")
        }
        "uninstall" | "remove" | "disconnect" => {
            Some("`cli-team-bridge setup --remove` undoes what `setup` has done")
        }
        _ => None,
    };
    if let Some(hint) = hint {
        error.remove(ContextKind::SuggestedSubcommand);
        let hint = ContextValue::StyledStrs(vec![hint.into()]);
        error.insert(ContextKind::Suggested, hint);
        return error;
    }
    // `help` and a word that is none suggests nothing by itself.
    let known = Arguments::command();
    let suggested = error.get(ContextKind::SuggestedSubcommand);
    let similar = if let Some(ContextValue::Strings(similar)) = suggested {
        similar.iter().map(String::as_str).collect()
    } else {
        let shown = known.get_subcommands().filter(|command| !command.is_hide_set());
        shown.map(clap::Command::get_name).collect::<Vec<_>>()
    };
    let near = nearest(word, similar);
    if !near.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(near));
    }
    error
}

impl Command {
    /// Parses a command that clients start, without a description of all others: a step of the client waits for a `hook`, of which that
    /// would be a third. None if it is another command, or the whole program has to answer.
    fn of_clients(word: &OsStr, arguments: &[OsString]) -> Option<Self> {
        match word.to_str()? {
            "hook" => parsed(arguments).map(Self::Hook),
            "watch" => parsed(arguments).map(Self::Watch),
            "peer" => parsed(arguments).map(Self::Peer),
            "orchestrator" => parsed(arguments).map(Self::Orchestrator),
            _ => None,
        }
    }

    /// Says who reads the stderr of a command. At a terminal that is a person, whatever the command is for.
    pub(super) fn log_reader(&self) -> LogReader {
        match self {
            _ if stdin().is_terminal() => LogReader::Person,
            Self::Orchestrator(_)
            | Self::Agent
            | Self::Peer(_)
            | Self::Watch(_)
            | Self::Hook(_)
            | Self::ScriptedAgent(_) => LogReader::Program,
            Self::Setup(_)
            | Self::Run(_)
            | Self::Host(_)
            | Self::Trust(_)
            | Self::Doctor(_)
            | Self::Top(_)
            | Self::Web(_)
            | Self::Status(_)
            | Self::Log(_)
            | Self::Messages(_)
            | Self::Tasks(_)
            | Self::Task(_)
            | Self::Trace(_)
            | Self::Workflows(_)
            | Self::Usage(_)
            | Self::Notify(_)
            | Self::Search(_)
            | Self::Bus(_)
            | Self::Key(_)
            | Self::Send(_)
            | Self::Allow(_)
            | Self::Deny(_)
            | Self::Cancel(_)
            | Self::Stop(_)
            | Self::Kill(_)
            | Self::Demo(_)
            | Self::Completions(_)
            | Self::Man(_) => LogReader::Person,
        }
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(peer.name.map(|name| name.to_string()).as_deref(), Some("ann"));
        let roles: Vec<_> = peer.labels.roles.iter().map(ToString::to_string).collect();
        assert_eq!(roles, ["reviewer", "writer"]);
        assert_eq!(peer.project, None);
    }

    #[test]
    fn the_commands_of_clients_read_alone_as_among_all() {
        for line in [
            "hook",
            "hook --name ann --project /p",
            "hook --help",
            "hook --nmae ann",
            "watch --name ann",
            "peer --name ann --role reviewer --role writer",
            "peer --name all",
            "peer -V",
            "orchestrator",
            "orchestrator help",
        ] {
            let words: Vec<_> = line.split(' ').map(OsString::from).collect();
            let alone = Command::of_clients(&words[0], &words[1..]);
            let all = [vec![OsString::from("bridge")], words].concat();
            let among_all = Arguments::read_among_all(all).ok().map(|read| read.command);
            assert_eq!(format!("{alone:?}"), format!("{among_all:?}"), "{line}");
        }
    }

    #[test]
    fn errors_name_the_correction() {
        let error = |line: &str| read(line).unwrap_err().to_string();
        assert!(error("bridge peer --lane two! --name x").contains("is not a word"));
        assert!(error("bridge peer --topic #news").contains("is not a word"));
        assert!(error("bridge peer --name all").contains("`all` is reserved: choose another name"));
        assert!(error("bridge per --name x").contains("'peer'"));
        assert!(error("bridge setpu").contains("a similar subcommand exists: 'setup'\n"));
        assert!(error("bridge bus verfy").contains("'verify'"));
        assert!(error("bridge help statu").contains("a similar subcommand exists: 'status'\n"));
        assert!(read("bridge log -n 5").is_ok() && read("bridge tasks -n 5").is_ok());
        assert!(error("bridge install").contains("`cli-team-bridge setup` connects your clients"));
        let removal = error("bridge remove");
        assert!(removal.contains("`cli-team-bridge setup --remove`"), "{removal}");
        assert!(!removal.contains("demo"), "{removal}");
        let client = error("bridge setup --client claude");
        assert!(client.contains("'claude-code'") && client.contains("zed"), "{client}");
    }
}
