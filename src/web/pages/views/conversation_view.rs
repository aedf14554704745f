//! The conversation: all messages, one thread, or the same as a drawing of who wrote to whom.

use maud::{Markup, html};

use crate::domain::text::visible_letters::beginning;
use crate::view::{ConflictRow, Letter};
use crate::web::pages::drawings::sequence_drawing;
use crate::web::pages::page_body::{Body, Part};
use crate::web::pages::parts::{LetterRows, decided_list, send_form};
use crate::web::pages::{PageContext, PageInput, View};

/// What has been decided last, above the messages; the rest is folded.
const DECIDED: usize = 5;

pub(in crate::web::pages) fn conversation(
    input: &PageInput<'_>,
    context: &PageContext<'_>,
) -> Body {
    let older = input.extra.older.as_ref();
    let letters = older.map_or(input.snapshot.letters.as_slice(), |older| &older.letters);
    // The messages begin at the last ones that the snapshot has; the reader looks for older ones, and says if there are none.
    let oldest = letters.first().map(|letter| letter.seq);
    let has_more = older.map_or(!letters.is_empty(), |older| older.has_more);
    let html = html! {
        section.sheet aria-labelledby="letters-heading" {
            h2.unseen id="letters-heading" { "Messages" }
            @if letters.is_empty() { p.empty id="no-letters" { "No messages yet." } }
            ol.letters id="letters" aria-label="Messages, newest first" { (LetterRows(letters.iter().rev())) }
            @if let Some(oldest) = oldest.filter(|_| has_more) {
                p.more { a data-older="" data-list="letters" rel="next" href={ (View::Conversation.path()) "?before=" (oldest) } { "older messages" } }
            }
        }
    };
    let parts = vec![
        Part::fixed("switch", switch(&View::Conversation)),
        Part::fixed("send", send_form("all", context)),
        Part::live("decided", decided_list(&input.snapshot.decided, DECIDED)),
        Part::fixed("letters-part", html),
    ];
    Body::new("Conversation", parts)
}

fn switch(own: &View) -> Markup {
    let views = [(View::Conversation, "as a list"), (View::Sequence, "as a drawing")];
    html! {
        nav.switch aria-label="The conversation" {
            @for (view, words) in views {
                a href=(view.path()) aria-current=[(*own == view).then_some("page")] { (words) }
            }
        }
    }
}

pub(in crate::web::pages) fn thread(id: &str, input: &PageInput<'_>) -> Body {
    let letters = &input.extra.thread;
    let board = input.snapshot.board.as_deref();
    let is_its = |row: &&ConflictRow| letters.iter().any(|letter| letter.thread_id == row.thread);
    let conflict = board.and_then(|board| board.conflicts.iter().find(is_its));
    let html = html! {
        section.sheet id="thread" aria-labelledby="thread-heading" {
            h2 id="thread-heading" { "Thread " span.id { (beginning(id, 80)) } }
            @if letters.is_empty() { p.empty { "There is no such thread, or it is no longer kept." } }
            @else {
                ol.letters id="thread-letters" aria-label="The messages of the thread, oldest first" { (LetterRows(letters.iter())) }
            }
            @if let Some(row) = conflict {
                p.body dir="auto" { b { "Disagreement of " (row.names()) ": " } (row.words()) }
            }
        }
    };
    let drawing = drawing(letters);
    let mut body = Body::new("Thread", vec![Part::live("thread", html)]);
    if !letters.is_empty() {
        body.parts.push(Part::live("drawing", drawing));
    }
    body
}

pub(in crate::web::pages) fn sequence(input: &PageInput<'_>) -> Body {
    Body::new(
        "Sequence",
        vec![
            Part::fixed("switch", switch(&View::Sequence)),
            Part::live("drawing", drawing(&input.snapshot.letters)),
        ],
    )
}

fn drawing(letters: &[Letter]) -> Markup {
    html! {
        section.sheet id="drawing" aria-labelledby="drawing-heading" {
            h2 id="drawing-heading" { "Who wrote to whom" }
            @if letters.is_empty() { p.empty { "No messages yet." } } @else { (sequence_drawing(letters)) }
        }
    }
}
