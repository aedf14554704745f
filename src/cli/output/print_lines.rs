//! Prints whole lines to stdout and stderr: the only place that does.

use std::io::{self, Write};
use std::sync::OnceLock;

use console::Term;

use super::painting::above;
use super::terminal_colours::coloured;
use super::wrapped_lines::fitted;
use crate::cli::failure::{self, Failure};
use crate::domain::text::visible_letters::seen;
use crate::sys::closed_pipe;

/// Why a line of output could not be written, if it has a reader.
static UNWRITTEN: OnceLock<io::Error> = OnceLock::new();

/// A writer to stderr that prints above the region.
pub(crate) struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        above(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Prints clap's answer to the arguments: help to stdout, errors to stderr.
pub(crate) fn print_answer(answer: &clap::Error) {
    let text = seen(&answer.render().to_string());
    if answer.use_stderr() {
        above(&failure::with_tips_as_hints(&text));
    } else {
        write_out(&text);
    }
}

/// Writes to stdout. Output without a reader is dropped: the command does its work all the same.
fn write_out(text: &str) {
    let mut stdout = io::stdout();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        // The first error is the reason of all others.
        let _ = UNWRITTEN.set(error);
    }
}

/// Returns why some output could not be written although it has a reader, as on a full disk.
pub(crate) fn why_unwritten() -> Option<&'static io::Error> {
    UNWRITTEN.get()
}

/// Prints why a command failed, in the form that all commands use.
pub(crate) fn error(failure: &Failure) {
    above(&failure::report(failure.as_ref()));
}

/// Prints a line of progress to stderr.
pub(crate) fn tell(line: &str) {
    above(&format!("{line}\n"));
}

/// Returns how wide a terminal is; none for any other output.
fn columns_of(terminal: &Term) -> Option<usize> {
    let size = terminal.features().is_attended().then(|| terminal.size_checked()).flatten();
    size.map(|(_, columns)| columns.into()).filter(|columns| *columns > 0)
}

/// Returns how wide the terminal of stdout is, if it is one.
pub(crate) fn columns_of_stdout() -> Option<usize> {
    columns_of(&Term::stdout())
}

/// Breaks the lines of a text that are longer than a terminal is wide; of any other output, none.
fn fitted_text(terminal: &Term, text: &str) -> String {
    let Some(columns) = columns_of(terminal) else {
        return text.to_owned();
    };
    let rows = text.lines().flat_map(|line| fitted(&seen(line), columns));
    rows.flat_map(|row| [row, "\n".to_owned()]).collect()
}

/// Prints a line of output to stdout.
pub(crate) fn say(line: &str) {
    write_out(&format!("{}\n", seen(line)));
}

/// Prints a line of output for people: at a terminal, broken between its words where it is longer than the terminal is wide.
pub(crate) fn say_fitted(line: &str) {
    say_part(&fitted_text(&Term::stdout(), &format!("{line}\n")));
}

/// Prints a part of a line of output, or several lines, to stdout.
pub(crate) fn say_part(text: &str) {
    write_out(&seen(text));
}

/// Prints a line of output that may have colours.
pub(crate) fn say_coloured(line: &str) {
    write_out(&format!("{}\n", coloured(line)));
}

/// Says whether to use colours in output: at a terminal, unless its user wants none.
pub(crate) fn wants_colours_on_stdout() -> bool {
    console::colors_enabled()
}

/// Prints output, and returns an error once the reader is gone. It waits for a slow reader, but not on this thread.
pub(crate) async fn say_aside(text: String) -> io::Result<()> {
    let text = seen(&text);
    let printed = tokio::task::spawn_blocking(move || {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    });
    printed.await.map_err(io::Error::other)?
}

/// Returns whether stdout still has a reader.
pub(crate) fn has_reader() -> bool {
    closed_pipe::is_there(io::stdout())
}
