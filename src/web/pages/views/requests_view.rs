//! The requests for whoever is free: those without an answer, and the last that have ended, with their answers.

use maud::html;

use crate::web::pages::page_body::{Body, Part};
use crate::web::pages::parts::request_table;
use crate::web::pages::{PageInput, View};

pub(in crate::web::pages) fn requests(input: &PageInput<'_>) -> Body {
    let Some(board) = input.snapshot.board.as_deref() else {
        return Body::new("Requests", Vec::new());
    };
    let open = html! {
        section.sheet id="open-requests" aria-labelledby="open-heading" {
            h2 id="open-heading" { "Without an answer" }
            @if board.requests.is_empty() { p.empty { "No request waits for an answer." } }
            @else { (request_table(&board.requests, board.at, "cli-team-bridge status")) }
        }
    };
    let ended = html! {
        section.sheet id="ended-requests" aria-labelledby="ended-heading" {
            h2 id="ended-heading" { "Ended, the last first" }
            @if board.ended_requests.is_empty() { p.empty { "None yet. The " a href=(View::Search(String::new()).path()) { "search" } " finds older ones." } }
            @else { (request_table(&board.ended_requests, board.at, "cli-team-bridge log --kind request")) }
        }
    };
    Body::new(
        "Requests",
        vec![Part::live("open-requests", open), Part::live("ended-requests", ended)],
    )
}
