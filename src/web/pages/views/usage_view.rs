//! What was used: tokens and money by agent, profile or day.

use maud::{Markup, html};

use crate::domain::text::counted::counted;
use crate::view::{NOT_COUNTED, SpentBy, UsageRow, money, short};
use crate::web::pages::page_body::{Body, Part};
use crate::web::pages::parts::{MOST_ROWS, left_out};
use crate::web::pages::{PageInput, View};

pub(in crate::web::pages) fn usage(by: SpentBy, input: &PageInput<'_>) -> Body {
    let (word, command) = match by {
        SpentBy::Agent => ("agent", "cli-team-bridge usage --by agent"),
        SpentBy::Profile => ("profile", "cli-team-bridge usage --by profile"),
        SpentBy::Day => ("day", "cli-team-bridge usage --by day"),
    };
    let rows = &input.extra.usage;
    let html = html! {
        section.sheet id="usage" aria-labelledby="usage-heading" {
            h2 id="usage-heading" { "Usage by " (word) }
            @if rows.is_empty() { p.empty { "No task has ended yet." } } @else {
                (table(rows, word)) (left_out(rows.len(), command))
                p.empty.small { (NOT_COUNTED) }
            }
        }
    };
    Body::new("Usage", vec![Part::fixed("switch", switch(by)), Part::live("usage", html)])
}

fn switch(own: SpentBy) -> Markup {
    let sums =
        [(SpentBy::Agent, "by agent"), (SpentBy::Profile, "by profile"), (SpentBy::Day, "by day")];
    html! {
        nav.switch aria-label="The usage" {
            @for (by, words) in sums {
                a href=(View::Usage(by).path()) aria-current=[(by == own).then_some("page")] { (words) }
            }
        }
    }
}

fn table(rows: &[UsageRow], word: &str) -> Markup {
    let most = rows.iter().map(|row| row.spent.total_tokens).max().unwrap_or_default().max(1);
    html! {
        table.rows {
            thead { tr {
                th scope="col" { (word) } th.number scope="col" { "tasks" } th.number scope="col" { "done" }
                th.number scope="col" { "read" } th.number scope="col" { "written" } th.number scope="col" { "all tokens" }
                th scope="col" { span.unseen { "share of the largest" } } th.number scope="col" { "cost" }
            } }
            tbody { @for row in rows.iter().take(MOST_ROWS) {
                tr {
                    td.who { (row.name) }
                    (task_counts(row))
                    (tokens(row))
                    td.words {
                        @if row.spent.is_nothing() { span.soft { "no usage reported" } }
                        @else { (bar(row.spent.total_tokens, most)) }
                        (beside_tasks(row)) (cost_of(row)) (unreported(row))
                    }
                    td.number data-unit="cost" { (money(&row.spent)) }
                }
            } }
            @if rows.len() > 1 { tfoot { (sum(rows)) } }
        }
    }
}

/// Says of how many tasks nobody knows what they used, unless the row says so of all.
fn unreported(row: &UsageRow) -> Markup {
    html! {
        @if row.unreported > 0 && !row.spent.is_nothing() {
            " " span.small.soft { "of " (counted(row.unreported, "task")) " nothing was reported" }
        }
    }
}

fn sum(rows: &[UsageRow]) -> Markup {
    let sum = UsageRow::sum(rows);
    html! {
        tr {
            th scope="row" { (sum.name) }
            (task_counts(&sum))
            (tokens(&sum))
            td.words { (beside_tasks(&sum)) (cost_of(&sum)) (unreported(&sum)) }
            td.number data-unit="cost" { (money(&sum.spent)) }
        }
    }
}

fn task_counts(row: &UsageRow) -> Markup {
    html! {
        td.number data-unit=(if row.tasks == 1 { "task" } else { "tasks" }) { (row.tasks) }
        td.number data-unit="done" { (row.done) }
    }
}

fn tokens(row: &UsageRow) -> Markup {
    let all = row.spent.total_tokens;
    html! {
        td.number data-unit="read" { (short(row.spent.input_tokens)) }
        td.number data-unit="written" { (short(row.spent.output_tokens)) }
        td.number data-unit=(if all == 1 { "token" } else { "tokens" }) { (short(all)) }
    }
}

fn beside_tasks(row: &UsageRow) -> Markup {
    html! { @if let Some(words) = row.beside_tasks_in_words() { span.small.soft { (words) } } }
}

/// Says of how many agents the cost is, if not of all.
fn cost_of(row: &UsageRow) -> Markup {
    let spent = &row.spent;
    let is_part = spent.agents_without_cost > 0 && !spent.cost.is_empty();
    html! { @if is_part { " " span.small.soft { (spent.cost_in_words()) } } }
}

/// Returns a bar. The number beside it says the same.
fn bar(part: u64, all: u64) -> Markup {
    let percent = u128::from(part) * 100 / u128::from(all);
    html! {
        svg.bar viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
            rect.back x="0" y="0" width="100" height="8" {}
            rect x="0" y="0" width=(percent) height="8" {}
        }
    }
}
