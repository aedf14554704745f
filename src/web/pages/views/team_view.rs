//! The team: what needs the reader on top, then the members, problems, requests, and the last that has happened.

use maud::{Markup, html};

use crate::domain::text::counted::{counted, counted_as};
use crate::view::{Board, Happening};
use crate::web::pages::page_body::{Body, Part};
use crate::web::pages::parts::{
    MOST_ROWS, clock, decided_list, left_out, member_link, member_table, need_card, request_table,
    send_form, with_commands,
};
use crate::web::pages::{PageContext, PageInput, View};

/// The last happenings that stand beside the team.
const HAPPENINGS: usize = 40;

/// What has been decided last, in sight beside the team.
const DECIDED: usize = 3;

pub(in crate::web::pages) fn team(input: &PageInput<'_>, context: &PageContext<'_>) -> Body {
    let mut body = Body::new("Team", Vec::new());
    let Some(board) = input.snapshot.board.as_deref() else { return body };
    body.parts = vec![
        Part::live("needs", needs(board, input, context)),
        Part::live("totals", totals(board)),
        Part::live("problems", problems(board)),
        Part::live("disagreements", disagreements(board)),
        Part::live("members", members(board)),
        Part::live("requests", requests(board)),
    ];
    body.side = vec![
        Part::live("decided", decided_list(&input.snapshot.decided, DECIDED)),
        Part::live("happenings", happenings(&input.snapshot.happenings)),
        Part::fixed("send", send_form("all", context)),
    ];
    body
}

fn totals(board: &Board) -> Markup {
    let totals = &board.totals;
    let absent = board.unread_without_row();
    html! {
        p.totals id="totals" {
            span { b { (totals.members) } " " (if totals.members == 1 { "member" } else { "members" }) }
            @for (count, word) in totals.by_doing() { @if count > 0 { span { b { (count) } " " (word) } } }
            span { b { (totals.unread) } " unread" @if absent > 0 { " (" (absent) " for members who are not here)" } }
            span { b { (totals.tasks_open) } " open " (if totals.tasks_open == 1 { "task" } else { "tasks" }) }
            span { b { (totals.tasks_done) } " " (if totals.tasks_done == 1 { "task" } else { "tasks" }) " done" }
            @if totals.tasks_not_done > 0 { span { b { (totals.tasks_not_done) } " unsuccessful" } }
            @if let Some(used) = totals.used_in_words() { span { (used) } }
        }
    }
}

fn needs(board: &Board, input: &PageInput<'_>, context: &PageContext<'_>) -> Markup {
    let needs = &board.needs_you;
    html! {
        div id="needs" aria-live="polite" {
            @if needs.is_empty() {
                p.soft { span.mark.good aria-hidden="true" { "✓" } " Nothing needs you." }
            } @else {
                section.sheet.needs aria-labelledby="needs-heading" {
                    h2 id="needs-heading" { (counted_as(needs.len(), "thing needs you", "things need you")) }
                    @for need in needs.iter().take(MOST_ROWS) { (need_card(need, input, context)) }
                    (left_out(needs.len(), "cli-team-bridge status"))
                }
            }
        }
    }
}

fn problems(board: &Board) -> Markup {
    let problems = board.problems_beside_needs();
    html! {
        div id="problems" aria-live="polite" {
            @if !problems.is_empty() {
                section.sheet.problems aria-labelledby="problems-heading" {
                    h2 id="problems-heading" { (counted(problems.len(), "problem")) }
                    ul {
                        @for (problem, _) in problems.iter().take(MOST_ROWS) {
                            li {
                                span.mark.bad aria-hidden="true" { "✗" } " "
                                @if let Some(member) = &problem.member { b { (member_link(member)) } ": " }
                                (problem.words) @if let Some(since) = problem.since { " " span.small.soft { "since " (clock(since)) } }
                                @if let Some(advice) = problem.advice() { p.small.soft { (with_commands(&advice)) } }
                                @if !problem.agents.is_empty() {
                                    details id={ "ended-with-" (problem.who()) } {
                                        summary { (counted(problem.agents.len(), "agent")) }
                                        p.small { @for (at, agent) in problem.agents.iter().enumerate() { @if at > 0 { ", " } (member_link(agent)) } }
                                    }
                                }
                            }
                        }
                    }
                    (left_out(problems.len(), "cli-team-bridge status"))
                }
            }
        }
    }
}

fn disagreements(board: &Board) -> Markup {
    let open = board.open_disagreements();
    html! {
        div id="disagreements" {
            @if !open.is_empty() {
                section.sheet.disagreements aria-labelledby="disagreements-heading" {
                    h2 id="disagreements-heading" { "Disagreements" }
                    ul {
                        @for row in open.iter().take(MOST_ROWS) {
                            li dir="auto" {
                                b { @for (at, party) in row.parties.iter().enumerate() { @if at > 0 { " and " } (member_link(&party.name)) } } ": " (row.in_full())
                                p.small.soft { "since " (clock(row.since)) " · " a href=(View::Thread(row.thread.clone()).path()) { "all that they wrote" } }
                            }
                        }
                    }
                    (left_out(open.len(), "cli-team-bridge status"))
                }
            }
        }
    }
}

fn members(board: &Board) -> Markup {
    html! {
        section.sheet id="members" aria-labelledby="members-heading" {
            h2.unseen id="members-heading" { "Members" }
            @if board.members.is_empty() { p.empty { "Nobody is here." } } @else { (member_table(board)) }
        }
    }
}

fn requests(board: &Board) -> Markup {
    html! {
        div id="requests" {
            @if !board.requests.is_empty() {
                section.sheet aria-labelledby="requests-heading" {
                    h2 id="requests-heading" { "Requests for whoever is free" }
                    (request_table(&board.requests, board.at, "cli-team-bridge status"))
                }
            }
        }
    }
}

fn happenings(all: &[Happening]) -> Markup {
    html! {
        section.sheet id="happenings" aria-labelledby="happenings-heading" {
            h2 id="happenings-heading" { "What has happened" }
            @if all.is_empty() { p.empty { "Nothing yet." } }
            ol.letters {
                @for one in all.iter().rev().take(HAPPENINGS) {
                    li { div.letter-head { span.tag { (one.topic.as_str()) } span.when.soft { (clock(one.at)) } } p.small dir="auto" { (one.words) } }
                }
            }
        }
    }
}
