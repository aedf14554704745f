//! Renders a view as a document, and its live parts as fragments.

use super::page_body::Body;
use super::page_frame;
use super::page_input::{PageContext, PageInput};
use super::parts::letter_row;
use super::view_path::View;
use super::views;
use crate::view::Letter;

/// A live part of a page: the element with this id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    pub id: String,
    /// The whole element, with its id.
    pub html: String,
}

/// Renders a view as a whole document.
pub fn page(view: &View, input: &PageInput<'_>, context: &PageContext<'_>) -> String {
    let back = view.path();
    let context = &PageContext { back: &back, ..*context };
    let body = body(view, input, context);
    page_frame::document(view, &body, input, context).into_string()
}

/// Renders the live parts of a view.
pub fn fragments(view: &View, input: &PageInput<'_>, context: &PageContext<'_>) -> Vec<Fragment> {
    let back = view.path();
    let context = &PageContext { back: &back, ..*context };
    let body = body(view, input, context);
    let frame = page_frame::frame_parts(view, &body, input, context);
    let parts = frame.into_iter().chain(body.parts).chain(body.side).filter(|part| part.is_live);
    parts.map(|part| Fragment { id: part.id.to_owned(), html: part.html.into_string() }).collect()
}

/// Renders messages as rows of the list `letters`, each with the id `letter-SEQ`, in the order given.
pub fn rows_of_letters(letters: &[Letter], _context: &PageContext<'_>) -> Vec<Fragment> {
    let row = |letter: &Letter| Fragment {
        id: format!("letter-{}", letter.seq),
        html: letter_row(letter).into_string(),
    };
    letters.iter().map(row).collect()
}

fn body(view: &View, input: &PageInput<'_>, context: &PageContext<'_>) -> Body {
    match view {
        View::Team => views::team(input, context),
        View::Member(name) => views::member(name, input, context),
        View::Conversation => views::conversation(input, context),
        View::Thread(id) => views::thread(id, input),
        View::Sequence => views::sequence(input),
        View::Timeline => views::timeline(input),
        View::Tasks => views::tasks(input),
        View::Task(id) => views::task(id, input, context),
        View::Requests => views::requests(input),
        View::Workflows => views::workflows(input),
        View::Workflow(id) => views::workflow(id, input, context),
        View::Usage(by) => views::usage(*by, input),
        View::Search(words) => views::search(words, input),
    }
}
