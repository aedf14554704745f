//! The members of a team as a table, in groups, each with what it does now.

use maud::{Markup, html};

use super::small_parts::{AS_REPORTED, MOST_ROWS, ago, left_out, mark, member_link, usage_cells};
use crate::domain::text::counted::counted;
use crate::view::{Board, Group, MemberRow, StatusLook, short};

/// Returns the table, and that of the members that have ended, folded.
pub(in crate::web::pages) fn member_table(board: &Board) -> Markup {
    let ended = board.members.iter().filter(|row| row.group == Group::Ended).count();
    html! {
        @if ended < board.members.len() { (table_of(&[Group::NeedsYou, Group::Working, Group::Idle], board)) }
        @if ended > 0 {
            details id="ended-members" {
                summary { (Group::Ended.heading()) " (" (ended) ")" (older(board.without_row(Group::Ended))) }
                (table_of(&[Group::Ended], board))
            }
        }
        (left_out(board.members.len(), "cli-team-bridge status"))
    }
}

fn table_of(groups: &[Group], board: &Board) -> Markup {
    html! {
        table.rows {
            thead { tr {
                th scope="col" { "member" } th scope="col" { "state" } th scope="col" { "now" }
                th.number scope="col" { "for" } th.number scope="col" { "unread" }
                th.number scope="col" title=(AS_REPORTED) { "tokens" } th.number scope="col" title=(AS_REPORTED) { "cost" }
            } }
            @for group in groups {
                @let rows: Vec<_> = board.members.iter().filter(|row| row.group == *group).collect();
                @if !rows.is_empty() {
                    tbody.group {
                        // That of those that have ended stands above their table.
                        @if *group != Group::Ended { tr { th colspan="7" scope="rowgroup" { (group.heading()) " (" (rows.len()) ")" } } }
                        @for row in rows.iter().take(MOST_ROWS) { (member_row(row, board)) }
                    }
                }
            }
        }
    }
}

/// Says how many members that have ended have no row.
fn older(number: usize) -> Markup {
    html! { @if number > 0 { " " span.soft { (counted(number, "older one")) ": " code { "cli-team-bridge log --kind member" } } } }
}

fn member_row(row: &MemberRow, board: &Board) -> Markup {
    html! {
        tr {
            td.who { (member_link(&row.name)) " " span.soft.small { (row.kind_in_words()) } }
            td { (mark(StatusLook::of_member(row), &row.state)) }
            td.words {
                span.two-lines { (board.now_words(row)) }
            }
            td.number data-label="for" { (ago(row.since(), board.at)) }
            td.number data-unit="unread" { (short(row.unread as u64)) }
            (usage_cells(row.usage.as_ref(), row.kind == "agent" && row.state != "left"))
        }
    }
}
