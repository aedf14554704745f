//! Prints whole lines to stdout and stderr: the only place that does.

use std::error::Error;
use std::io::{self, Write};

use super::painting::above;
use super::terminal_colours::coloured;
use super::write_and_flush::write;
use crate::domain::text::visible_letters::seen;
use crate::sys::closed_pipe;

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
        above(&text);
    } else {
        write(&mut io::stdout(), &text);
    }
}

/// Prints why a command failed.
pub(crate) fn error(failure: &(dyn Error + Send + Sync)) {
    above(&format!("error: {failure}\n"));
}

/// Prints a line of progress to stderr.
pub(crate) fn tell(line: &str) {
    above(&format!("{line}\n"));
}

/// Prints a line of output to stdout.
pub(crate) fn say(line: &str) {
    write(&mut io::stdout(), &format!("{}\n", seen(line)));
}

/// Prints a line of output that may have colours.
pub(crate) fn say_coloured(line: &str) {
    write(&mut io::stdout(), &format!("{}\n", coloured(line)));
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
