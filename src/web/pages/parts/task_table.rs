//! Tasks as a table.

use maud::{Markup, html};

use super::small_parts::{
    AS_REPORTED, MOST_ROWS, ago, left_out, mark, member_link, task_link, usage_cells,
};
use crate::view::{Board, StatusLook, TaskRow};

/// Returns tasks as a table, in the order given.
pub(in crate::web::pages) fn task_table(tasks: &[&TaskRow], board: &Board) -> Markup {
    if tasks.is_empty() {
        return html! { p.empty { "No tasks yet." } };
    }
    html! {
        table.rows {
            thead { tr {
                th scope="col" { "agent" } th scope="col" { "status" } th scope="col" { "task" } th scope="col" { "prompt or error" }
                th.number scope="col" { "age" } th.number scope="col" title=(AS_REPORTED) { "tokens" } th.number scope="col" title=(AS_REPORTED) { "cost" }
            } }
            tbody { @for task in tasks.iter().take(MOST_ROWS) { (task_row(task, board)) } }
        }
        (left_out(tasks.len(), "cli-team-bridge tasks"))
    }
}

fn task_row(task: &TaskRow, board: &Board) -> Markup {
    let since = task.ended_at.or(task.started_at).unwrap_or(task.queued_at);
    let state = task.state();
    html! {
        tr {
            td.who { (member_link(&task.agent)) @if let Some(life) = task.life_in_words(board.at) { span.soft { (life) } } }
            td { (mark(StatusLook::of(state), state)) @if task.is_trial { " " span.tag { "trial" } } }
            td.nowrap { (task_link(&task.task_id)) }
            td.words {
                @if let Some(error) = &task.error { span.two-lines.bad dir="auto" { (error) } " " }
                @if let Some(by) = task.cancelled_in_words() { span.small.soft { (by) } " " }
                span.two-lines dir="auto" {
                    @match &task.prompt {
                        Some(prompt) => (prompt),
                        None => "(its prompt cannot be read)",
                    }
                }
            }
            td.number data-label="age" { (ago(since, board.at)) }
            (usage_cells(task.usage.as_ref(), task.ended_at.is_some()))
        }
    }
}
