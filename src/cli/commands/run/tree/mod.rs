//! A workflow as a tree of lines: every step below the one that it follows, with its state, its time and a note.
//!
//! All of it is pure: [`draw`] turns the tree of the read model into lines that fit a width and a number of rows.

mod draw_tree;
mod fold;
mod guides;
mod tree_line;
mod tree_style;

pub(crate) use self::draw_tree::{Times, draw};
pub(crate) use self::tree_style::TreeStyle;

#[cfg(test)]
mod tests;
