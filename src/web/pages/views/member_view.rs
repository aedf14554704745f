//! One member: how it is, its live words, its files with their differences, and its messages.

use maud::{Markup, html};

use crate::domain::messaging::Address;
use crate::domain::text::visible_letters::{one_line, quoted};
use crate::view::{Board, Letter, MemberRow, Moment, StatusLook};
use crate::web::pages::page_body::{Body, Part};
use crate::web::pages::parts::{
    LetterRows, MOST_ROWS, ago, end_forms, mark, member_link, need_card, send_form, shown_text,
    task_link, task_table,
};
use crate::web::pages::views::task_views::{diffs, live_words, whole_prompt};
use crate::web::pages::{PageContext, PageInput};

/// The last messages of a member on its page.
const LETTERS: usize = 100;

/// The most characters of a fact.
const FACT: usize = 1_000;

pub(in crate::web::pages) fn member(
    name: &str,
    input: &PageInput<'_>,
    context: &PageContext<'_>,
) -> Body {
    let mut body = Body::new(crate::domain::text::visible_letters::beginning(name, 80), Vec::new());
    let Some(board) = input.snapshot.board.as_deref() else { return body };
    // A name may have a live session and some that left: the live one comes first.
    let row = board.members.iter().find(|row| row.name == name);
    body.parts.push(Part::live("member", head(name, row, board)));
    if let Some(row) = row {
        body.parts.push(Part::live("needs", needs(row, board, input, context)));
        let running = row
            .task_id
            .as_deref()
            .and_then(|id| board.tasks.iter().find(|task| task.task_id == id));
        let whole = input
            .extra
            .task
            .as_ref()
            .filter(|task| Some(&task.row.task_id) == row.task_id.as_ref());
        let whole = whole.and_then(whole_prompt);
        let prompt = whole.or_else(|| running.and_then(|task| task.prompt.clone()));
        body.parts.push(Part::live(
            "prompt",
            html! {
                div id="prompt" { @if let (Some(prompt), Some(id)) = (&prompt, &row.task_id) {
                    section.sheet aria-labelledby="prompt-heading" {
                        h2 id="prompt-heading" { "Its task" }
                        (shown_text(prompt, "text", "The prompt of its task"))
                        p.empty { (task_link(id)) }
                    }
                } }
            },
        ));
        body.parts.push(Part::live("live", live_words(&input.extra.live)));
    }
    body.parts.push(Part::live("diffs", diffs(input.extra)));
    body.parts.push(Part::live("tasks", tasks(name, board)));
    body.parts.push(Part::live("turns", turns(row, board.at)));
    body.side.push(Part::live(
        "facts",
        html! { div id="facts" { @if let Some(row) = row { (facts(row, board.at)) } } },
    ));
    if let Some(row) = row.filter(|row| row.state != "left") {
        body.side.push(Part::fixed("send", send_form(&row.name, context)));
        body.side.push(Part::live("ends", html! { div id="ends" { (end_forms(row, context)) } }));
    }
    if Address::is_elsewhere(name) {
        body.side.push(Part::fixed("send", send_form(name, context)));
    }
    body.side.push(Part::live("messages", messages(name, &input.snapshot.letters)));
    body
}

fn head(name: &str, row: Option<&MemberRow>, board: &Board) -> Markup {
    html! {
        div.title id="member" {
            @match row {
                Some(row) => {
                    p { b { (row.name) } " " (mark(StatusLook::of_member(row), &row.state)) " · " span dir="auto" { (board.now_words(row)) } }
                },
                None if Address::is_elsewhere(name) => p { b { (one_line(name)) } " is in another project. What crosses between here and there is in the conversation." },
                None => p { b { (quoted(name, 80)) } " is not here. What it did is in the conversation, the tasks, and the search." },
            }
        }
    }
}

