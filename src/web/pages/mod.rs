//! The pages, made of the read model. Pure: what they show comes in, and markup goes out.

mod drawings;
mod page_body;
mod page_frame;
mod page_input;
mod parts;
mod render_page;
#[cfg(test)]
mod tests;
mod view_path;
mod views;

pub use self::page_frame::{message_page, signed_in_page};
pub use self::page_input::{
    Extra, FilesElsewhere, OlderLetters, PageContext, PageInput, SearchResult, StepPrompt,
};
pub use self::render_page::{Fragment, fragments, page, rows_of_letters};
pub use self::view_path::View;
