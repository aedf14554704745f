//! A workflow as a tree of lines: every step under the one that it comes after, with its state, its time and what there is to say.
//!
//! All of it is pure. [`Shown`] is all that a step is known by here, [`draw`] makes lines of it that fit a width and a number of rows.

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
