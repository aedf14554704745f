//! The search: where words stand in everything that the team has said and done, and what to open next.

use maud::{Markup, html};

use crate::domain::text::visible_letters::{one_line, quoted};
use crate::search::{HitKind, SearchHit};
use crate::web::pages::page_body::{Body, Part};
use crate::web::pages::parts::{clock, member_link};
use crate::web::pages::{PageInput, View};

pub(in crate::web::pages) fn search(words: &str, input: &PageInput<'_>) -> Body {
    let html = html! {
        section.sheet id="found" aria-labelledby="found-heading" {
            h2 id="found-heading" { @if words.is_empty() { "Search" } @else { "Found for " (quoted(words, 200)) } }
            @match &input.extra.found {
                None => p.empty { "Type words in the field above: messages, requests, prompts, results and transcripts have to have all of them. " code { "pars*" } " finds any ending, and " code { "\"path check\"" } " words together." },
                Some(found) => {
                    @if let Some(trouble) = &found.trouble { p.empty role="alert" { span.mark.bad aria-hidden="true" { "✗" } " " (one_line(trouble)) } }
                    @else if found.hits.is_empty() { p.empty { "Nothing has these words." } }
                    ol.hits { @for found in &found.hits { (hit(found)) } }
                    @if found.has_more { p.empty { "There is more: more words find less." } }
                },
            }
        }
    };
    Body::new("Search", vec![Part::fixed("found", html)])
}

fn hit(hit: &SearchHit) -> Markup {
    let (view, words) = next(hit);
    html! {
        li {
            div.letter-head {
                span.tag { (hit.kind.as_str()) }
                @if let Some(from) = &hit.from { b { (member_link(from)) } }
                @if let Some(to) = &hit.to { span.unseen { " to " } span aria-hidden="true" { "→" } b { (member_link(to)) } }
                span.when.soft { (clock(hit.at)) }
            }
            p dir="auto" { (hit.text) }
            p.small { @if let Some(view) = view { a data-row="" href=(view.path()) { (words) } " · " } code.soft { (hit.open) } }
        }
    }
}

/// Returns the page that shows a hit whole, or what it belongs to.
fn next(hit: &SearchHit) -> (Option<View>, &'static str) {
    let id = || hit.id.clone();
    match hit.kind {
        HitKind::Message => (Some(View::Thread(id())), "open its thread"),
        HitKind::Prompt | HitKind::Result | HitKind::Transcript if hit.open.contains(" task ") => {
            (Some(View::Task(id())), "open the task")
        }
        HitKind::Workflow | HitKind::Refusal => (Some(View::Workflow(id())), "open the workflow"),
        HitKind::Permission => (hit.from.clone().map(View::Member), "open the agent"),
        _ => (None, ""),
    }
}
