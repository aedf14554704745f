//! Setup's questions: asked only at a terminal, and again after an answer that is neither yes nor no.

use std::io::{IsTerminal as _, stdin};

use super::setup_arguments::SetupArguments;
use crate::cli::{Failure, output, with_hint};
use crate::sys::terminal;

/// The source of the answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asking {
    /// The user answers at a terminal.
    Person,
    /// Every answer is yes.
    Yes,
    /// Every answer is no, so that nothing changes.
    DryRun,
    /// There is no terminal to ask at, so every answer is no.
    NoTerminal,
}

impl Asking {
    /// Chooses the source by the arguments, and by whether stdin is a terminal.
    pub(super) fn of(arguments: &SetupArguments) -> Self {
        if arguments.dry_run {
            Self::DryRun
        } else if arguments.yes {
            Self::Yes
        } else if stdin().is_terminal() {
            Self::Person
        } else {
            Self::NoTerminal
        }
    }

    /// Returns the answer, and asks the user if necessary. Input typed before the question is dropped.
    pub(super) fn agrees(self, question: &str) -> Result<bool, Failure> {
        if self != Self::Person {
            return Ok(self == Self::Yes);
        }
        let mut was_unclear = false;
        loop {
            terminal::drop_typed(stdin());
            if was_unclear {
                output::tell("Type y for yes, or n for no.");
            }
            output::tell(&format!("{question} [y/N]"));
            let mut typed = String::new();
            stdin().read_line(&mut typed)?;
            match typed.trim().to_lowercase().as_str() {
                "y" | "yes" => return Ok(true),
                "" | "n" | "no" => return Ok(false),
                _ => was_unclear = true,
            }
        }
    }

    /// Fails if a question could not be asked for want of a terminal.
    pub(super) fn refuse_without_terminal(self) -> Result<(), Failure> {
        if self == Self::NoTerminal {
            return Err(with_hint(
                "there is no terminal to ask at, so nothing was changed",
                "run this in a terminal, or add --yes to make the changes above",
            ));
        }
        Ok(())
    }
}
