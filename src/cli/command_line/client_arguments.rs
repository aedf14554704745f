//! Whether a client can start the program as its server with some arguments. The list of commands decides, as at the start itself.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::list_of_commands::{Arguments, Command};
use crate::domain::limits::CLIENT_WORD_CHARS;
use crate::domain::text::visible_letters::beginning;
use crate::setup::edits::entry_arguments::{ServerRole, StartedServer};

/// Returns the server that arguments in a client's entry start, or what is wrong with them. Names only the wrong one: another may be a secret.
pub(super) fn judge(arguments: &[String]) -> Result<StartedServer, String> {
    let program = std::iter::once("cli-team-bridge");
    let line = program.chain(arguments.iter().map(String::as_str)).map(OsString::from);
    match Arguments::read(line) {
        Ok(Arguments { command: Command::Orchestrator(leads) }) => {
            Ok(StartedServer { role: ServerRole::Orchestrator, project: leads.project })
        }
        Ok(Arguments { command: Command::Peer(joins) }) => {
            Ok(StartedServer { role: ServerRole::Peer, project: joins.project })
        }
        Ok(_) => Err(serves_none(arguments)),
        Err(error) => Err(wrong_part(&error, arguments)),
    }
}

fn wrong_part(error: &clap::Error, arguments: &[String]) -> String {
    let part = |kind| match error.get(kind) {
        Some(ContextValue::String(part)) => Some(shown(part)),
        _ => None,
    };
    match error.kind() {
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            "there are none".to_owned()
        }
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => serves_none(arguments),
        ErrorKind::InvalidSubcommand => match part(ContextKind::InvalidSubcommand) {
            Some(word) => format!("{word} is not a command"),
            None => "an unknown command".to_owned(),
        },
        _ => match part(ContextKind::InvalidArg) {
            Some(word) if error.kind() == ErrorKind::UnknownArgument => {
                format!("{word} is unknown")
            }
            Some(word) => format!("{word} has a value that does not fit"),
            None => "the program does not take them".to_owned(),
        },
    }
}

fn serves_none(arguments: &[String]) -> String {
    let first = arguments.first().map(String::as_str).unwrap_or_default();
    format!("{} serves no client", shown(first))
}

fn shown(word: &str) -> String {
    format!("`{}`", beginning(word, CLIENT_WORD_CHARS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn right_arguments_say_what_is_started_and_in_which_project() {
        let started = |line: &str| {
            let arguments: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
            let StartedServer { role, project } = judge(&arguments).unwrap();
            (role, project.map(|project| project.display().to_string()))
        };
        let there = || Some("/p".to_owned());
        assert_eq!(started("orchestrator"), (ServerRole::Orchestrator, None));
        assert_eq!(started("orchestrator --project /p"), (ServerRole::Orchestrator, there()));
        assert_eq!(started("peer --name ann"), (ServerRole::Peer, None));
        assert_eq!(started("peer --name ann --project=/p"), (ServerRole::Peer, there()));
    }

    #[test]
    fn the_wrong_argument_is_named() {
        let judged = |line: &str| {
            let arguments: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
            judge(&arguments).err().unwrap_or_default()
        };
        for right in ["orchestrator", "orchestrator --adopt", "peer --name ann --role reviewer"] {
            assert_eq!(judged(right), "", "{right}");
        }
        for (wrong, expected) in [
            ("", "there are none"),
            ("orchestrate", "`orchestrate` is not a command"),
            ("orchestrator --projct x", "`--projct` is unknown"),
            ("orchestrator more", "`more` is unknown"),
            ("status", "`status` serves no client"),
            ("agent", "`agent` serves no client"),
            ("--help", "`--help` serves no client"),
            ("peer --name all", "`--name <NAME>` has a value that does not fit"),
        ] {
            assert_eq!(judged(wrong), expected, "{wrong}");
        }
    }
}
