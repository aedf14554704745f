//! The only printer: data to stdout, conversation to stderr.
//!
//! On a terminal, some lines can stay at the end of stderr and change (`painting`). Everything else that goes to stderr, the log
//! too, is printed above them.
//!
//! Printed text contains foreign words: of agents, of plans, of repositories. So nothing is printed that acts on a terminal instead
//! of being visible, except line ends, tabs, and the colours of the tree (`terminal_colours`).

mod live_region;
mod painting;
mod print_lines;
mod terminal_colours;
mod write_and_flush;

pub(super) use self::painting::{Painting, can_paint, leave, paint, size, wants_colours};
pub(super) use self::print_lines::{
    Stderr, error, has_reader, print_answer, say, say_aside, say_coloured, tell,
    wants_colours_on_stdout, why_unwritten,
};