fn needs(
    row: &MemberRow,
    board: &Board,
    input: &PageInput<'_>,
    context: &PageContext<'_>,
) -> Markup {
    let own: Vec<_> = board
        .needs_you
        .iter()
        .filter(|need| need.kind.is_of_member() && need.who == row.name)
        .collect();
    html! {
        div id="needs" aria-live="polite" {
            @if !own.is_empty() {
                section.sheet.needs aria-labelledby="needs-heading" {
                    h2 id="needs-heading" { "It needs you" }
                    @for need in own.into_iter().take(MOST_ROWS) { (need_card(need, input, context)) }
                }
            }
        }
    }
}

fn facts(row: &MemberRow, now: Moment) -> Markup {
    let quoted = |text: &String| quoted(text, FACT);
    let roles: Vec<_> = row.roles.iter().map(quoted).collect();
    let facts: [(&str, Option<String>); 12] = [
        ("problem", row.failed_wake.clone()),
        ("kind", Some(row.kind.clone())),
        ("profile", row.profile.clone()),
        ("model", row.model.as_ref().map(quoted)),
        ("roles", Some(roles.join(", "))),
        ("works in", row.cwd.as_ref().map(quoted)),
        ("machine", row.host.as_ref().map(quoted)),
        ("delivery", Some(row.delivery.join(", "))),
        ("tools", row.tools.clone()),
        (
            "owes",
            Some(row.owes.iter().map(|owed| owed.in_words(now)).collect::<Vec<_>>().join("; ")),
        ),
        ("holds", row.holds_in_words(now).map(|words| words.replacen("holds ", "", 1))),
        ("used in ended turns", row.usage.as_ref().map(crate::view::Spent::in_words)),
    ];
    html! {
        section.sheet aria-labelledby="facts-heading" {
            h2 id="facts-heading" { "What is known" }
            dl.facts {
                @for (name, value) in facts {
                    @if let Some(value) = value.filter(|value| !value.is_empty()) { dt { (name) } dd { (value) } }
                }
                @if let Some(whom) = &row.waits_for { dt { "waits for" } dd { (member_link(whom)) } }
                @if row.unread > 0 { dt { "unread" } dd { (row.unread) } }
                @if row.queued > 0 { dt { "queue" } dd { (row.queued) } }
                @if row.restarts > 0 { dt { "restarts" } dd { (row.restarts) } }
                dt { "active" } dd { (ago(row.last_active, now)) " ago" }
            }
        }
    }
}

fn tasks(name: &str, board: &Board) -> Markup {
    let own: Vec<_> = board.tasks.iter().filter(|task| task.agent == name).collect();
    html! {
        div id="tasks" { @if !own.is_empty() {
            section.sheet aria-labelledby="tasks-heading" { h2 id="tasks-heading" { "Its tasks" } (task_table(&own, board)) }
        } }
    }
}

fn messages(name: &str, letters: &[Letter]) -> Markup {
    let own = letters.iter().rev().filter(|letter| letter.concerns(name));
    let own: Vec<_> = own.take(LETTERS).collect();
    html! {
        section.sheet id="messages" aria-labelledby="messages-heading" {
            h2 id="messages-heading" { "Its messages" }
            @if own.is_empty() { p.empty { "None yet." } } @else {
                ol.letters id="own-letters" aria-label="Its messages, newest first" { (LetterRows(own.into_iter())) }
            }
        }
    }
}

/// Returns the last turns that were for its messages alone.
fn turns(row: Option<&MemberRow>, now: Moment) -> Markup {
    let turns = row.map(|row| row.reading_turns.as_slice()).unwrap_or_default();
    html! {
        div id="turns" { @if !turns.is_empty() {
            section.sheet aria-labelledby="turns-heading" {
                h2 id="turns-heading" { "Turns for its messages alone" }
                ul.body { @for turn in turns {
                    li { (task_link(&turn.turn_id)) " " span.small.soft { (ago(turn.began_at, now)) @if turn.ended_at.is_none() { ", goes on" } @if let Some(words) = turn.left_unread { ", " (words) } } }
                } }
            }
        } }
    }
}
