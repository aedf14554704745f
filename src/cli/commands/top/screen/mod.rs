//! The window as a value: what is shown and chosen, and what a key makes of it. Pure.

mod answering;
mod chosen_remedy;
mod dialog_text;
mod item;
mod items;
mod notice_end;
mod pane;
mod press;
mod shown_ages;
mod state;
#[cfg(test)]
mod tests;
mod typed_line;
mod window_rows;

pub(super) use self::dialog_text::{LineKind, TextLine};
pub(super) use self::item::Item;
pub(super) use self::notice_end::NoticeEnd;
pub(super) use self::pane::Pane;
pub(super) use self::press::Effect;
pub(super) use self::state::{Dialog, Screen};
pub(super) use self::window_rows::Layout;
