//! The pages, made of the read model. Pure: what they show comes in, and markup goes out.

mod page_input;
mod render_page;
mod view_path;

pub use self::page_input::{
    Extra, FileDiff, OlderLetters, PageContext, PageInput, SearchResult, StepPrompt,
};
pub use self::render_page::{
    Fragment, fragments, message_page, page, rows_of_letters, signed_in_page,
};
pub use self::view_path::View;
