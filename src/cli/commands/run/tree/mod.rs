//! A workflow as a tree of lines: every step below the one that it follows, with its state, its time and a note.
//!
//! All of it is pure. [`Shown`] is the view of a step; [`draw`] turns such views into lines that fit a width and a number of rows.

mod draw_tree;
mod shown_time;
mod fold;
mod layout;
mod status_counts;
mod step_row;
mod tree_line;
mod tree_style;

pub(crate) use self::draw_tree::{Head, draw};
pub(crate) use self::step_row::{Shown, one_line, plain, shown};
pub(crate) use self::tree_style::TreeStyle;

#[cfg(test)]
mod tests;
