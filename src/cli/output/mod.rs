//! The only printer: data to stdout, conversation to stderr.
//!
//! On a terminal, some lines can stay at the end of stderr and change (`painting`). Everything else that goes to stderr, the log
//! too, is printed above them. A window (`full_screen`) takes the whole terminal; what goes to stderr meanwhile follows when it is closed.
//!
//! Printed text contains foreign words: of agents, of plans, of repositories. So nothing is printed that acts on a terminal instead
//! of being visible, except line ends, tabs, and the colours of the tree (`terminal_colours`).

mod frame_painter;
mod full_screen;
pub(super) mod letter_columns;
mod live_region;
mod painting;
mod print_lines;
mod queued_lines;
mod terminal_colours;
mod wrapped_lines;
mod write_and_flush;

pub(super) use self::frame_painter::{Frame, FramePainter};
pub(super) use self::full_screen::{
    enter, enter_again, has_window, leave as leave_window, leave_silently,
};
pub(super) use self::painting::{Painting, can_paint, leave, paint, size, wants_colours};
pub(super) use self::print_lines::{
    Stderr, columns_of_stdout, error, has_reader, print_answer, say, say_aside, say_coloured,
    say_fitted, say_part, tell, wants_colours_on_stdout, why_unwritten,
};
pub(super) use self::queued_lines::QueuedLines;
pub(super) use self::wrapped_lines::wrapped;
