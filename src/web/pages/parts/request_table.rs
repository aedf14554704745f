//! Requests as a table: who asks, who has claimed it, what for, and the answer.

use maud::{Markup, html};

use super::small_parts::{MOST_ROWS, ago, left_out, mark, member_link};
use crate::view::{Moment, RequestRow, StatusLook};

/// Returns requests as a table, in the order given. `command` lists those that are left out.
pub(in crate::web::pages) fn request_table(
    rows: &[RequestRow],
    now: Moment,
    command: &str,
) -> Markup {
    html! {
        table.rows {
            thead { tr { th scope="col" { "status" } th scope="col" { "who" } th scope="col" { "what" } th.number scope="col" { "age" } } }
            tbody { @for row in rows.iter().take(MOST_ROWS) { (request_row(row, now)) } }
        }
        (left_out(rows.len(), command))
    }
}

/// Returns whom a request is for: a member, or a group, which has no page.
fn address(to: &str) -> Markup {
    if to.starts_with(['@', '#']) {
        html! { (to) }
    } else {
        member_link(to)
    }
}

fn request_row(row: &RequestRow, now: Moment) -> Markup {
    let nobody = if row.status == "open" { "nobody yet" } else { "nobody" };
    let to = row.to.as_ref().filter(|to| Some(*to) != row.owner.as_ref());
    html! {
        tr {
            td {
                (mark(StatusLook::of(&row.status), &row.status))
                @if let Some(lease) = row.lease_in_words(now) { " " span.small.soft.nowrap { (lease) } }
            }
            td.nowrap { (member_link(&row.from)) " → " @if let Some(to) = to { (address(to)) ": " } @match &row.owner { Some(owner) => (member_link(owner)), None => span.soft { (nobody) } } }
            td.words {
                span.two-lines dir="auto" { (row.description.as_deref().unwrap_or("(its text cannot be read)")) }
                @if row.status == "completed" {
                    span.two-lines.small dir="auto" { span.soft { "answer: " } (row.answer.as_deref().unwrap_or("(in the log)")) }
                } @else if row.status == "expired" {
                    span.small.soft { (row.outcome_in_words()) }
                }
            }
            td.number data-label="age" { (ago(row.answered_at.unwrap_or(row.opened_at), now)) }
        }
    }
}
