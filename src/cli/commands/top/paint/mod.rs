//! A screen as a picture: the cells of a terminal. Pure.

mod cells;
mod key_hints;
mod list_rows;
mod look;
mod picture;
mod team_line;
mod text_box;

pub(super) use self::look::Look;
pub(super) use self::picture::picture;
