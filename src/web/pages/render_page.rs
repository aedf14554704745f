//! Renders a view as a document, and its live parts as fragments.

use maud::{DOCTYPE, html};

use super::page_input::{PageContext, PageInput};
use super::view_path::View;
use crate::view::Letter;
use crate::web::BusState;

/// A live part of a page: the element with this id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    pub id: String,
    /// The whole element, with its id.
    pub html: String,
}

/// Renders a view as a whole document.
pub fn page(view: &View, input: &PageInput<'_>, context: &PageContext<'_>) -> String {
    let state = state_words(&input.snapshot.bus);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head { meta charset="utf-8"; title { (context.project) } }
            body { main { h1 { (context.project) } p id="state" { (state) } p { (view.path()) } } }
        }
    };
    page.into_string()
}

/// Renders the live parts of a view.
pub fn fragments(_view: &View, input: &PageInput<'_>, _context: &PageContext<'_>) -> Vec<Fragment> {
    let html = html! { p id="state" { (state_words(&input.snapshot.bus)) } };
    vec![Fragment { id: "state".to_owned(), html: html.into_string() }]
}

/// Renders messages as rows of the list `letters`, each with the id `letter-SEQ`, in the order given.
pub fn rows_of_letters(letters: &[Letter], _context: &PageContext<'_>) -> Vec<Fragment> {
    let rows = letters.iter().map(|letter| {
        let id = format!("letter-{}", letter.seq);
        let html = html! { li id=(id) { (letter.from) ": " (letter.text.as_deref().unwrap_or_default()) } };
        Fragment { id, html: html.into_string() }
    });
    rows.collect()
}

/// Renders a page that only says something: why there is no page, and what to do. It shows nothing of the team.
pub fn message_page(title: &str, paragraphs: &[&str]) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head { meta charset="utf-8"; title { (title) } }
            body { main { h1 { (title) } @for words in paragraphs { p { (words) } } } }
        }
    };
    page.into_string()
}

/// Renders the page that leads on after signing in, for a browser that does not follow a redirect with its new cookie.
pub fn signed_in_page(to: &str) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="refresh" content=(format!("0;url={to}"));
                title { "Signed in" }
            }
            body { main { p { a href=(to) { "Go on to the team" } } } }
        }
    };
    page.into_string()
}

fn state_words(state: &BusState) -> &str {
    match state {
        BusState::Absent => "There is no team in this project yet.",
        BusState::Open => "The team is shown as it is now.",
        BusState::Removed => "The team's bus was removed.",
        BusState::Unusable(words) => words,
    }
}
