//! The only printer: data to stdout, conversation to stderr.

use std::error::Error;
use std::io::{self, Write};

use crate::sys::reader;

/// Prints what the reading of the arguments answers: help to stdout, what is wrong to stderr.
pub(super) fn print_answer(answer: &clap::Error) {
    let text = answer.render().to_string();
    if answer.use_stderr() {
        write(&mut io::stderr(), &text);
    } else {
        write(&mut io::stdout(), &text);
    }
}

/// Prints why a command has failed.
pub(super) fn error(failure: &(dyn Error + Send + Sync)) {
    write(&mut io::stderr(), &format!("error: {failure}\n"));
}

/// Tells a line about what happens.
pub(super) fn tell(line: &str) {
    write(&mut io::stderr(), &format!("{line}\n"));
}

/// Prints a line of what was asked for.
pub(super) fn say(line: &str) {
    write(&mut io::stdout(), &format!("{line}\n"));
}

/// Prints what was asked for, and tells whether somebody has read on so far. It waits for who reads, but not on this thread.
pub(super) async fn say_aside(text: String) -> io::Result<()> {
    let said = tokio::task::spawn_blocking(move || {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    });
    said.await.map_err(io::Error::other)?
}

/// Says whether anybody can still read what is printed.
pub(super) fn has_reader() -> bool {
    reader::is_there(io::stdout())
}

fn write(to: &mut dyn Write, text: &str) {
    // Nobody reads it any more, and there is no other place to say so.
    let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
}
