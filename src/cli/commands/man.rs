//! `man`: the manual pages, generated from the same definitions as the help, so the two never differ.

use std::fs;
use std::io;
use std::path::{Path, PathBuf, is_separator};

use clap::Args;
use clap_mangen::Man;

use crate::cli::{Failure, output, with_hint};
use crate::domain::text::shown_path::ShownPath as _;
use crate::domain::text::suggest::nearest;

/// The arguments of `man`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  cli-team-bridge man | man -l -
  cli-team-bridge man status | man -l -
  cli-team-bridge man ~/.local/share/man/man1")]
pub(crate) struct ManArguments {
    /// The command whose page is printed, or the directory to write a page for each command into; it is created if missing, if its path has a
    /// `/` [default: print the main page].
    #[arg(value_name = "COMMAND|DIR")]
    directory: Option<PathBuf>,
}

/// Prints or writes the pages of a program with these commands.
pub(crate) fn run(arguments: &ManArguments, program: clap::Command) -> Result<(), Failure> {
    // The pages have no `help` command.
    let mut program = program.disable_help_subcommand(true);
    // It gives each command the name of its page.
    program.build();
    let source = source(&program);
    let Some(asked) = &arguments.directory else {
        return print_page(program, &source);
    };
    let word = asked.to_str().filter(|_| !asked.exists());
    if let Some(command) = word.and_then(|name| program.find_subcommand(name)) {
        return print_page(command.clone(), &source);
    }
    if let Some(word) = word.filter(|word| is_one_word(word)) {
        return Err(no_command(word, &program));
    }
    write_pages(asked, &program, &source).map_err(|error| {
        format!("cannot write manual pages to `{}`: {error}", asked.shown()).into()
    })
}

/// Says whether a path may be meant as the name of a command.
fn is_one_word(path: &str) -> bool {
    !path.is_empty() && !path.contains(is_separator)
}

fn no_command(word: &str, program: &clap::Command) -> Failure {
    let shown = program.get_subcommands().filter(|command| !command.is_hide_set());
    let near = nearest(word, shown.map(clap::Command::get_name));
    let near = near.first().map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
    let word = Path::new(word).shown();
    let what = format!("there is no command `{word}`, nor a directory");
    with_hint(what, format!("{near}`./{word}` makes a directory of this name"))
}

/// Returns what the foot of each page names.
fn source(program: &clap::Command) -> String {
    format!("{} {}", program.get_name(), program.get_version().unwrap_or_default())
}

/// Writes the pages of a command and those below it.
fn write_pages(directory: &Path, command: &clap::Command, source: &str) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    for below in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        write_pages(directory, below, source)?;
    }
    let page = Man::new(command.clone()).source(source);
    fs::write(directory.join(page.get_filename()), text(&page)?)
}

fn print_page(command: clap::Command, source: &str) -> Result<(), Failure> {
    output::say(text(&Man::new(command).source(source))?.trim_end());
    Ok(())
}

/// Returns a page, with the examples, or the notes, below a heading of their own.
fn text(page: &Man) -> io::Result<String> {
    let mut text = Vec::new();
    page.render(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let text = text.replacen("\n.SH EXTRA\nExamples:\n", "\n.SH EXAMPLES\n", 1);
    Ok(text.replacen("\n.SH EXTRA\n", "\n.SH NOTES\n", 1))
}
