//! What has been decided, the last first: who did, what holds from then on, and where to read about it.

use maud::{Markup, html};

use super::small_parts::{clock, member_link, task_link, workflow_link};
use crate::domain::text::counted::counted;
use crate::view::{Decided, DecidedHow, by_whom};
use crate::web::pages::View;

/// Returns so many of them in sight, and the rest folded.
pub(in crate::web::pages) fn decided_list(all: &[Decided], shown: usize) -> Markup {
    let (first, rest) = all.split_at(shown.min(all.len()));
    html! {
        div id="decided" {
            @if !all.is_empty() {
                section.sheet aria-labelledby="decided-heading" {
                    h2 id="decided-heading" { "Decided" }
                    ol.letters aria-label="What has been decided, the last first" { @for row in first { (decided_row(row)) } }
                    @if !rest.is_empty() {
                        details id="decided-before" {
                            summary { (counted(rest.len(), "older decision")) }
                            ol.letters aria-label="Older decisions" { @for row in rest { (decided_row(row)) } }
                            p.small.soft { code { "cli-team-bridge messages --decided" } " has all of them." }
                        }
                    }
                }
            }
        }
    }
}

fn decided_row(row: &Decided) -> Markup {
    let is_denied = row.how == DecidedHow::Denied;
    let (class, mark) = if is_denied { ("mark bad", "✗") } else { ("mark good", "✓") };
    let opens = match (&row.thread_id, row.is_of_workflow()) {
        (Some(thread), _) => {
            html! { a href=(View::Thread(thread.clone()).path()) { "its thread" } }
        }
        (None, true) => workflow_link(&row.id, "its workflow"),
        (None, _) => html! { @if let Some(task) = &row.task_id { (task_link(task)) } },
    };
    let by = by_whom(&row.by);
    html! {
        li {
            div.letter-head {
                span class=(class) aria-hidden="true" { (mark) } " "
                b { @if row.is_from_human() { (by) } @else { (member_link(&row.by)) } } " "
                (row.who().strip_prefix(by).unwrap_or_default().trim_start())
                span.when.soft { (clock(row.at)) }
            }
            p.letter-text dir="auto" { @if let Some(words) = &row.words { (words) } @else { (row.what(usize::MAX)) } }
            p.small.soft dir="auto" {
                @if let (Some(_), Some(about)) = (&row.words, &row.about) { "about: " (about) " · " }
                (opens)
            }
        }
    }
}
