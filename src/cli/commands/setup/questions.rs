//! What setup asks: at a terminal alone, and all but a clear yes is no.

use std::io::{IsTerminal as _, stdin};

use super::setup_arguments::SetupArguments;
use crate::cli::{Failure, output};
use crate::sys::terminal;

/// How the answers to the questions come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asking {
    /// A person answers.
    Person,
    /// All are yes.
    Yes,
    /// All are no: nothing is to be changed.
    DryRun,
    /// Nobody is there.
    Nobody,
}

impl Asking {
    /// Decides by the arguments, and by whether there is a terminal.
    pub(super) fn of(arguments: &SetupArguments) -> Self {
        if arguments.dry_run {
            Self::DryRun
        } else if arguments.yes {
            Self::Yes
        } else if stdin().is_terminal() {
            Self::Person
        } else {
            Self::Nobody
        }
    }

    /// Asks a question, or knows its answer. What was typed before it is dropped.
    pub(super) fn agrees(self, question: &str) -> Result<bool, Failure> {
        if self != Self::Person {
            return Ok(self == Self::Yes);
        }
        terminal::drop_typed(stdin());
        output::tell(&format!("{question} [y/N]"));
        let mut typed = String::new();
        stdin().read_line(&mut typed)?;
        Ok(matches!(typed.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    /// Fails where there was something to ask, and nobody to answer.
    pub(super) fn refuse_if_nobody(self) -> Result<(), Failure> {
        if self == Self::Nobody {
            let told = "there is no terminal to ask at, so nothing was changed: run this in a terminal, or write \
                what is shown above with --yes";
            return Err(told.into());
        }
        Ok(())
    }
}
