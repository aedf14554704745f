//! The only printer: data to stdout, conversation to stderr.
//!
//! Where a person looks at stderr, some lines can stay at its end and change ([`paint`]); all else that goes there, the log too, is
//! printed above them.
//!
//! What is printed holds words of others: of agents, of plans, of repositories. So nothing goes out that acts on a terminal instead of
//! being seen on it, but line ends, tabs, and the colours of the tree ([`seen`]).

mod live_region;

use std::error::Error;
use std::io::{self, IsTerminal as _, Write};
use std::sync::{Mutex, MutexGuard};

use console::Term;

use self::live_region::Region;
use crate::domain::text::visible_letters::seen;
use crate::sys::closed_pipe;
use crate::sys::mutex::lock;

/// What stays at the end of stderr. Whoever writes there holds it, so that no two write at a time.
static REGION: Mutex<Option<Region>> = Mutex::new(None);

/// The size of a terminal that does not tell its own: that of the oldest.
const USUAL: (u16, u16) = (24, 80);

/// What is to stay at the end of stderr from now on.
#[derive(Clone, Debug, Default)]
pub(super) struct Painting {
    /// Lines that are printed above once.
    pub(super) above: Vec<String>,
    /// Each shorter than the terminal is wide, and all of them fewer than its rows.
    pub(super) lines: Vec<String>,
    /// What is asked below them.
    pub(super) question: Option<String>,
    /// Lines typed there since the last painting, with their ends.
    pub(super) typed: Vec<String>,
    /// Whether another program has used the terminal since then.
    pub(super) anew: bool,
}

/// Says whether a person looks at stderr, on a terminal on which the cursor can be moved.
pub(super) fn can_paint() -> bool {
    io::stderr().is_terminal() && !console::is_dumb()
}

/// Says whether to use colours there.
pub(super) fn wants_colours() -> bool {
    console::colors_enabled_stderr()
}

/// Returns the rows and the columns of the terminal.
pub(super) fn size() -> (usize, usize) {
    let (rows, columns) = Term::stderr().size_checked().unwrap_or(USUAL);
    (rows.into(), columns.into())
}

/// Paints what is to stay at the end of stderr. It may wait for the terminal.
pub(super) fn paint(painting: Painting) {
    let (_, width) = size();
    let mut held = held();
    let region = held.get_or_insert_default();
    if painting.anew {
        region.forget();
    }
    for line in &painting.typed {
        region.typed(line, width);
    }
    let above = above_all(region, &painting.above, width);
    let lines: Vec<_> = painting.lines.iter().map(|line| coloured(line)).collect();
    let question = painting.question.map(|question| seen(&question));
    let text = region.ask(question, width) + &region.show(&lines, width);
    write(&mut io::stderr(), &(above + &text));
}

/// Leaves lines at the end of stderr for good, in place of what was painted there. It may wait for the terminal.
pub(super) fn leave(painting: Painting) {
    let (_, width) = size();
    let mut held = held();
    let mut region = held.take().unwrap_or_default();
    if painting.anew {
        region.forget();
    }
    for line in &painting.typed {
        region.typed(line, width);
    }
    let above = above_all(&mut region, &painting.above, width);
    let lines = painting.lines.into_iter();
    let lines = lines.map(|line| coloured(&line)).collect();
    write(&mut io::stderr(), &(above + &region.leave(lines, width)));
}

fn above_all(region: &mut Region, lines: &[String], width: usize) -> String {
    let lines = lines.iter();
    lines.map(|line| region.above(&format!("{}\n", coloured(line)), width)).collect()
}

/// Writes to stderr as everything here does.
pub(super) struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        above(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Prints what the reading of the arguments answers: help to stdout, what is wrong to stderr.
pub(super) fn print_answer(answer: &clap::Error) {
    let text = seen(&answer.render().to_string());
    if answer.use_stderr() {
        above(&text);
    } else {
        write(&mut io::stdout(), &text);
    }
}

/// Prints why a command has failed.
pub(super) fn error(failure: &(dyn Error + Send + Sync)) {
    above(&format!("error: {failure}\n"));
}

/// Tells a line about what happens.
pub(super) fn tell(line: &str) {
    above(&format!("{line}\n"));
}

/// Prints a line of output.
pub(super) fn say(line: &str) {
    write(&mut io::stdout(), &format!("{}\n", seen(line)));
}

/// Prints output, and returns an error once the reader is gone. It waits for a slow reader, but not on this thread.
pub(super) async fn say_aside(text: String) -> io::Result<()> {
    let text = seen(&text);
    let said = tokio::task::spawn_blocking(move || {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    });
    said.await.map_err(io::Error::other)?
}

/// Says whether stdout still has a reader.
pub(super) fn has_reader() -> bool {
    closed_pipe::is_there(io::stdout())
}

/// Writes whole lines to stderr, above what stays at its end.
fn above(text: &str) {
    let text = seen(text);
    match held().as_mut() {
        None => write(&mut io::stderr(), &text),
        Some(region) => {
            let (_, width) = size();
            write(&mut io::stderr(), &region.above(&text, width));
        }
    }
}

/// Returns a line of ours with its colours, in which words of others are one line already, and nothing else that acts on a terminal.
fn coloured(line: &str) -> String {
    let mut parts = line.split("\x1b[");
    let mut shown = seen(parts.next().unwrap_or_default());
    for part in parts {
        let codes = part.find(|letter: char| !letter.is_ascii_digit() && letter != ';');
        match codes.map(|end| part.split_at(end)) {
            Some((codes, rest)) if rest.starts_with('m') => {
                shown.push_str("\x1b[");
                shown.push_str(codes);
                shown.push_str(&seen(rest));
            }
            _ => {
                shown.push_str("\u{fffd}[");
                shown.push_str(&seen(part));
            }
        }
    }
    shown
}

fn held() -> MutexGuard<'static, Option<Region>> {
    // What a panic has left there is still what is on the terminal.
    lock(&REGION)
}

fn write(to: &mut dyn Write, text: &str) {
    // Stderr has no reader any more, and there is no other place to say so.
    let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_all_that_acts_on_a_terminal_only_colours_are_left() {
        let line = "\x1b[1;32mdone\x1b[0m \x1b]0;T\x07\x1b[2J\x1b[\u{9b}1m\u{202e}x\x08";
        assert_eq!(
            coloured(line),
            "\x1b[1;32mdone\x1b[0m \u{fffd}]0;T\u{fffd}\u{fffd}[2J\u{fffd}[\u{fffd}1m\u{fffd}x\u{fffd}"
        );
        assert_eq!(coloured("plain"), "plain");
    }
}
