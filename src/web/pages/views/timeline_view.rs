//! The timeline: who worked when, and who waited for whom.

use maud::html;

use crate::web::pages::PageInput;
use crate::web::pages::drawings::timeline_drawing;
use crate::web::pages::page_body::{Body, Part};

pub(in crate::web::pages) fn timeline(input: &PageInput<'_>) -> Body {
    let Some(board) = input.snapshot.board.as_deref() else {
        return Body::new("Timeline", Vec::new());
    };
    let stretches = &input.snapshot.stretches;
    let html = html! {
        section.sheet id="timeline" aria-labelledby="timeline-heading" {
            h2 id="timeline-heading" { "Who worked when, and who waited for whom" }
            @if stretches.is_empty() { p.empty { "Nobody has worked or waited yet." } }
            @else { (timeline_drawing(stretches, board)) }
        }
    };
    Body::new("Timeline", vec![Part::live("timeline", html)])
}
