//! The only printer: data to stdout, conversation to stderr.
//!
//! Where a person looks at stderr, some lines can stay at its end and change (`painting`); all else that goes there, the log too, is
//! printed above them.
//!
//! What is printed holds words of others: of agents, of plans, of repositories. So nothing goes out that acts on a terminal instead of
//! being seen on it, but line ends, tabs, and the colours of the tree (`terminal_colours`).

mod live_region;
mod painting;
mod print_lines;
mod terminal_colours;
mod write_and_flush;

pub(super) use self::painting::{Painting, can_paint, leave, paint, size, wants_colours};
pub(super) use self::print_lines::{
    Stderr, error, has_reader, print_answer, say, say_aside, say_coloured, tell,
    wants_colours_on_stdout,
};
