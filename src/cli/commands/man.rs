//! `man`: the manual pages, generated from the same definitions as the help, so the two never differ.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use clap_mangen::{Man, generate_to};

use crate::cli::{Failure, output};
use crate::domain::text::shown_path::ShownPath as _;

/// The arguments of `man`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge man | man -l -
  cli-team-bridge man status | man -l -
  cli-team-bridge man ~/.local/share/man/man1")]
pub(crate) struct ManArguments {
    /// The command whose page is printed, or the directory to write a page for each command into; it is created if missing [default:
    /// print the main page].
    #[arg(value_name = "COMMAND|DIR")]
    directory: Option<PathBuf>,
}

/// Prints or writes the pages of a program with these commands.
pub(crate) fn run(arguments: &ManArguments, program: clap::Command) -> Result<(), Failure> {
    if let Some(command) = arguments.directory.as_deref().and_then(|name| named(name, &program)) {
        return print_page(command);
    }
    match &arguments.directory {
        Some(directory) => write_pages(directory, program).map_err(|error| {
            format!("cannot write manual pages to `{}`: {error}", directory.shown()).into()
        }),
        None => print_page(program),
    }
}

/// Returns the command of this name, unless a directory has it.
fn named(name: &Path, program: &clap::Command) -> Option<clap::Command> {
    let name = name.to_str().filter(|_| !name.exists())?;
    let mut program = program.clone().disable_help_subcommand(true);
    // It gives each command the name of its page.
    program.build();
    program.find_subcommand(name).cloned()
}

fn write_pages(directory: &Path, program: clap::Command) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    generate_to(program, directory)
}

fn print_page(program: clap::Command) -> Result<(), Failure> {
    let mut page = Vec::new();
    // The pages in a directory have no `help` command either.
    Man::new(program.disable_help_subcommand(true)).render(&mut page)?;
    output::say(String::from_utf8_lossy(&page).trim_end());
    Ok(())
}
