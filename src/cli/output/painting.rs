//! The lines that stay at the end of stderr and change there, and printing above them.

use std::io::{self, IsTerminal as _};
use std::sync::{Mutex, MutexGuard};

use console::Term;

use super::full_screen;
use super::live_region::Region;
use super::terminal_colours::coloured;
use super::write_and_flush::write;
use crate::domain::text::visible_letters::seen;
use crate::sys::mutex::lock;

/// The region at the end of stderr. A writer holds the lock, so no two write at the same time.
static REGION: Mutex<Option<Region>> = Mutex::new(None);

/// The size to assume if a terminal does not report its own: that of the oldest terminals.
const USUAL: (u16, u16) = (24, 80);

/// The new contents of the region at the end of stderr.
#[derive(Clone, Debug, Default)]
pub(crate) struct Painting {
    /// Lines to print above it, once.
    pub(crate) above: Vec<String>,
    /// The lines of the region. Each must be shorter than the terminal is wide, and all must fit into its rows.
    pub(crate) lines: Vec<String>,
    /// The question below them.
    pub(crate) question: Option<String>,
    /// Lines typed since the last painting, with their newlines.
    pub(crate) typed: Vec<String>,
    /// Whether another program has used the terminal since then.
    pub(crate) anew: bool,
}

/// Returns whether stderr is a terminal on which the cursor can be moved.
pub(crate) fn can_paint() -> bool {
    io::stderr().is_terminal() && !console::is_dumb()
}

/// Returns whether to use colours on stderr.
pub(crate) fn wants_colours() -> bool {
    console::colors_enabled_stderr()
}

/// Returns the rows and the columns of the terminal.
pub(crate) fn size() -> (usize, usize) {
    let (rows, columns) = Term::stderr().size_checked().unwrap_or(USUAL);
    (rows.into(), columns.into())
}

/// Paints the region at the end of stderr. It may wait for the terminal.
pub(crate) fn paint(painting: Painting) {
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

/// Replaces the region with lines that stay permanently. It may wait for the terminal.
pub(crate) fn leave(painting: Painting) {
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

/// Writes whole lines to stderr, above the region.
pub(super) fn above(text: &str) {
    let text = seen(text);
    if full_screen::keep(&text) {
        return;
    }
    match held().as_mut() {
        None => write(&mut io::stderr(), &text),
        Some(region) => {
            let (_, width) = size();
            write(&mut io::stderr(), &region.above(&text, width));
        }
    }
}

fn held() -> MutexGuard<'static, Option<Region>> {
    // After a panic, the value still matches the terminal.
    lock(&REGION)
}
